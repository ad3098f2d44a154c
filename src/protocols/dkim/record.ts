import { createPublicKey, type KeyObject } from "node:crypto";
import { colonList, decodeBase64, parseTags, type Signature } from "./signature.ts";

/** RFC 8301 §3.2: shorter keys must not count as valid; longer ones cost time. */
export const MIN_RSA_BITS = 1_024;
const MAX_RSA_BITS = 8_192;
/** An Ed25519 SubjectPublicKeyInfo is this long header and the 32 octets of the key. */
export const ED25519_SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** The TXT value for `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1); may be longer than one 255-octet string. */
export function dkimRecordValue(pair: { algorithm: "rsa-sha256" | "ed25519-sha256"; publicKey: string }): string {
  return `v=DKIM1; k=${pair.algorithm === "rsa-sha256" ? "rsa" : "ed25519"}; p=${pair.publicKey}`;
}

/** The public key of a record (§3.6.1), or why it does not serve this signature. */
export function readKeyRecord(record: string, signature: Signature): KeyObject | string {
  const tags = parseTags(record);
  const encoded = tags?.get("p");
  if (!tags || encoded === undefined) return "the key record is malformed";
  if (tags.has("v") && (tags.get("v") !== "DKIM1" || tags.keys().next().value !== "v"))
    return "the key record has an unknown version";
  if (encoded === "") return "the key has been revoked";
  const kind = signature.algorithm === "rsa-sha256" ? "rsa" : "ed25519";
  if ((tags.get("k") ?? "rsa").toLowerCase() !== kind) return "the key is of another kind than the signature";
  if (tags.has("h") && !colonList(tags.get("h") ?? "").includes("sha256")) return "the key does not allow SHA-256";
  const services = colonList(tags.get("s") ?? "*");
  if (!services.includes("*") && !services.includes("email")) return "the key is not for mail";
  if (colonList(tags.get("t") ?? "").includes("s") && signature.identity !== signature.domain)
    return "the key does not allow subdomains";
  const octets = decodeBase64(encoded);
  const key = octets === null ? null : importKey(octets, kind);
  if (key === null) return "the public key cannot be read";
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (kind === "rsa" && (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS)) return `the RSA key has ${bits} bits`;
  return key;
}

function importKey(octets: Uint8Array, kind: "rsa" | "ed25519"): KeyObject | null {
  try {
    const key = kind === "ed25519" ? der(Buffer.concat([ED25519_SPKI_PREFIX, octets]), "spki") : der(octets, "spki");
    return key.asymmetricKeyType === kind ? key : null;
  } catch {
    if (kind === "ed25519") return null;
  }
  try {
    // RFC 6376 §3.6.1 says RSAPublicKey where everybody, its own example too, publishes the other; both exist.
    return der(octets, "pkcs1");
  } catch {
    return null;
  }
}

function der(key: Uint8Array, type: "spki" | "pkcs1"): KeyObject {
  return createPublicKey({ key: Buffer.from(key), format: "der", type });
}
