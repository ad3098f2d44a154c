/**
 * Tag lists (RFC 6376 §3.2): `name=value; name=value`, as in signatures and key records. The input
 * comes from strangers, so it is bounded and a fault is a null.
 */

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
