import { createPrivateKey } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { generateKeyPairs } from "../../../src/protocols/dkim/keys.ts";
import { dkimRecordValue } from "../../../src/protocols/dkim/record.ts";
import type { SigningKey } from "../../../src/protocols/dkim/sign.ts";
import type { verifyMessage } from "../../../src/protocols/dkim/verify.ts";

type LookupTxt = Parameters<typeof verifyMessage>[1];

/** The public corpora lie beside the project, not in it; null when they are absent. */
export function corpusFolder(): string | null {
  const folder = join(import.meta.dirname, "../../../../shared/corpora/dkim");
  if (existsSync(folder)) return folder;
  console.warn("SKIPPED: the DKIM corpus is not at ../shared/corpora/dkim");
  return null;
}

/** A file's text with CRLF line ends, one character per octet. */
export function readCrlf(path: string): string {
  return readFileSync(path, "latin1").replace(/\r?\n/g, "\r\n");
}

/** TXT lookups out of a table; a name that is not in it does not exist. */
export function zone(records: Record<string, string[]>): LookupTxt {
  return (name) => {
    const found = records[name];
    return Promise.resolve(
      found === undefined
        ? { kind: "no_name", server: "test" }
        : { kind: "found", records: found, ttlS: 60, server: "test" },
    );
  };
}

/** Both keys of a domain and the zone that publishes them. */
export async function domainKeys(
  domain: string,
): Promise<{ keys: [rsa: SigningKey, ed25519: SigningKey]; records: Record<string, string[]> }> {
  const { rsa, ed25519 } = await generateKeyPairs();
  const key = (selector: string, pair: typeof rsa): SigningKey => ({
    domain,
    selector,
    algorithm: pair.algorithm,
    privateKey: createPrivateKey(pair.privateKeyPem),
  });
  return {
    keys: [key("pombo1", rsa), key("pombo2", ed25519)],
    records: {
      [`pombo1._domainkey.${domain}`]: [dkimRecordValue(rsa)],
      [`pombo2._domainkey.${domain}`]: [dkimRecordValue(ed25519)],
    },
  };
}
