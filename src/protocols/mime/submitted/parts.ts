/**
 * The MIME tree of a message (RFC 2045, RFC 2046): one pass over the lines that begin with two hyphens, with a stack of open
 * parts and a table of their boundaries. Each octet is looked at once, however deep the parts are nested.
 */
import { MAX_HEADER_OCTETS, rawValue, readFields, type HeaderField } from "./header-section.ts";
import { findBoundary, parseStructured, type Parameter } from "./parameters.ts";
import { trimBlanks, unfold } from "./text.ts";
import type { TransferEncoding } from "./transfer-encoding.ts";

export interface Part {
  parent: Part | null;
  /** Multiparts and messages that it is in, itself included. */
  level: number;
  kind: "leaf" | "multipart" | "message";
  fields: HeaderField[];
  /** Where the empty line begins; a part without one has no body. */
  headerEnd: number;
  bodyStart: number;
  end: number;
  /** Such as "text/plain", lower case. */
  type: string;
  parameters: Parameter[];
  /** As it is named, lower case; "7bit" where it is not. */
  encodingName: string;
  /** Within a multipart/signed or multipart/encrypted, of which no octet may change. */
  isSealed: boolean;
  children: Part[];
  boundary: string;
  /** Of a multipart: where its first delimiter begins, with the CRLF before it; null: none came. */
  preambleEnd: number | null;
  /** After its closing delimiter; null: none came. */
  epilogueStart: number | null;
  /** What is written in place of the body of a leaf; null: it stays as it came. */
  replacement: Uint8Array | null;
  /** Fields that are written after the others. */
  added: string;
}

export interface PartsFault {
  kind: "fault";
  /** The end of a sentence. */
  message: string;
  /** Where in the message. */
  at: number;
}

