import { type Mailbox, type parseAddress, parseMailbox } from "../../../src/protocols/mime/address.ts";
import type { MessageSource } from "../../../src/protocols/mime/compose.ts";

/** The parsed mailbox of a text that must be one. */
export function mailbox(text: string): Mailbox {
  const parsed = parseMailbox(text);
  if (parsed.kind === "fault") throw new Error(`${JSON.stringify(text)}: ${parsed.message}`);
  return parsed.mailbox;
}

/** The teaching message of a text that must be refused. */
export function refusal(text: string, parse: typeof parseAddress = parseMailbox): string {
  const parsed = parse(text);
  if (parsed.kind === "mailbox")
    throw new Error(`${JSON.stringify(text)} was accepted as ${JSON.stringify(parsed.mailbox)}`);
  return parsed.message;
}

/** A plain message to vary. */
export function source(changes: Partial<MessageSource> = {}): MessageSource {
  return {
    id: "01890a5d-ac96-774b-bcce-b302099a8057",
    messageId: "01890a5d-ac96-774b-bcce-b302099a8057@exemplo.co.mz",
    createdAt: Date.UTC(2026, 1, 3, 4, 5, 6),
    from: mailbox("Ação Social <x@exemplo.co.mz>"),
    to: [mailbox("ana@example.com")],
    cc: [],
    replyTo: [],
    subject: "Hello",
    text: "Hello, Ana.\r\n",
    html: null,
    headers: [],
    attachments: [],
    ...changes,
  };
}

/** Every character that could end a line, hide, or turn text around. */
export const CONTROLS: string[] = [
  ...Array.from({ length: 0x20 }, (_, i) => String.fromCharCode(i)),
  ...Array.from({ length: 0x21 }, (_, i) => String.fromCharCode(0x7f + i)),
  "\u2028",
  "\u2029",
  "\ud800",
  "\udc00",
];

export const FORMATS: string[] = [
  "\u00ad",
  "\u061c",
  "\u180e",
  "\u200b",
  "\u200e",
  "\u200f",
  "\u202a",
  "\u202e",
  "\u2060",
  "\u2066",
  "\u2069",
  "\ufeff",
  "\u{e0001}",
];

export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
