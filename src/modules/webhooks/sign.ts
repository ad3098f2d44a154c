// Signs calls by the Standard Webhooks specification: HMAC-SHA256 over id, time and body. Each valid secret gives a
// signature, so that a receiver may still use the old one while it is being replaced.

import { createHmac } from "node:crypto";

/** The beginning of a secret as it is shown. */
const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;

export interface Signed {
  /** The event's id: the same on every attempt. */
  id: string;
  /** Unix seconds. */
  timestampS: number;
  /** As it is sent, to the byte. */
  body: string;
}

/** The three headers of the specification; `secrets` are raw bytes, the newest first. */
export function buildSignatureHeaders(call: Signed, secrets: readonly Uint8Array[]): Record<string, string> {
  const { id, timestampS, body } = call;
  const signatures = secrets.map((secret) => {
    const mac = createHmac("sha256", secret).update(`${id}.${timestampS}.${body}`).digest("base64");
    return `v1,${mac}`;
  });
  return { "webhook-id": id, "webhook-timestamp": String(timestampS), "webhook-signature": signatures.join(" ") };
}

/** A secret as it is shown: `whsec_` and its base64. */
export function formatSecret(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString("base64");
}

/** A new secret's bytes. */
export function createSecret(random: { bytes(length: number): Uint8Array }): Uint8Array {
  return random.bytes(SECRET_BYTES);
}
