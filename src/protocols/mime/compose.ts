/**
 * A message from its stored row: a pure function, so that a retry rebuilds the same octets without
 * their being kept (boundary from the id, Date from createdAt). The body is one part, or two
 * that say the same, each encoded for itself; the header fields come in a fixed order above it. The result has CRLF line
 * ends only, lines of at most 998 octets, and no octet above 127, save in the address of a mailbox
 * that needs SMTPUTF8.
 */
import type { Mailbox } from "./address.ts";
import { encodeText } from "./encode.ts";
import { dateValue, headerLine, mailboxLine, subjectLine } from "./header.ts";

export interface MessageSource {
  /** Gives the boundary; letters, digits and hyphens of it are used. */
  id: string;
  /** Without angle brackets; the same on every attempt (R47). */
  messageId: string;
  /** Unix ms. */
  createdAt: number;
  from: Mailbox;
  to: Mailbox;
  replyTo: Mailbox | null;
  subject: string;
  /** null or "" for no such part; at least one of the two must be there. */
  text: string | null;
  html: string | null;
  /** Further fields in this order; printable ASCII. Names written here already are refused. */
  headers: [name: string, value: string][];
}

interface Part {
  contentType: string;
  encoding: string;
  bytes: Uint8Array;
}

const LF = 0x0a;
const CRLF = Buffer.from("\r\n", "latin1");
const MAX_BOUNDARY_ID = 60;
/** Each try needs a body that holds the one before; nobody gets this far by chance. */
const MAX_BOUNDARY_TRIES = 10_000;
/** Fields that this module writes, or that a later hop must write (RFC 5321 §4.4). */
const RESERVED =
  /^(?:from|to|cc|bcc|sender|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|dkim-signature|resent-.*)$/i;
// RFC 5322 §3.6.4, narrowed to what needs no quoting.
const MESSAGE_ID = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]+@[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]+$/;

/** @throws when a value could break out of its field, a name is reserved, or there is no body. */
export function composeMessage(source: MessageSource): Uint8Array {
  if (!MESSAGE_ID.test(source.messageId)) throw new Error("the Message-ID is not of the form left@right");
  const chunks: (string | Uint8Array)[] = [
    mailboxLine("From", source.from),
    mailboxLine("To", source.to),
    source.replyTo === null ? "" : mailboxLine("Reply-To", source.replyTo),
    subjectLine(source.subject),
    headerLine("Date", dateValue(source.createdAt)),
    headerLine("Message-ID", `<${source.messageId}>`),
    ...source.headers.map(([name, value]) => furtherLine(name, value)),
    headerLine("MIME-Version", "1.0"),
  ];
  writeBody(source, chunks);
  const octets = chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk));
  // A text may stop in the middle of a line, a message may not. In a multipart each part keeps its exact end.
  if (octets.at(-1)?.at(-1) !== LF) octets.push(CRLF);
  return Buffer.concat(octets);
}

function furtherLine(name: string, value: string): string {
  if (RESERVED.test(name)) throw new Error(`the header field ${JSON.stringify(name)} is written by the service`);
  return headerLine(name, value);
}

function writeBody(source: MessageSource, chunks: (string | Uint8Array)[]): void {
  const parts: Part[] = [];
  // RFC 2046 §5.1.4: the plainest first, since readers show the last one they can.
  if (source.text !== null && source.text !== "") parts.push(encodePart("plain", source.text));
  if (source.html !== null && source.html !== "") parts.push(encodePart("html", source.html));
  const [first, second] = parts;
  if (first === undefined) throw new Error("a message needs a text or an html body");
  if (second === undefined) return writePart(first, chunks);
  const boundary = findBoundary(source.id, parts);
  chunks.push(headerLine("Content-Type", `multipart/alternative; boundary="${boundary}"`), "\r\n");
  for (const part of parts) {
    chunks.push(`--${boundary}\r\n`);
    writePart(part, chunks);
    // RFC 2046 §5.1.1: the CRLF before a delimiter belongs to the delimiter, so the part keeps its exact end.
    chunks.push("\r\n");
  }
  chunks.push(`--${boundary}--`);
}

function encodePart(subtype: "plain" | "html", text: string): Part {
  return { contentType: `text/${subtype}; charset=utf-8`, ...encodeText(text) };
}

/** "=_" occurs neither in quoted-printable nor in base64; a 7bit part may hold anything, so it is searched. */
function findBoundary(id: string, parts: Part[]): string {
  const stem = `=_${id.replace(/[^A-Za-z0-9-]/g, "").slice(0, MAX_BOUNDARY_ID)}`;
  for (let n = 0; n < MAX_BOUNDARY_TRIES; n++) {
    const boundary = n === 0 ? stem : `${stem}.${n}`;
    const isTaken = ({ bytes: { buffer, byteOffset, byteLength } }: Part) =>
      Buffer.from(buffer, byteOffset, byteLength).includes(boundary, 0, "latin1");
    if (!parts.some(isTaken)) return boundary;
  }
  throw new Error("no boundary is free of the message's text");
}

function writePart({ contentType, encoding, bytes }: Part, chunks: (string | Uint8Array)[]): void {
  chunks.push(
    headerLine("Content-Type", contentType),
    headerLine("Content-Transfer-Encoding", encoding),
    "\r\n",
    bytes,
  );
}
