// A PDU in hexadecimal as an operator may see it: messages and subscribers' numbers are hidden unless allowed. Pure.
// It has a parser of its own, over the bytes: it must never show what it cannot read.

const SUBMIT = 0x04;
const DELIVER = 0x05;
const DATA = 0x103;
const HEADER_OCTETS = 16;
const NAMES: Record<number, string> = {
  [SUBMIT]: "submit_sm",
  [DELIVER]: "deliver_sm",
  [DATA]: "data_sm",
  [0x80000000]: "generic_nack",
};
const IS_ANSWER = 0x80000000;
const MESSAGE_PAYLOAD = 0x0424;
/** SMPP 3.4 §5.2.12: a receipt, of some kind. */
const RECEIPT_KINDS = 0x24;
/** Digits of an address that tell the network and no subscriber. */
const SHOWN_DIGITS = 5;
const HIDDEN = "··";

export interface PduText {
  command: string;
  sequence: number;
  /** Of an answer. */
  status: number;
  /** In hexadecimal; what is hidden is `··`. */
  raw: string;
}

/** `bytes`: at least a header; it may be cut at its end. */
export function pduText(bytes: Buffer, isAllShown: boolean): PduText {
  const id = bytes.readUInt32BE(4);
  const name = NAMES[id] ?? (id >= IS_ANSWER ? `${NAMES[id - IS_ANSWER] ?? toHex(id)}_resp` : toHex(id));
  const hidden = isAllShown ? new Set<number>() : hiddenOctets(bytes, id);
  const raw = [...bytes].map((octet, at) => (hidden.has(at) ? HIDDEN : octet.toString(16).padStart(2, "0"))).join("");
  return { command: name, sequence: bytes.readUInt32BE(12), status: bytes.readUInt32BE(8), raw };
}

function toHex(id: number): string {
  return `0x${id.toString(16).padStart(8, "0")}`;
}

/** If a body is cut off, everything after that point is hidden. */
function hiddenOctets(bytes: Buffer, id: number): Set<number> {
  const hidden = new Set<number>();
  const hide = (from: number, to: number) => {
    for (let at = from; at < Math.min(to, bytes.length); at += 1) hidden.add(at);
  };
  if (id !== SUBMIT && id !== DELIVER && id !== DATA) return hidden;
  const reader = new Reader(bytes, HEADER_OCTETS);
  reader.text();
  for (let address = 0; address < 2; address += 1) {
    reader.skip(2);
    const { start, end } = reader.text();
    if (end - start > SHOWN_DIGITS + 3 && /^\d+$/.test(bytes.toString("latin1", start, end)))
      hide(start + SHOWN_DIGITS, end);
  }
  const esmClass = reader.octet();
  const isReceipt = id !== SUBMIT && (esmClass & RECEIPT_KINDS) !== 0;
  if (id === DATA) reader.skip(2);
  else {
    reader.skip(2);
    reader.text();
    reader.text();
    reader.skip(4);
    const length = reader.octet();
    hideText(bytes, { start: reader.at, end: reader.at + length, isReceipt }, hide);
    reader.skip(length);
  }
  while (reader.at + 4 <= bytes.length) {
    const [tag, length] = [bytes.readUInt16BE(reader.at), bytes.readUInt16BE(reader.at + 2)];
    const start = reader.at + 4;
    if (tag === MESSAGE_PAYLOAD) hideText(bytes, { start, end: start + length, isReceipt }, hide);
    reader.skip(4 + length);
  }
  if (reader.isOver) hide(HEADER_OCTETS, bytes.length);
  return hidden;
}

/** A receipt repeats the beginning of its text behind `text:`. */
function hideText(
  bytes: Buffer,
  { start, end, isReceipt }: { start: number; end: number; isReceipt: boolean },
  hide: (from: number, to: number) => void,
): void {
  if (!isReceipt) return hide(start, end);
  const words = bytes.toString("latin1", start, Math.min(end, bytes.length));
  // One octet a character or two: a zero may stand between the letters.
  const found = /t\0?e\0?x\0?t\0?\s*\0?:/i.exec(words);
  const isReadable = /i\0?d\0?\s*\0?:/i.test(words);
  if (found !== null) hide(start + found.index + found[0].length, end);
  else if (!isReadable) hide(start, end);
}

class Reader {
  readonly #bytes: Buffer;
  at: number;
  isOver = false;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** A text that a NUL ends. */
  text(): { start: number; end: number } {
    const start = this.at;
    const end = this.#bytes.indexOf(0, Math.min(start, this.#bytes.length));
    if (end < 0) this.isOver = true;
    this.at = end < 0 ? this.#bytes.length : end + 1;
    return { start, end: end < 0 ? this.#bytes.length : end };
  }

  octet(): number {
    const octet = this.#bytes[this.at];
    if (octet === undefined) this.isOver = true;
    this.at += 1;
    return octet ?? 0;
  }

  skip(count: number): void {
    this.at += count;
  }
}
