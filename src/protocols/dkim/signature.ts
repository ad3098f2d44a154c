import type { Canonicalization } from "./canonicalize.ts";

/** Names in one `h=`. */
const MAX_SIGNED_NAMES = 500;
const DOMAIN = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;
/** A name in DNS has no more. */
export const MAX_NAME_OCTETS = 253;

/** A DKIM-Signature field whose tags are in order (RFC 6376 §3.5). */
export interface Signature {
  domain: string;
  selector: string;
  algorithm: "rsa-sha256" | "ed25519-sha256";
  header: Canonicalization;
  body: Canonicalization;
  bodyHash: Uint8Array;
  value: Uint8Array;
  names: string[];
  /** `l=`: octets of the canonical body that are covered; null for all. */
  length: number | null;
  /** `x=`, Unix seconds, or null. */
  expiresAt: number | null;
  /** Domain of `i=`. */
  identity: string;
  /** The signature field with an empty `b=`. */
  unsigned: string;
}

/** The tags of one signature field checked as §6.1.1 asks, or why it is of no use. */
export function readSignature(raw: string): Signature | string {
  const text = raw.slice(raw.indexOf(":") + 1);
  const tags = parseTags(text);
  if (tags === null) return "the signature is malformed";
  const tag = (name: string) => tags.get(name) ?? "";
  if (tag("v") !== "1") return "the signature has an unknown version";
  const algorithm = tag("a").toLowerCase();
  if (algorithm !== "rsa-sha256" && algorithm !== "ed25519-sha256")
    return algorithm === "rsa-sha1" ? "rsa-sha1 is not accepted (RFC 8301)" : "the algorithm is unknown";
  const form = /^(simple|relaxed)(?:\/(simple|relaxed))?$/.exec((tags.get("c") ?? "simple").toLowerCase());
  if (form === null) return "the canonicalization is unknown";
  const domain = tag("d").toLowerCase();
  const selector = tag("s").toLowerCase();
  if (!isName(domain) || !isName(selector) || selector.length + domain.length + 12 > MAX_NAME_OCTETS)
    return "d= or s= is not a domain name";
  const identity = (tags.get("i") ?? `@${domain}`).replace(/^.*@/s, "").toLowerCase();
  if (identity !== domain && !identity.endsWith(`.${domain}`)) return "i= is not within d=";
  const names = colonList(tag("h"));
  if (names.length > MAX_SIGNED_NAMES) return "h= is too long";
  if (!names.some((name) => name.toLowerCase() === "from")) return "From is not signed";
  if (tags.has("q") && !colonList(tag("q")).includes("dns/txt")) return "the query method is unknown";
  const bodyHash = decodeBase64(tag("bh"));
  const value = decodeBase64(tag("b"));
  if (bodyHash === null || value === null || bodyHash.length !== 32 || value.length === 0)
    return "bh= or b= is missing or not base64";
  const times = ["l", "x", "t"].map((name) => readNumber(tags.get(name)));
  const [length = null, expiresAt = null, signedAt = null] = times;
  if (times.some(Number.isNaN)) return "l=, x= or t= is not a number";
  if (expiresAt !== null && signedAt !== null && expiresAt <= signedAt) return "x= is not after t=";
  const header = form[1] === "relaxed" ? "relaxed" : "simple";
  const body = form[2] === "relaxed" ? "relaxed" : "simple";
  return {
    domain,
    selector,
    algorithm,
    header,
    body,
    bodyHash,
    value,
    names,
    length,
    expiresAt,
    identity,
    unsigned: withoutValue(raw),
  };
}

/** §3.5: the value of b= is taken out with the white space around it; everything else stays as it is. */
function withoutValue(raw: string): string {
  const colon = raw.indexOf(":") + 1;
  return raw.slice(0, colon) + raw.slice(colon).replace(/((?:^|;)[ \t\r\n]*b[ \t\r\n]*=)[^;]*/, "$1");
}

/** null when absent, NaN when not a decimal number of at most 12 digits. */
function readNumber(value: string | undefined): number | null {
  if (value === undefined) return null;
  return /^[0-9]{1,12}$/.test(value) ? Number(value) : Number.NaN;
}

function isName(name: string): boolean {
  return name.length <= MAX_NAME_OCTETS && DOMAIN.test(name);
}

// Tag lists (RFC 6376 §3.2): `name=value; name=value`, as in signatures and key records. They come from strangers, so
// they are bounded, and a fault is a null.

/** Characters of one list, and tags in it. */
const MAX_LIST_LENGTH = 32_768;
const MAX_TAGS = 64;

/** Tags with folding white space around names and values removed; null when malformed or a name comes twice. */
export function parseTags(text: string): Map<string, string> | null {
  if (text.length > MAX_LIST_LENGTH) return null;
  const items = text.split(";");
  if (items.at(-1)?.trim() === "") items.pop();
  if (items.length === 0 || items.length > MAX_TAGS) return null;
  const tags = new Map<string, string>();
  for (const item of items) {
    const equals = item.indexOf("=");
    const name = item.slice(0, Math.max(equals, 0)).trim();
    const value = item.slice(equals + 1).trim();
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || tags.has(name) || /[^\P{Cc}\t\r\n\x80-\x9f]/u.test(value)) return null;
    tags.set(name, value);
  }
  return tags;
}

/** Base64 with folding white space inside; null when it is not base64. */
export function decodeBase64(value: string): Uint8Array | null {
  const compact = value.replace(/[ \t\r\n]/g, "");
  return /^[A-Za-z0-9+/]*={0,2}$/.test(compact) ? Buffer.from(compact, "base64") : null;
}

/** The items of a colon-separated list, without white space. */
export function colonList(value: string): string[] {
  return value.split(":").map((item) => item.trim());
}
