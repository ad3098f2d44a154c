// A zone file is read back as RFC 1035 §5.1 has it, by a reader of its own.
import { expect, test } from "bun:test";
import { formatZoneComment, formatZoneRecord } from "../../../../src/protocols/dns/zone-file.ts";

interface Read {
  name: string;
  ttl: number;
  type: string;
  /** The labels of a target, or the strings of a TXT. */
  data: string[] | Uint8Array[];
}

/** One entry of one line. Throws for all that a strict reader would. */
function readEntry(line: string): Read {
  if (/[^\x20-\x7e]/.test(line)) throw new Error("only printable ASCII");
  const [, name = "", ttl = "", type = "", data = ""] = /^(\S+) (\d+) IN (TXT|CNAME) (.+)$/.exec(line) ?? [];
  return { name: readName(name), ttl: Number(ttl), type, data: type === "TXT" ? readStrings(data) : [readName(data)] };
}

/** Absolute: it ends with the root's dot. */
function readName(text: string): string {
  if (!text.endsWith(".")) throw new Error(`${text} is relative to the zone`);
  const labels = text.slice(0, -1).split(".");
  for (const label of labels) if (label === "" || label.length > 63) throw new Error(`no label: ${label}`);
  if (/[";()@$\\\s]/.test(text)) throw new Error(`${text} means something else`);
  return labels.join(".");
}

function readStrings(text: string): Uint8Array[] {
  const strings: Uint8Array[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] !== '"') throw new Error(`no string at ${at}`);
    const octets: number[] = [];
    for (at += 1; text[at] !== '"'; at += 1) {
      if (text[at] === undefined) throw new Error("a string that is not closed");
      const [escape, digits, character] = /^\\(?:(\d{3})|(.))/.exec(text.slice(at)) ?? [];
      if (escape === undefined) octets.push(text.charCodeAt(at));
      else {
        octets.push(digits === undefined ? (character ?? "").charCodeAt(0) : Number(digits));
        at += escape.length - 1;
      }
    }
    if (octets.length > 255) throw new Error("a string over 255 octets");
    strings.push(Uint8Array.from(octets));
    if (at + 1 < text.length && text[(at += 1)] !== " ") throw new Error("strings are not separated");
  }
  return strings;
}

const NAME = "pombo1._domainkey.example.com";
const readText = (value: string) => {
  const { name, ttl, type, data } = readEntry(formatZoneRecord({ type: "TXT", name: NAME, value }));
  expect([name, ttl, type]).toEqual([NAME, 3600, "TXT"]);
  return { strings: data.length, text: Buffer.concat(data as Uint8Array[]).toString() };
};

test("a CNAME leads to an absolute name", () => {
  const line = formatZoneRecord({ type: "CNAME", name: "bounce.example.com", value: "mail.example.org" });
  expect(line).toBe("bounce.example.com. 3600 IN CNAME mail.example.org.");
  expect(readEntry(line).data).toEqual(["mail.example.org"]);
});

test.each([
  ["v=DMARC1; p=none; rua=mailto:a@example.com", 1],
  [`v=DKIM1; k=rsa; p=${"A".repeat(392)}`, 2],
  ["x".repeat(255), 1],
  ["x".repeat(256), 2],
  ["x".repeat(510), 2],
  ["x".repeat(511), 3],
  ["", 1],
  ['quote " backslash \\ \\092 ; ( ) @ $', 1],
  ["é".repeat(200), 2],
  ["line\nbreak\ttab\u0000nul\u007f", 1],
])("the text %j is %d strings, and the same when it is read", (value, strings) => {
  expect(readText(value)).toEqual({ strings, text: value });
});

test("a comment is one line, whatever it quotes", () => {
  expect(formatZoneComment("found: a\r\nevil.example. 60 IN TXT x\u2028y")).toBe(
    "; found: a evil.example. 60 IN TXT x y",
  );
});
