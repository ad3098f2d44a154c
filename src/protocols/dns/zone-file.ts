// RFC 1035 §5: records as a fragment of a zone file, which BIND and most DNS providers import.

export interface ZoneRecord {
  type: "TXT" | "CNAME";
  /** Without a dot at the end. */
  name: string;
  /** A TXT record's text, or the CNAME's target without a dot at the end. */
  value: string;
}

const TTL_S = 3600;
/** Octets of a character-string (§3.3). */
const MAX_STRING = 255;

/** One line without its end. Names are absolute: the fragment says the same in any zone and behind any $ORIGIN. */
export function formatZoneRecord({ type, name, value }: ZoneRecord): string {
  const data = type === "TXT" ? splitText(value).map(quote).join(" ") : `${escapeName(value)}.`;
  return `${escapeName(name)}. ${TTL_S} IN ${type} ${data}`;
}

/** A comment on one line. */
export function formatZoneComment(text: string): string {
  return `; ${text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")}`;
}

function splitText(text: string): Uint8Array[] {
  const octets = Buffer.from(text);
  const count = Math.max(1, Math.ceil(octets.length / MAX_STRING));
  return Array.from({ length: count }, (_, index) => octets.subarray(index * MAX_STRING, (index + 1) * MAX_STRING));
}

/** `\DDD` for what is not printable ASCII. */
function quote(octets: Uint8Array): string {
  const shown = Array.from(octets, (octet) => {
    const character = String.fromCharCode(octet);
    if (character === '"' || character === "\\") return `\\${character}`;
    return octet >= 0x20 && octet < 0x7f ? character : `\\${String(octet).padStart(3, "0")}`;
  });
  return `"${shown.join("")}"`;
}

/** Escapes characters that have a meaning in a zone file. */
function escapeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, (character) => `\\${character}`);
}
