/**
 * Reading a message for the eyes of a developer: its author and subject for the list, its html,
 * text, headers and links for the reading pane. The bytes are hostile by assumption; whatever
 * mailparser makes of them, the answer is a value with a fault in words, never a throw, and the
 * source can always be read.
 */
import { isUtf8 } from "node:buffer";
import { type AddressObject, type EmailAddress, simpleParser } from "mailparser";
import { buildMessagePage } from "../../modules/emails/preview/page.ts";
import { getErrorMessage } from "../../platform/errors.ts";

/** Bytes of the header block that are read for the list; a longer one is cut. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Characters of author and subject that are kept for the list. */
const MAX_LISTED_CHARACTERS = 1_000;

/** Addresses to unsubscribe at that are shown. */
const MAX_LINKS = 100;
const MAX_LINK_CHARACTERS = 4_096;

/** A message taken apart for reading. */
interface ReadableMessage {
  /** HTML as sent, cid: images put inline as data:; null when there is none. */
  html: string | null;
  /** Text part; null when there is none, or an empty one. Never made from the html. */
  text: string | null;
  /** Header fields in order, unfolded, values as on the wire. */
  headers: { name: string; value: string }[];
  /** In their order. `contentId`: without brackets, of those that the html shows; null: it is none of them. */
  attachments: { filename: string | null; contentType: string; contentId: string | null; sizeBytes: number }[];
  /** `Name <address>` or bare, as its header names them. */
  addressees: { to: string[]; cc: string[]; replyTo: string[] };
  /** The addresses in List-Unsubscribe (RFC 2369 §3.2), in order. */
  unsubscribe: string[];
  /** http, https, mailto and tel links of the html, in order, each once. */
  links: string[];
  /** Images and styles of the html that would come from the network, and are not loaded here. */
  remoteImages: number;
  /** Why the message could not be read in full; null when it could. */
  fault: string | null;
}

// No html from text, no text from html, no links made: the message is shown as it was sent, and
// each of these is work that grows with hostile input.
const PARSER_OPTIONS = {
  skipHtmlToText: true,
  skipTextToHtml: true,
  skipTextLinks: true,
  skipImageLinks: false,
};

/** Author and subject as the list shows them, decoded; empty when missing or unreadable. */
export async function readAuthorAndSubject(raw: Uint8Array): Promise<{ author: string; subject: string }> {
  const header = readHeaderBlock(raw);
  try {
    const parsed = await simpleParser(header, PARSER_OPTIONS);
    return { author: shortenListed(parsed.from?.text), subject: shortenListed(parsed.subject) };
  } catch {
    return { author: "", subject: "" };
  }
}

const NOTHING_READ = {
  html: null,
  text: null,
  attachments: [],
  addressees: { to: [], cc: [], replyTo: [] },
  unsubscribe: [],
  links: [],
  remoteImages: 0,
};

/** Takes a message apart. Never throws: see `fault`. */
export async function readMessage(raw: Uint8Array): Promise<ReadableMessage> {
  const headers = readHeaderFields(raw);
  try {
    const parsed = await simpleParser(Buffer.from(raw), PARSER_OPTIONS);
    const html = typeof parsed.html === "string" ? parsed.html : null;
    return {
      html,
      // mailparser says "" for a message of html only.
      text: parsed.text || null,
      headers,
      attachments: parsed.attachments.map(({ filename, contentType, cid, related, size: sizeBytes }) => ({
        filename: filename ?? null,
        contentType,
        contentId: related && cid !== undefined ? cid : null,
        sizeBytes,
      })),
      addressees: {
        to: listAddressees(parsed.to),
        cc: listAddressees(parsed.cc),
        replyTo: listAddressees(parsed.replyTo),
      },
      unsubscribe: listUnsubscribe(headers),
      ...(await findReferences(html ?? "")),
      fault: null,
    };
  } catch (error) {
    const fault = getErrorMessage(error);
    return { ...NOTHING_READ, headers, fault };
  }
}

/** The nth attachment in the order of readMessage; null: there is none. */
export async function readAttachment(
  raw: Uint8Array,
  n: number,
): Promise<{ filename: string; content: Uint8Array<ArrayBuffer> } | null> {
  try {
    const { attachments } = await simpleParser(Buffer.from(raw), PARSER_OPTIONS);
    const found = attachments[n];
    if (found === undefined) return null;
    return { filename: found.filename ?? `attachment-${n + 1}`, content: new Uint8Array(found.content) };
  } catch {
    return null;
  }
}

/** The source as text: UTF-8 when it is, else one character per byte. */
export function sourceText(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString(isUtf8(raw) ? "utf8" : "latin1");
}

/** For the list beside the html: each link once. */
async function findReferences(html: string): Promise<{ links: string[]; remoteImages: number }> {
  const { links, remote } = await buildMessagePage(html, new Map());
  return {
    links: [...new Set(links.map(({ url }) => url))],
    remoteImages: remote.reduce((sum, { count }) => sum + count, 0),
  };
}

function parseLink(written: string): string | null {
  const url = URL.parse(written.trim());
  if (url === null || !/^(https?|mailto):$/.test(url.protocol)) return null;
  return url.href.length > MAX_LINK_CHARACTERS ? null : url.href;
}

/** The header field may be there twice; the members of a group stand for it. */
function listAddressees(field: AddressObject | AddressObject[] | undefined): string[] {
  const list = (addresses: EmailAddress[]): string[] =>
    addresses.flatMap(({ name, address = "", group }) =>
      group === undefined ? [name === "" ? address : `${name} <${address}>`] : list(group),
    );
  return [field ?? []].flat().flatMap(({ value }) => list(value));
}

function listUnsubscribe(headers: { name: string; value: string }[]): string[] {
  const values = headers.filter(({ name }) => name.toLowerCase() === "list-unsubscribe").map(({ value }) => value);
  const places = values.flatMap((value) =>
    [...value.matchAll(/<([^<>]+)>/g)].map(([, place = ""]) => parseLink(place)),
  );
  return places.filter((place) => place !== null).slice(0, MAX_LINKS);
}

function readHeaderFields(raw: Uint8Array): { name: string; value: string }[] {
  const unfolded = sourceText(readHeaderBlock(raw)).replace(/\r?\n[ \t]+/g, " ");
  const fields: { name: string; value: string }[] = [];
  for (const line of unfolded.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    fields.push({ name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() });
  }
  return fields;
}

/** Everything before the first empty line, cut at the limit, with its line ends. */
function readHeaderBlock(raw: Uint8Array): Buffer {
  const head = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_HEADER_BYTES));
  const ends = [head.indexOf("\r\n\r\n"), head.indexOf("\n\n")].filter((end) => end >= 0);
  const block = ends.length === 0 ? head : head.subarray(0, Math.min(...ends));
  return Buffer.concat([block, Buffer.from("\r\n\r\n")]);
}

function shortenListed(text: string | undefined): string {
  return (text ?? "").slice(0, MAX_LISTED_CHARACTERS);
}
