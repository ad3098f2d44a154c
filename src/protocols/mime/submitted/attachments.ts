/** Which parts of a submitted message are attachments, and what is said of them: name, type, Content-ID, size. */
import { findStructured, toTransferEncoding, type Part } from "./parts.ts";
import { findParameter, findToken } from "./parameters.ts";
import { encodeField } from "./eight-bit-field.ts";
import { rawValue, type HeaderField } from "./header-section.ts";
import { toOneLine, trimBlanks, unfold } from "./text.ts";
import { countDecoded, type TransferEncoding } from "./transfer-encoding.ts";

export interface SubmittedAttachment {
  /** Never empty, without folder or control characters, at most 255 characters; made up from the type where there is none. */
  filename: string;
  /** type/subtype in lower case, without parameters except charset. */
  contentType: string;
  /** Without angle brackets. */
  contentId: string | null;
  /** As it stands in the message. "identity": 7bit, 8bit, binary, and encodings that nobody knows. */
  transferEncoding: TransferEncoding;
  /** The octets of the part's body as it is to be sent, still encoded. */
  encoded: Uint8Array;
  /** So many octets when decoded. */
  bytes: number;
}

const MAX_FILENAME = 255;
/** An extension is kept when a name is cut. */
const EXTENSION = /\.[A-Za-z0-9]{1,16}$/;
const CONTENT_ID = /^[!-;=?-~]{1,250}$/;
const CHARSET = /^[\w.:+-]{1,40}$/;
/** Marks that turn the direction of a text: with one, "exe.txt" is shown of a name that ends with "txt.exe". */
const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/g;
const MADE_UP_NAMES: Record<string, string> = {
  "application/pdf": "attachment.pdf",
  "application/pgp-signature": "signature.asc",
  "application/pkcs7-mime": "smime.p7m",
  "application/pkcs7-signature": "smime.p7s",
  "application/zip": "attachment.zip",
  "message/global": "message.eml",
  "message/rfc822": "message.eml",
  "text/calendar": "invite.ics",
  "text/csv": "text.csv",
  "text/html": "text.html",
  "text/plain": "text.txt",
};

/** After `reencode`. What a reader does not show as the text of the message. A multipart that cannot be taken apart is none either. */
export function isAttachment(part: Part): boolean {
  if (part.kind === "multipart" || part.type.startsWith("multipart/")) return false;
  if (part.kind === "message" || !part.type.startsWith("text/")) return true;
  const fields = findSentFields(part);
  return findStructured(fields, "content-disposition")?.head === "attachment" || findFilename(fields) !== null;
}

/** After `reencode`. `encoded`: the body of the part as it is to be sent. */
export function describeAttachment(part: Part, encoded: Uint8Array): SubmittedAttachment {
  const transferEncoding = toTransferEncoding(part.encodingName);
  const fields = findSentFields(part);
  return {
    filename: toFilename(findFilename(fields) ?? "") || makeUpFilename(part.type),
    contentType: formatContentType(part.type, fields),
    contentId: findContentId(fields),
    transferEncoding,
    encoded,
    bytes: countDecoded(encoded, transferEncoding),
  };
}

/** As they are to be sent: what is recorded of a part is what its reader finds, also where octets beyond ASCII were written anew. */
function findSentFields({ fields, isSealed }: Part): HeaderField[] {
  const described = fields.filter(({ key }) => key.startsWith("content-"));
  return described.map((field) => {
    const written = field.written ?? (isSealed ? null : encodeField(field, true));
    return written === null ? field : { ...field, raw: written, valueAt: written.indexOf(":") + 1 };
  });
}

function findFilename(fields: HeaderField[]): string | null {
  const disposition = findStructured(fields, "content-disposition")?.parameters ?? [];
  const type = findStructured(fields, "content-type")?.parameters ?? [];
  const name = findParameter(disposition, "filename") ?? findParameter(type, "name");
  return name === null || toOneLine(name) === "" ? null : name;
}

/** "": nothing is left of it. */
function toFilename(text: string): string {
  const line = toOneLine(text).replace(DIRECTION_MARKS, "");
  const name = line.slice(Math.max(line.lastIndexOf("/"), line.lastIndexOf("\\")) + 1).trim();
  if (/^\.*$/.test(name)) return "";
  if (name.length <= MAX_FILENAME) return name;
  const extension = EXTENSION.exec(name)?.[0] ?? "";
  // Half a character is left out.
  return name.slice(0, MAX_FILENAME - extension.length).replace(/[\ud800-\udbff]$/, "") + extension;
}

function makeUpFilename(type: string): string {
  const known = MADE_UP_NAMES[type];
  if (known !== undefined) return known;
  const [, top, extension] = /^(image|audio|video)\/([a-z0-9]{1,8})$/.exec(type) ?? [];
  return top === undefined ? "attachment.bin" : `${top}.${extension}`;
}

function formatContentType(type: string, fields: HeaderField[]): string {
  const parameters = findStructured(fields, "content-type")?.parameters ?? [];
  // Its first word, also of one that was written anew for its 8-bit words.
  const [charset = ""] = /^[^\s(]*/.exec(findToken(parameters, "charset") ?? "") ?? [];
  return CHARSET.test(charset) ? `${type}; charset=${charset}` : type;
}

function findContentId(fields: HeaderField[]): string | null {
  const field = fields.find(({ key }) => key === "content-id");
  const id = field === undefined ? "" : trimBlanks(unfold(rawValue(field))).replace(/^<|>$/g, "");
  return CONTENT_ID.test(id) ? id : null;
}
