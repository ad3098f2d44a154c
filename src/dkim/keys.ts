/**
 * DKIM keys and the DNS records that publish them. A sending domain gets two: RSA-2048, which every
 * verifier knows, and Ed25519, which is short and quick (R57).
 */
import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/** A new key. `privateKeyPem` is PKCS #8 and secret; `publicKey` is the base64 of the `p=` tag. */
export interface KeyPair {
  algorithm: "rsa-sha256" | "ed25519-sha256";
  privateKeyPem: string;
  publicKey: string;
}

/** RFC 8301 §3.2: signers should use at least 2048 bits; 4096 does not fit every DNS answer. */
const RSA_BITS = 2_048;
/** An Ed25519 SubjectPublicKeyInfo is this long header and the 32 octets of the key. */
export const ED25519_SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

const generate = promisify(generateKeyPair);

/** One pair of each kind, made on the thread pool (RSA takes tens of milliseconds). */
export async function generateKeyPairs(): Promise<{ rsa: KeyPair; ed25519: KeyPair }> {
  const [rsa, ed25519] = await Promise.all([
    generate("rsa", { modulusLength: RSA_BITS }),
    generate("ed25519"),
  ]);
  const rsaSpki = rsa.publicKey.export({ type: "spki", format: "der" });
  const edSpki = ed25519.publicKey.export({ type: "spki", format: "der" });
  return {
    rsa: {
      algorithm: "rsa-sha256",
      privateKeyPem: pem(rsa.privateKey),
      publicKey: rsaSpki.toString("base64"),
    },
    // RFC 8463 §4.2: p= holds the bare key, not the SubjectPublicKeyInfo.
    ed25519: {
      algorithm: "ed25519-sha256",
      privateKeyPem: pem(ed25519.privateKey),
      publicKey: edSpki.subarray(ED25519_SPKI_PREFIX.length).toString("base64"),
    },
  };
}

/** The TXT value for `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1); may be longer than one 255-octet string. */
export function dkimRecordValue(pair: {
  algorithm: KeyPair["algorithm"];
  publicKey: string;
}): string {
  return `v=DKIM1; k=${pair.algorithm === "rsa-sha256" ? "rsa" : "ed25519"}; p=${pair.publicKey}`;
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" });
}
