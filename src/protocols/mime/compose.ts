/**
 * A message from its stored row: a pure function, so that a retry rebuilds the same octets without
 * their being kept (boundaries from the id, Date from createdAt). The header fields come in a fixed order. The body is
 * mixed( related( alternative( text, html ), inline … ), attachments … ), each level only where it is needed. The result
 * has CRLF line ends only, lines of at most 998 octets, and no octet above 127, save in the address of a mailbox
 * that needs SMTPUTF8.
 */
import type { Mailbox } from "./address.ts";
import { type AttachmentHeader, attachmentHeader } from "./attachment.ts";
import { base64Length, encodeText, writeBase64 } from "./encode.ts";
import { dateValue, headerLine, mailboxLine, parameterLine, subjectLine, textLine } from "./header.ts";
import { isComposed } from "./reserved-field.ts";

export interface MessageSource {
  /** Gives the boundaries; letters, digits and hyphens of it are used. */
  id: string;
  /** Without angle brackets; the same on every attempt (R47). */
  messageId: string;
  /** Unix ms. */
  createdAt: number;
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  subject: string;
  /** null or "" for no such part; at least one of the two must be there. */
  text: string | null;
  html: string | null;
  /** Further fields in this order. Names written here already are refused. */
  headers: [name: string, value: string][];
  /** With a Content-ID it is inline, where there is html; no two have the same. */
  attachments: Attachment[];
}

export interface Attachment extends AttachmentHeader {
  content: Uint8Array;
}

/** Octets, one character each; octets; or content to be written in base64. */
type Chunk = string | Uint8Array | { content: Uint8Array };

/** A part of the body: header, empty line and content in order. */
type Part = Chunk[];

interface TextPart {
  header: string;
  bytes: Uint8Array;
  is7Bit: boolean;
}

const LF = 0x0a;
const MAX_BOUNDARY_ID = 60;
/** Each try needs a body that holds the one before; nobody gets this far by chance. */
const MAX_BOUNDARY_TRIES = 10_000;
// RFC 5322 §3.6.4, narrowed to what needs no quoting.
const MESSAGE_ID = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]+@[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]+$/;

/** @throws when a value could break out of its field, a name is reserved, or there is no body. */
export function composeMessage(source: MessageSource): Uint8Array {
  const chunks = layOut(source);
  // Of its own memory, which another thread can be given.
  const message = Buffer.allocUnsafeSlow(countOctets(chunks));
  let at = 0;
  for (const chunk of chunks) {
    if (typeof chunk === "string") at += message.write(chunk, at, "latin1");
    else if (chunk instanceof Uint8Array) {
      message.set(chunk, at);
      at += chunk.length;
    } else at = writeBase64(chunk.content, message, at);
  }
  return message;
}

function countOctets(chunks: Chunk[]): number {
  let octets = 0;
  for (const chunk of chunks)
    octets +=
      typeof chunk === "string" || chunk instanceof Uint8Array ? chunk.length : base64Length(chunk.content.length);
  return octets;
}

function layOut(source: MessageSource): Chunk[] {
  if (!MESSAGE_ID.test(source.messageId)) throw new Error("the Message-ID is not of the form left@right");
  const chunks: Chunk[] = [
    mailboxLine("From", [source.from]),
    mailboxLine("To", source.to),
    mailboxLine("Cc", source.cc),
    mailboxLine("Reply-To", source.replyTo),
    subjectLine(source.subject),
    headerLine("Date", dateValue(source.createdAt)),
    headerLine("Message-ID", `<${source.messageId}>`),
    ...source.headers.map(([name, value]) => furtherLine(name, value)),
    headerLine("MIME-Version", "1.0"),
    ...buildBody(source),
  ];
  // A text may stop in the middle of a line, a message may not. In a multipart each part keeps its exact end.
  const last = chunks.at(-1);
  if (!(last instanceof Uint8Array && last.at(-1) === LF)) chunks.push("\r\n");
  return chunks;
}

