// A registry of domains that tells by RDAP when each was registered, and rdap.org, which leads there (RFC 9224).

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "./authority.ts";
import { type Cleanup, startProcess, waitUntil } from "./process.ts";
import type { RegistryOrder } from "./registry-server.ts";

const START_MS = 10_000;
/** It is believed for as long as a test lets time pass. */
const CERTIFICATE_DAYS = 365;

export interface Registry {
  /** Its authority, PEM. */
  caFile: string;
}

/** `prefix`: runs it elsewhere, such as in another network namespace. `registered`: by domain, Unix ms. */
export async function startRegistry(options: {
  folder: string;
  address: string;
  prefix: readonly string[];
  host: string;
  registered: Record<string, number>;
  cleanup: Cleanup;
}): Promise<Registry> {
  const { address, prefix, host, registered, cleanup } = options;
  const folder = join(options.folder, "registry");
  mkdirSync(folder);
  const { caFile, certFile, keyFile } = await makeCertificate(folder, ["rdap.org", host], CERTIFICATE_DAYS);
  const orderFile = join(folder, "order.json");
  const order: RegistryOrder = { address, host, certFile, keyFile, registered };
  writeFileSync(orderFile, JSON.stringify(order));
  const command = [...prefix, process.execPath, join(import.meta.dir, "registry-server.ts"), orderFile];
  const server = startProcess({ command, logFile: join(folder, "log") });
  cleanup.add(() => server.stop());
  await waitUntil("the registry", START_MS, () => {
    if (!server.isAlive()) throw new Error(`the registry ended:\n${server.output()}`);
    return server.output().includes("listens");
  });
  return { caFile };
}
