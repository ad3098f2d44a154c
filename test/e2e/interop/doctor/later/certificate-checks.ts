// A certificate of an authority that only the world's owner knows, at a port that others reach.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../../../../support/peers/authority.ts";
import type { Settings } from "../kit.ts";
import { SELF } from "../network.ts";
import { HOST } from "../world.ts";
import type { Later } from "./instance.ts";

const DAYS = 365;

/** The configuration that has it. */
export async function ownCertificate(later: Later): Promise<Settings> {
  const folder = join(later.folder, "certificate");
  mkdirSync(folder);
  const { certFile, keyFile } = await makeCertificate(folder, [HOST], DAYS);
  return { submission: { listen: [`${SELF}:587`] }, tls: { certificate_file: certFile, key_file: keyFile } };
}

export async function expectOwnAuthority({ doctor, lines }: Later): Promise<void> {
  const id = "certificate";
  const what = "one of an authority that nobody else knows";
  const found = lines.expect(await doctor.look(id), { id, level: "warning", what });
  const seen = found?.seen ?? "";
  lines.claim(`${id}: it does not call it self-made`, /of an authority that is not public/.test(seen), () => seen);
}