function furtherLine(name: string, value: string): string {
  if (isComposed(name)) throw new Error(`the header field ${JSON.stringify(name)} is written by the service`);
  return textLine(name, value);
}

function buildBody(source: MessageSource): Part {
  const texts: TextPart[] = [];
  // RFC 2046 §5.1.4: the plainest first, since readers show the last one they can.
  if (source.text !== null && source.text !== "") texts.push(encodePart("plain", source.text));
  const hasHtml = source.html !== null && source.html !== "";
  if (hasHtml) texts.push(encodePart("html", source.html ?? ""));
  if (texts.length === 0) throw new Error("a message needs a text or an html body");
  assertDistinct(source.attachments);
  // Without html nothing refers to it.
  const isInline = ({ contentId }: Attachment) => contentId !== null && hasHtml;
  const writeAttachment = (attachment: Attachment): Part => [
    attachmentHeader(attachment, isInline(attachment)),
    "\r\n",
    { content: attachment.content },
  ];
  const inline = source.attachments.filter(isInline).map(writeAttachment);
  const attached = source.attachments.filter((attachment) => !isInline(attachment)).map(writeAttachment);
  // None begins with another, which some readers would take for it.
  const boundary = (prefix: string) => findBoundary(prefix, source.id, texts);

  const parts = texts.map(({ header, bytes }): Part => [header, "\r\n", bytes]);
  const content = joinParts("alternative", parts, () => boundary("=_"));
  // RFC 2387 §3.1: `type` is that of the first part.
  const root = texts.length === 1 ? 'type="text/html"' : 'type="multipart/alternative"';
  const whole = joinParts("related", [content, ...inline], () => boundary("=_r."), [root]);
  return joinParts("mixed", [whole, ...attached], () => boundary("=_m."));
}

/** RFC 2392 §2: it names one part. */
function assertDistinct(attachments: AttachmentHeader[]): void {
  const ids = attachments.map(({ contentId }) => contentId).filter((id) => id !== null);
  if (new Set(ids).size < ids.length) throw new Error("two attachments have the same Content-ID");
}

/** A multipart of them; a single one stays as it is. */
function joinParts(subtype: string, parts: Part[], findFree: () => string, parameters: string[] = []): Part {
  const [only = []] = parts;
  if (parts.length <= 1) return only;
  const boundary = findFree();
  const joined: Part = [
    parameterLine("Content-Type", `multipart/${subtype}`, [...parameters, `boundary="${boundary}"`]),
    "\r\n",
  ];
  // RFC 2046 §5.1.1: the CRLF before a delimiter belongs to the delimiter, so the part keeps its exact end.
  for (const part of parts) joined.push(`--${boundary}\r\n`, ...part, "\r\n");
  joined.push(`--${boundary}--`);
  return joined;
}

function encodePart(subtype: "plain" | "html", text: string): TextPart {
  const { encoding, bytes } = encodeText(text);
  const type = headerLine("Content-Type", `text/${subtype}; charset=utf-8`);
  return { header: type + headerLine("Content-Transfer-Encoding", encoding), bytes, is7Bit: encoding === "7bit" };
}

/** "=_" occurs neither in quoted-printable nor in base64; a 7bit part may hold anything, so it is searched. */
function findBoundary(prefix: string, id: string, texts: TextPart[]): string {
  const stem = `${prefix}${id.replace(/[^A-Za-z0-9-]/g, "").slice(0, MAX_BOUNDARY_ID)}`;
  for (let n = 0; n < MAX_BOUNDARY_TRIES; n++) {
    const boundary = n === 0 ? stem : `${stem}.${n}`;
    const isTaken = ({ is7Bit, bytes: { buffer, byteOffset, byteLength } }: TextPart) =>
      is7Bit && Buffer.from(buffer, byteOffset, byteLength).includes(boundary, 0, "latin1");
    if (!texts.some(isTaken)) return boundary;
  }
  throw new Error("no boundary is free of the message's text");
}
