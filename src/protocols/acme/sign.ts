// Signed requests of ACME: JSON Web Signatures as RFC 8555 §6.2 wants them, by a P-256 key (ES256).

import { createHash, createHmac, createPublicKey, type KeyObject, sign } from "node:crypto";

/** Of an account whose authority wants to know whose it is (RFC 8555 §7.3.4). */
export interface ExternalAccount {
  keyId: string;
  /** As the authority gives it: base64url. */
  hmacKey: string;
}

/** Who signs: the account by its address, or, before it has one, the key itself. */
export interface Signer {
  key: KeyObject;
  account: string | null;
}

export interface SignedBody {
  protected: string;
  payload: string;
  signature: string;
}

/** The public half, its members in the order of RFC 7638 §3.2. */
function exportJwk(key: KeyObject) {
  const { x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  return { crv: "P-256", kty: "EC", x, y };
}

/** `payload` undefined: a POST-as-GET, whose payload is empty. */
export function signRequest(
  { key, account }: Signer,
  { url, nonce, payload }: { url: string; nonce: string; payload: unknown },
): SignedBody {
  const who = account === null ? { jwk: exportJwk(key) } : { kid: account };
  const parts = {
    protected: encode(JSON.stringify({ alg: "ES256", nonce, url, ...who })),
    payload: payload === undefined ? "" : encode(JSON.stringify(payload)),
  };
  const signature = sign("sha256", Buffer.from(`${parts.protected}.${parts.payload}`), {
    key,
    dsaEncoding: "ieee-p1363",
  });
  return { ...parts, signature: signature.toString("base64url") };
}

/** The account key, signed with what the authority handed out for it. `url`: of newAccount. */
export function bindAccount(key: KeyObject, { keyId, hmacKey }: ExternalAccount, url: string): SignedBody {
  const parts = {
    protected: encode(JSON.stringify({ alg: "HS256", kid: keyId, url })),
    payload: encode(JSON.stringify(exportJwk(key))),
  };
  const hmac = createHmac("sha256", Buffer.from(hmacKey, "base64url")).update(`${parts.protected}.${parts.payload}`);
  return { ...parts, signature: hmac.digest("base64url") };
}

/** What the authority wants to find under a challenge's token (RFC 8555 §8.1). */
export function writeKeyAuthorization(token: string, key: KeyObject): string {
  return `${token}.${createHash("sha256")
    .update(JSON.stringify(exportJwk(key)))
    .digest("base64url")}`;
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64url");
}
