/** Writes the body of a message with what was decided for its parts, and cuts the contents of the attachments out of it. */
import { replaceEightBit } from "./eight-bit-field.ts";
import { describeAttachment, isAttachment, type SubmittedAttachment } from "./attachments.ts";
import type { Part } from "./parts.ts";

export interface AssembledBody {
  body: Uint8Array;
  holes: number[];
  attachments: SubmittedAttachment[];
}

export function assembleBody(octets: Buffer, root: Part): AssembledBody {
  const body = new Splice(octets, root.bodyStart);
  const holes: number[] = [];
  const attachments: SubmittedAttachment[] = [];
  writePart(root, body);
  return { body: body.finish(octets.length), holes, attachments };

  function writePart(part: Part, out: Splice): void {
    if (part.parent !== null) writeHeader(part, out);
    if (out !== body || !isAttachment(part)) {
      writeBody(part, out);
      return;
    }
    out.copyTo(part.bodyStart);
    const content = new Splice(octets, part.bodyStart);
    writeBody(part, content);
    holes.push(out.length);
    attachments.push(describeAttachment(part, content.finish(part.end)));
    out.skipTo(part.end);
  }

  function writeBody(part: Part, out: Splice): void {
    if (part.replacement !== null) out.replace(part.bodyStart, part.end, part.replacement);
    if (part.preambleEnd !== null) writeText(part, part.bodyStart, part.preambleEnd, out);
    for (const child of part.children) writePart(child, out);
    if (part.epilogueStart !== null) writeText(part, part.epilogueStart, part.end, out);
  }

  /** What stands beside the parts is for nobody. */
  function writeText(part: Part, start: number, end: number, out: Splice): void {
    if (part.isSealed || /^multipart\/(?:signed|encrypted)$/.test(part.type)) return;
    const text = octets.toString("latin1", start, end);
    const replaced = replaceEightBit(text);
    if (replaced !== text) out.replace(start, end, Buffer.from(replaced, "latin1"));
  }
}

function writeHeader(part: Part, out: Splice): void {
  for (const { start, raw, written } of part.fields)
    if (written !== null) out.replace(start, start + raw.length, Buffer.from(written, "latin1"));
  if (part.added !== "") out.replace(part.headerEnd, part.headerEnd, Buffer.from(part.added, "latin1"));
}

/** A copy of octets with replacements, made in their order. */
class Splice {
  length = 0;
  readonly #octets: Buffer;
  readonly #pieces: Uint8Array[] = [];
  #at: number;

  constructor(octets: Buffer, start: number) {
    this.#octets = octets;
    this.#at = start;
  }

  copyTo(end: number): void {
    if (end > this.#at) this.#push(this.#octets.subarray(this.#at, end));
    this.skipTo(end);
  }

  skipTo(end: number): void {
    this.#at = Math.max(this.#at, end);
  }

  replace(start: number, end: number, by: Uint8Array): void {
    this.copyTo(start);
    this.#push(by);
    this.skipTo(end);
  }

  finish(end: number): Uint8Array {
    this.copyTo(end);
    const [only, ...others] = this.#pieces;
    // Without a copy where nothing changed.
    return others.length === 0 ? (only ?? new Uint8Array()) : Buffer.concat(this.#pieces);
  }

  #push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.length += piece.length;
  }
}
