/**
 * The header of an attachment (RFC 2183, RFC 2231, RFC 2392). The name beyond ASCII stands in `filename*`; an ASCII
 * likeness of it stands in the `name` of the type, for readers that know nothing of RFC 2231. It does not stand beside
 * as `filename`: of the two some readers take the first, others the last.
 */
import { headerLine, parameterLine } from "./header.ts";

export interface AttachmentHeader {
  filename: string;
  /** `type/subtype`, parameters allowed (parseContentType). */
  contentType: string;
  /** Without angle brackets. Then it is inline: the html refers to it as `cid:`. */
  contentId: string | null;
}

export interface ContentType {
  /** Lower case. */
  type: string;
  /** As they are written, `attribute=value`. */
  parameters: string[];
}

/** RFC 2045 §5.1. */
const TOKEN = "[A-Za-z0-9!#$%&'*+\\-.^_`{|}~]+";
const PARAMETER = `(${TOKEN})=(${TOKEN}|"[ !#-\\[\\]-~]*")`;
const CONTENT_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?: ?; ?${PARAMETER})*)$`);
const MAX_CONTENT_TYPE = 255;
/** A part of such a type may not be base64 (RFC 2045 §6.4, RFC 2046 §5.2.1). */
const OPAQUE = "application/octet-stream";
/** RFC 5322 §3.6.4, narrowed to what needs no quoting, widened to an id without @, as html tools write it. */
const CONTENT_ID = /^[\w!#$%&'*+\-/=?^`{|}~.]+(?:@[\w!#$%&'*+\-/=?^`{|}~.]+)?$/;
/** It stands on one line. */
const MAX_CONTENT_ID = 250;
/** A longer name is written in pieces. */
const MAX_PLAIN_NAME = 60;
/** Characters of a percent-encoded piece, so that its line has at most 76. */
const PIECE = 54;
/** RFC 2231 §7 attribute-char, less what some readers stumble over. */
const LITERAL = /^[A-Za-z0-9._-]$/;

/** The parts of a media type with its parameters, or null: it is none. */
export function parseContentType(text: string): ContentType | null {
  if (text.length > MAX_CONTENT_TYPE) return null;
  const [, type, written = ""] = CONTENT_TYPE.exec(text) ?? [];
  if (type === undefined) return null;
  const parameters = [...written.matchAll(new RegExp(PARAMETER, "g"))].map(([parameter]) => parameter);
  return { type: type.toLowerCase(), parameters };
}

/** Whether it can stand between `<` and `>`. */
export function isContentId(text: string): boolean {
  return text.length <= MAX_CONTENT_ID && CONTENT_ID.test(text);
}

/** The part's header without the empty line. @throws when a value could break out of its field. */
export function attachmentHeader({ filename, contentType, contentId }: AttachmentHeader, isInline: boolean): string {
  const parsed = parseContentType(contentType);
  if (parsed === null) throw new Error(`not a media type: ${JSON.stringify(contentType.slice(0, 80))}`);
  if (parsed.type.startsWith("multipart/")) throw new Error("an attachment cannot be a multipart");
  if (/[\r\n\0]/.test(filename)) throw new Error("a file's name contains a line break or NUL");
  if (contentId !== null && !isContentId(contentId)) throw new Error("a Content-ID contains what it may not");
  const isMessage = parsed.type.startsWith("message/");
  const kept = isMessage ? [] : parsed.parameters.filter((parameter) => !/^name[*\d]*=/i.test(parameter));
  const name = `name="${toAsciiName(filename)}"`;
  return [
    parameterLine("Content-Type", isMessage ? OPAQUE : parsed.type, [...kept, name]),
    headerLine("Content-Transfer-Encoding", "base64"),
    parameterLine("Content-Disposition", isInline ? "inline" : "attachment", filenameParameters(filename)),
    contentId === null ? "" : headerLine("Content-ID", `<${contentId}>`),
  ].join("");
}

function filenameParameters(filename: string): string[] {
  return isPlainName(filename) ? [`filename="${filename}"`] : extendedParameters("filename", filename);
}

/** A parameter of any text (RFC 2231 §3, §4), in as many pieces as lines need. */
export function extendedParameters(name: string, text: string): string[] {
  const pieces: string[] = [];
  let piece = "utf-8''";
  for (const point of text.toWellFormed()) {
    const encoded = LITERAL.test(point) ? point : percentEncode(point);
    if (piece.length + encoded.length > PIECE) {
      pieces.push(piece);
      piece = "";
    }
    piece += encoded;
  }
  pieces.push(piece);
  if (pieces.length === 1) return [`${name}*=${pieces[0]}`];
  return pieces.map((each, i) => `${name}*${i}*=${each}`);
}

/** Accents off, anything else beyond ASCII an underscore; the extension is kept. */
function toAsciiName(filename: string): string {
  if (isPlainName(filename)) return filename;
  const ascii = filename
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^ -~]+/g, "_")
    .replace(/["\\]|=\?/g, "_");
  const extension = /\.[A-Za-z0-9]{1,16}$/.exec(ascii)?.[0] ?? "";
  return ascii.slice(0, ascii.length - extension.length).slice(0, MAX_PLAIN_NAME - extension.length) + extension;
}

/** As a quoted string without escapes, which folding does not change and no reader decodes. */
function isPlainName(filename: string): boolean {
  return /^[ -~]*$/.test(filename) && filename.length <= MAX_PLAIN_NAME && !/=\?|["\\]|^ | $| {2}/.test(filename);
}

function percentEncode(point: string): string {
  let encoded = "";
  for (const octet of Buffer.from(point, "utf8")) encoded += `%${octet.toString(16).toUpperCase().padStart(2, "0")}`;
  return encoded;
}
