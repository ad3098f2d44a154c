// Reading what the MX stored: the headers that it added, and the message inside as another
// implementation (mailparser) understands it.

import { simpleParser, type ParsedMail } from "mailparser";

const HEADER_END = "\r\n\r\n";

/** [algorithm, result] of each DKIM verdict of OpenDKIM for `domain`, in the order of its header fields. */
export function openDkimVerdicts(message: Buffer, domain: string): [algorithm: string, result: string][] {
  // "dkim=pass (2048-bit key; unprotected) header.d=peer.test header.i=@peer.test header.a=rsa-sha256 …"
  const verdict = /\bdkim=(\w+)(?: reason="[^"]*")?(?: \([^)]*\))?((?:\s+header\.[a-z]+=\S+)*)/g;
  const verdicts: [string, string][] = [];
  for (const field of fieldsOf(message, "Authentication-Results")) {
    for (const [, result = "", properties = ""] of field.matchAll(verdict)) {
      const property = (name: string): string =>
        new RegExp(`header\\.${name}=("?)([^\\s";]+)\\1`).exec(properties)?.[2] ?? "";
      if (property("d") === domain) verdicts.push([property("a"), result]);
    }
  }
  return verdicts;
}

/** The TLS version of the hop into the MX, or null for clear text; from its Received field. */
export function tlsOf(message: Buffer): string | null {
  return /\(using (TLSv[\d.]+) with cipher/.exec(fieldsOf(message, "Received")[0] ?? "")?.[1] ?? null;
}

/** Unfolded values of all header fields of that name, from the top. */
export function fieldsOf(message: Buffer, name: string): string[] {
  const text = message.toString("latin1");
  const header = text.slice(0, text.indexOf(HEADER_END)).replace(/\r\n(?=[ \t])/g, "");
  const start = `${name.toLowerCase()}:`;
  return header
    .split("\r\n")
    .filter((line) => line.toLowerCase().startsWith(start))
    .map((line) => line.slice(start.length).trim());
}

/** Whether every line has at most 998 octets and no octet is above 127. */
export function isPlainOnTheWire(message: Buffer): boolean {
  const lines = message.toString("latin1").split("\r\n");
  return lines.every((line) => line.length <= 998) && message.every((octet) => octet < 0x80);
}

export function parse(message: Buffer): Promise<ParsedMail> {
  // Nothing is to be made of one part for another: only what was sent counts.
  return simpleParser(message, {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
}

/** Line ends alike, none at the end: what MIME does not promise to keep. */
export function comparableText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/\n+$/, "");
}