const MAX_PARTS = 1_000;
const MAX_LEVELS = 50;
/** RFC 5322 §2.1.1: a longer line is refused, or encoded. */
const MAX_LINE = 1_000;
const LF = 0x0a;
const CR = 0x0d;
const DELIMITER = Buffer.from("\r\n--", "latin1");
const HEADER_END = Buffer.from("\r\n\r\n", "latin1");
const MEDIA_TYPE = /^[a-z0-9!#$%&'*+\-.^_`{|}~]{1,127}\/[a-z0-9!#$%&'*+\-.^_`{|}~]{1,127}$/;

interface Walk {
  octets: Buffer;
  stack: Part[];
  /** The innermost open multipart of each boundary, with those it hides. */
  open: Map<string, Part[]>;
  count: number;
}

interface Delimiter {
  owner: Part;
  /** With the CRLF before it. */
  start: number;
  lineEnd: number;
  isClose: boolean;
}

/** `fields`: of the message, whose body begins at `bodyStart`, after the empty line at `headerEnd`. */
export function readParts(
  octets: Buffer,
  header: { fields: HeaderField[]; headerEnd: number; bodyStart: number },
): Part | PartsFault {
  const walk: Walk = { octets, stack: [], open: new Map(), count: 0 };
  const root = buildPart(header, null);
  const fault = enter(walk, root) ?? walkDelimiters(walk, root);
  if (fault !== null) return fault;
  leaveUntil(walk, null, octets.length);
  return root;
}

function walkDelimiters(walk: Walk, root: Part): PartsFault | null {
  let from = Math.max(root.bodyStart - 2, 0);
  while (walk.open.size > 0) {
    const next = findDelimiter(walk, from, walk.octets.length);
    if (next === null) break;
    const { owner } = next;
    leaveUntil(walk, owner, next.start);
    owner.preambleEnd ??= next.start;
    from = next.lineEnd - 2;
    if (next.isClose) {
      owner.epilogueStart = next.lineEnd;
      forget(walk, owner);
      continue;
    }
    const part = readPart(walk, next.lineEnd, owner);
    const fault = part.kind === "fault" ? part : enter(walk, part);
    if (fault !== null) return fault;
    // What its header says is no delimiter.
    from = (walk.stack.at(-1)?.bodyStart ?? next.lineEnd) - 2;
  }
  return null;
}

/** The next line before `limit` that is a delimiter of an open multipart, from the CRLF before it. */
function findDelimiter({ octets, open }: Walk, from: number, limit: number): Delimiter | null {
  const within = octets.subarray(0, limit);
  for (let at = from; ;) {
    const start = within.indexOf(DELIMITER, at);
    if (start < 0) return null;
    const lineEnd = octets.indexOf(LF, start + DELIMITER.length) + 1;
    if (lineEnd - start <= MAX_LINE + 2) {
      const line = octets.toString("latin1", start + DELIMITER.length, lineEnd - 2);
      const found = matchDelimiter(
        open,
        line.endsWith(" ") || line.endsWith("\t") ? trimBlanks(`-${line}`).slice(1) : line,
      );
      if (found !== null) return { ...found, start, lineEnd };
    }
    at = lineEnd - 2;
  }
}

/** A boundary may be the start of another, and end with two hyphens: the whole line counts, and the innermost part. */
function matchDelimiter(open: Walk["open"], line: string): { owner: Part; isClose: boolean } | null {
  const next = open.get(line)?.at(-1);
  const closed = line.endsWith("--") ? open.get(line.slice(0, -2))?.at(-1) : undefined;
  if (closed !== undefined && (next === undefined || next.level < closed.level))
    return { owner: closed, isClose: true };
  return next === undefined ? null : { owner: next, isClose: false };
}

/** The part that begins at `start`, with its header only. */
function readPart(walk: Walk, start: number, parent: Part): Part | PartsFault {
  const { octets } = walk;
  const limit = Math.min(start + MAX_HEADER_OCTETS, octets.length);
  const isEmpty = octets[start] === CR;
  const blank = isEmpty ? start - 2 : octets.subarray(start, limit + HEADER_END.length).indexOf(HEADER_END);
  const blankAt = isEmpty ? start : blank < 0 ? limit : start + blank + 2;
  // A part may end within its header.
  const delimiter = findDelimiter(walk, start - 2, blankAt);
  if (delimiter === null && blank < 0 && limit < octets.length && !isEmpty)
    return {
      kind: "fault",
      message: `begins a header section of more than ${MAX_HEADER_OCTETS / 1_024} KiB`,
      at: start,
    };
  const headerEnd = Math.max(start, delimiter === null ? blankAt : delimiter.start + 2);
  const hasBody = delimiter === null && headerEnd < octets.length;
  const section = readFields(octets, start, headerEnd, true);
  const fields = section.kind === "fields" ? section.fields : [];
  return buildPart({ fields, headerEnd, bodyStart: hasBody ? headerEnd + 2 : headerEnd }, parent);
}

function buildPart(header: { fields: HeaderField[]; headerEnd: number; bodyStart: number }, parent: Part | null): Part {
  const isDigest = parent?.kind === "multipart" && parent.type === "multipart/digest";
  const { type, parameters } = readContentType(header.fields, isDigest ? "message/rfc822" : "text/plain");
  const encodingName = findStructured(header.fields, "content-transfer-encoding")?.head ?? "7bit";
  const boundary = type.startsWith("multipart/") ? findBoundary(parameters) : null;
  const isMessage = /^message\/(?:rfc822|global)$/.test(type) && toTransferEncoding(encodingName) === "identity";
  const kind = boundary !== null ? "multipart" : isMessage ? "message" : "leaf";
  return {
    ...header,
    parent,
    level: (parent?.level ?? 0) + (kind === "leaf" ? 0 : 1),
    kind,
    end: header.bodyStart,
    type,
    parameters,
    encodingName,
    isSealed: parent !== null && (parent.isSealed || /^multipart\/(?:signed|encrypted)$/.test(parent.type)),
    children: [],
    boundary: boundary ?? "",
    preambleEnd: null,
    epilogueStart: null,
    replacement: null,
    added: "",
  };
}

function readContentType(fields: HeaderField[], missing: string): { type: string; parameters: Parameter[] } {
  const found = findStructured(fields, "content-type");
  if (found === null) return { type: missing, parameters: [] };
  const { head, parameters } = found;
  if (MEDIA_TYPE.test(head)) return { type: head, parameters };
  // "text" comes from programs older than MIME; nobody knows what else it could be.
  return { type: head === "" || head === "text" ? "text/plain" : "application/octet-stream", parameters };
}

/** The first field of that name; its head without comments, in lower case. */
export function findStructured(fields: HeaderField[], key: string): { head: string; parameters: Parameter[] } | null {
  const field = fields.find((each) => each.key === key);
  if (field === undefined) return null;
  const { head, parameters } = parseStructured(rawValue(field));
  return { head: trimBlanks(unfold(head).replace(/\(.*$/s, "")).toLowerCase(), parameters };
}

/** An encoding that nobody knows is none that could be undone. */
export function toTransferEncoding(name: string): TransferEncoding {
  return name === "base64" || name === "quoted-printable" ? name : "identity";
}

/** The part becomes the innermost open one, and the message in it after it. */
function enter(walk: Walk, part: Part): PartsFault | null {
  walk.count++;
  if (walk.count > MAX_PARTS)
    return { kind: "fault", message: "begins a part too many; at most 1,000 are allowed", at: part.bodyStart };
  if (part.level > MAX_LEVELS)
    return { kind: "fault", message: "begins a part within more than 50 others", at: part.bodyStart };
  part.parent?.children.push(part);
  walk.stack.push(part);
  if (part.kind === "multipart") {
    const hidden = walk.open.get(part.boundary);
    if (hidden === undefined) walk.open.set(part.boundary, [part]);
    else hidden.push(part);
  }
  if (part.kind !== "message") return null;
  if (part.bodyStart === part.headerEnd) {
    part.kind = "leaf";
    return null;
  }
  const inner = readPart(walk, part.bodyStart, part);
  return inner.kind === "fault" ? inner : enter(walk, inner);
}

/** Ends the parts within `owner`; null: all. */
function leaveUntil(walk: Walk, owner: Part | null, end: number): void {
  for (let part = walk.stack.at(-1); part !== undefined && part !== owner; part = walk.stack.at(-1)) {
    walk.stack.pop();
    part.end = Math.max(part.bodyStart, end);
    if (part.kind !== "multipart") continue;
    if (part.epilogueStart === null) forget(walk, part);
    // A multipart whose delimiter never came is one text that nobody can read.
    if (part.preambleEnd === null) part.kind = "leaf";
  }
}

function forget({ open }: Walk, part: Part): void {
  const same = open.get(part.boundary);
  same?.pop();
  if (same?.length === 0) open.delete(part.boundary);
}
