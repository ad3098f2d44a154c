/**
 * Reads a message that an authenticated client submits (RFC 6409), strictly, and prepares it to be stored and sent octet
 * for octet as it came, apart from a fixed list of changes (§8): line ends are CRLF, octets above 127 are encoded, fields
 * that the caller takes, drops or sets aside are gone, and a From that two readers could read differently is written anew.
 *
 * Steps: line ends; the header section; From; the tree of parts; encoding; lines that are too long; the header's fields;
 * the body with the attachments cut out of it. Pure, and linear in the size of the message.
 */
import { createHash } from "node:crypto";
import type { Mailbox } from "../address.ts";
import { assembleBody } from "./assemble.ts";
import type { SubmittedAttachment } from "./attachments.ts";
import { MAX_HEADER_OCTETS, readDecoded, readFields, readText, type HeaderField } from "./header-section.ts";
import { findLongLines, lineNumberAt, toCrlfOctets } from "./line-ends.ts";
import { readMailboxList } from "./mailbox-list.ts";
import { readFrom } from "./originator.ts";
import { readParts, type Part } from "./parts.ts";
import { reencode } from "./reencode.ts";
import { writeHeader, type WrittenHeader } from "./write-header.ts";

export interface ReadOptions {
  /** Fields that are taken out of the header and returned decoded, such as `x-pombo-tag`. Lower-case name. */
  isTaken(name: string): boolean;
  /** Fields that are dropped. Lower-case name. */
  isDropped(name: string): boolean;
  /** A field of one mailbox that is kept out of `header` and returned as it stands: `sender`. Lower-case name. */
  isSetAside?(name: string): boolean;
}

export type ReadMessage =
  | { kind: "message"; message: SubmittedMessage }
  /** `message`: a sentence without its dot, with the number of the line where there is one. */
  | { kind: "fault"; fault: "syntax" | "from"; message: string };

export interface SubmittedMessage extends WrittenHeader {
  /** All that follows the empty line, without the contents of the attachments. */
  body: Uint8Array;
  /** Ascending: where in `body` the content of each attachment is to be put back in. */
  holes: number[];
  attachments: SubmittedAttachment[];
  /** Octets above 127 are left in the body or in attachments: it needs 8BITMIME. */
  hasEightBit: boolean;
  /** Of the From field. */
  from: Mailbox;
  /** As far as they can be read. */
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  /** Decoded, one line; "": there is none. */
  subject: string;
  /** SHA-256 of the message as it came, with CRLF as line end, without its Received fields. */
  sha256: Uint8Array;
}

type Fault = Extract<ReadMessage, { kind: "fault" }>;

/** RFC 5321 §6.3: a message that was relayed so often goes round in a circle. */
const MAX_RECEIVED = 100;
const MAX_LISTED = 1_000;
const HEADER_END = Buffer.from("\r\n\r\n", "latin1");
const CR = 0x0d;

export function readMessage(octets: Uint8Array, options: ReadOptions): ReadMessage {
  const message = toCrlfOctets(octets);
  const nul = message.indexOf(0);
  if (nul >= 0) return syntax(`line ${lineNumberAt(message, nul)} holds a NUL character`);
  const header = readHeader(message);
  if (header.kind === "fault") return header;
  const { fields } = header;
  const from = readFrom(fields);
  if (from.kind === "fault") return { kind: "fault", fault: "from", message: from.message };
  const root = readParts(message, header);
  if (root.kind === "fault") return syntax(`line ${lineNumberAt(message, root.at)} ${root.message}`);
  const hasEightBit = reencode(message, root);
  const long = findLongLineFault(message, root);
  if (long !== null) return long;
  const subject = fields.find(({ key }) => key === "subject");
  return {
    kind: "message",
    message: {
      ...writeHeader(root, from.written, options),
      ...assembleBody(message, root),
      hasEightBit,
      from: from.mailbox,
      to: readMailboxes(fields, "to"),
      cc: readMailboxes(fields, "cc"),
      replyTo: readMailboxes(fields, "reply-to"),
      subject: subject === undefined ? "" : readDecoded(subject),
      sha256: hashMessage(message, fields),
    },
  };
}

interface Header {
  kind: "header";
  fields: HeaderField[];
  /** Where the empty line begins, and after it. */
  headerEnd: number;
  bodyStart: number;
}

function readHeader(message: Buffer): Header | Fault {
  const end = message.subarray(0, MAX_HEADER_OCTETS + HEADER_END.length).indexOf(HEADER_END);
  const headerEnd = message[0] === CR ? 0 : end < 0 ? message.length : end + 2;
  if (headerEnd > MAX_HEADER_OCTETS) return syntax(`the header section has more than ${MAX_HEADER_OCTETS / 1_024} KiB`);
  const section = readFields(message, 0, headerEnd, false);
  if (section.kind === "stray") {
    const number = lineNumberAt(message, section.at);
    if (section.isContinuation)
      return syntax(`line ${number} begins with white space, but there is no field before it`);
    const hint =
      message.toString("latin1", section.at, section.at + 5) === "From " ? ", but the first line of an mbox file" : "";
    return syntax(
      `line ${number} is not a header field (Name: value)${hint}; header fields come first, then an empty line, then the text`,
    );
  }
  const { fields } = section;
  const received = fields.filter(({ key }) => key === "received").length;
  if (received > MAX_RECEIVED)
    return syntax(`too many hops: the message has ${received} Received fields; it goes round in a circle`);
  return { kind: "header", fields, headerEnd, bodyStart: Math.min(headerEnd + 2, message.length) };
}

/** A line may be too long only where it is not sent: in a text that is encoded. */
function findLongLineFault(message: Buffer, root: Part): Fault | null {
  const lines = findLongLines(message);
  if (lines.length === 0) return null;
  const encoded = findEncoded(root);
  let next = 0;
  for (const { start, end } of lines) {
    while ((encoded[next]?.end ?? Number.POSITIVE_INFINITY) < end) next++;
    if ((encoded[next]?.bodyStart ?? Number.POSITIVE_INFINITY) <= start) continue;
    const size = (end - start).toLocaleString("en-US");
    return syntax(`line ${lineNumberAt(message, start)} has ${size} octets; at most 998 are allowed`);
  }
  return null;
}

/** In their order. */
function findEncoded(part: Part): Part[] {
  return part.replacement === null ? part.children.flatMap(findEncoded) : [part];
}

function readMailboxes(fields: HeaderField[], key: string): Mailbox[] {
  const found = fields
    .filter((field) => field.key === key)
    .flatMap((field) => readMailboxList(readText(field)).mailboxes);
  return found.slice(0, MAX_LISTED);
}

function hashMessage(message: Buffer, fields: HeaderField[]): Uint8Array {
  const hash = createHash("sha256");
  let at = 0;
  for (const { key, start, raw } of fields) {
    if (key !== "received") continue;
    hash.update(message.subarray(at, start));
    at = start + raw.length;
  }
  return hash.update(message.subarray(at)).digest();
}

function syntax(message: string): Fault {
  return { kind: "fault", fault: "syntax", message };
}
