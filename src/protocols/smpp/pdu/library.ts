// The `smpp` package, 0.5.1 exactly, hardened. It is a PDU codec and an event emitter over a socket.
// It has no maintainer: its faults that concern us are mended here, once, before anything is read or written, and nothing of
// it is used outside this folder but through here. After that it is octets in, octets out: text, user data headers and times
// are ours.

import type { Readable } from "node:stream";
import smpp, { type FieldType, type PDU } from "smpp";

/** SMPP 3.4 §3.2: the header's four fields. */
const MIN_PDU_BYTES = 16;
/** What the package can read; the largest that SMSCs send is a message_payload of some kilobytes. */
const MAX_PDU_BYTES = 16_384;

/** What came is no PDU, or its body cannot be read. The stream behind it is not to be trusted. */
export class UnreadablePdu extends Error {
  override readonly name = "UnreadablePdu";
  /** Of its header; 0 where that was not read, as SMPP 3.4 §4.3.1 has it for a generic_nack. */
  readonly sequence: number;

  constructor(reason: string, sequence: number) {
    super(reason);
    this.sequence = sequence;
  }
}

/** Streams whose next length was read, and whose PDU has not come yet. */
const lengthsRead = new WeakSet<Readable>();
const bytesRead = new WeakMap<PDU, Buffer>();

/** PDUs whose body ends before its last mandatory field: only the header of these was read. */
const cutShort = new WeakSet<PDU>();

/** The mandatory fields of §4.4.1, §4.6.1 and §4.7.1: octets, `t` for a text to its NUL, `b` for a length and so many octets; `tlvs` to its end. */
const BODIES: Record<number, readonly (number | "t" | "b" | "tlvs")[]> = {
  0x04: ["t", 2, "t", 2, "t", 3, "t", "t", 4, "b", "tlvs"],
  0x05: ["t", 2, "t", 2, "t", 3, "t", "t", 4, "b"],
  0x103: ["t", 2, "t", 2, "t", 3],
};

let isHardened = false;

/** The package, hardened at the first call. */
export function library(): typeof smpp {
  if (!isHardened) harden();
  isHardened = true;
  return smpp;
}

/** True while the part of a PDU that has come waits for the rest. */
export function isMidPdu(stream: Readable): boolean {
  return lengthsRead.has(stream) || stream.readableLength > 0;
}

/** A PDU as it came. */
export function getBytes(pdu: PDU): Buffer {
  return bytesRead.get(pdu) ?? Buffer.alloc(0);
}

/** The package takes what is missing for empty: a text that lost its end would be acknowledged. */
export function isCutShort(pdu: PDU): boolean {
  return cutShort.has(pdu);
}

function harden(): void {
  // They make text of bytes by tables of their own, dates of periods, and objects of TLVs.
  for (const command of Object.values(smpp.commands)) {
    for (const field of Object.values(command.params ?? {})) delete field.filter;
  }
  // That of message_payload assigns an undeclared variable: in a bundle, which is strict, it throws.
  const { cstring, string, buffer } = smpp.types.tlv;
  for (const tlv of Object.values(smpp.tlvs)) {
    delete tlv.filter;
    if (tlv.type === cstring) tlv.type = BOUNDED_STRING;
    else if (tlv.type === string || tlv.type === buffer) tlv.type = withinPdu(tlv.type);
  }
  smpp.PDU.commandLength = readLength;
  smpp.PDU.fromStream = readPdu;
}

/** The package reads to the next NUL, through whatever TLVs follow one without it. */
const BOUNDED_STRING: FieldType = {
  default: "",
  size: (value: string) => value.length + 1,
  read(bytes, offset, length) {
    const field = slice(bytes, offset, length);
    const end = field.indexOf(0);
    return field.toString("latin1", 0, end < 0 ? length : end);
  },
  write(value: string, bytes, offset) {
    bytes.write(value, offset, "latin1");
    bytes[offset + value.length] = 0;
  },
};

/** A TLV longer than what is left of its PDU would be cut in silence: half an id is another message's. */
function withinPdu(type: FieldType): FieldType {
  return { ...type, read: (bytes, offset, length) => type.read(slice(bytes, offset, length), 0, length) };
}

function slice(bytes: Buffer, offset: number, length: number): Buffer {
  if (offset + length > bytes.length) throw new RangeError("a TLV is longer than its PDU");
  return bytes.subarray(offset, offset + length);
}

/** The package takes 0 for "nothing yet", and less than a header or more than anybody sends for a length. */
function readLength(stream: Readable): number | false {
  const head = stream.read(4) as Buffer | null;
  if (head === null) return false;
  // At its end a stream gives what is left, however little.
  if (head.length < 4) throw new UnreadablePdu("the connection ended within a PDU", 0);
  const length = head.readUInt32BE(0);
  if (length < MIN_PDU_BYTES || length > MAX_PDU_BYTES) throw new UnreadablePdu(`command_length ${length}`, 0);
  lengthsRead.add(stream);
  return length;
}

function readPdu(stream: Readable, length: number): PDU | false {
  const rest = stream.read(length - 4) as Buffer | null;
  if (rest === null) return false;
  lengthsRead.delete(stream);
  if (rest.length < length - 4) throw new UnreadablePdu("the connection ended within a PDU", 0);
  const bytes = Buffer.allocUnsafe(length);
  bytes.writeUInt32BE(length, 0);
  bytes.set(rest, 4);
  try {
    const isCut = !hasWholeBody(bytes);
    const pdu = new smpp.PDU(isCut ? cutToHeader(bytes) : bytes);
    if (isCut) cutShort.add(pdu);
    bytesRead.set(pdu, bytes);
    return pdu;
  } catch (error) {
    throw new UnreadablePdu(error instanceof Error ? error.message : String(error), bytes.readUInt32BE(12));
  }
}

/** As of a PDU without a body. */
function cutToHeader(bytes: Buffer): Buffer {
  const header = Buffer.from(bytes.subarray(0, MIN_PDU_BYTES));
  header.writeUInt32BE(MIN_PDU_BYTES, 0);
  return header;
}

function hasWholeBody(bytes: Buffer): boolean {
  let at = MIN_PDU_BYTES;
  for (const field of BODIES[bytes.readUInt32BE(4)] ?? []) {
    if (field === "t") {
      const end = bytes.indexOf(0, at);
      at = end < 0 ? Infinity : end + 1;
    } else if (field === "tlvs") {
      while (at < bytes.length) at += at + 4 > bytes.length ? Infinity : 4 + bytes.readUInt16BE(at + 2);
    } else at += field === "b" ? 1 + (bytes[at] ?? 0) : field;
    // The next one begins within it, or it ends here.
    if (at > bytes.length) return false;
  }
  return true;
}
