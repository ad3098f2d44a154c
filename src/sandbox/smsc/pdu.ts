/**
 * SMPP 3.4 as the sandbox's SMSC reads and writes it: the few PDUs that come to it and go from it, by the
 * specification's sections. It shares nothing with protocols/smpp, which is the other end, so that a
 * mistake made in one shows at the other. Whatever comes is read within its bounds or refused. Pure.
 */

/** command_id (§5.1.2.1). */
export const COMMAND = {
  bindReceiver: 0x0000_0001,
  bindTransmitter: 0x0000_0002,
  submitSm: 0x0000_0004,
  deliverSm: 0x0000_0005,
  unbind: 0x0000_0006,
  bindTransceiver: 0x0000_0009,
  enquireLink: 0x0000_0015,
  genericNack: 0x8000_0000,
} as const;
/** Set in the command_id of an answer. */
export const ANSWER = 0x8000_0000;

const HEAD_BYTES = 16;
/** A message_payload of its utmost length and all that may stand around it. */
const MAX_PDU_BYTES = 70_000;

/** What cannot be read. `isOver`: the stream behind it neither. */
export class UnreadablePdu extends Error {
  override readonly name = "UnreadablePdu";
  readonly isOver: boolean;

  constructor(reason: string, isOver: boolean) {
    super(reason);
    this.isOver = isOver;
  }
}

/** The header's fields but its length (§3.2). */
export interface Head {
  id: number;
  status: number;
  sequence: number;
}

export function headOf(bytes: Buffer): Head {
  return { id: bytes.readUInt32BE(4), status: bytes.readUInt32BE(8), sequence: bytes.readUInt32BE(12) };
}

/** Cuts a stream into PDUs. Keeps less than one of the largest. */
export class Framer {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws UnreadablePdu for a length that no PDU has; what came before it was given. */
  *push(chunk: Buffer): Generator<Buffer> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = Buffer.alloc(0);
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0);
      if (length < HEAD_BYTES || length > MAX_PDU_BYTES) throw new UnreadablePdu(`command_length ${length}`, true);
      if (bytes.length < length) break;
      yield bytes.subarray(0, length);
      bytes = bytes.subarray(length);
    }
    this.#rest = bytes;
  }
}

/** A PDU of these octets. */
export function pdu({ id, status = 0, sequence }: { id: number; status?: number; sequence: number }, body?: Buffer) {
  const bytes = Buffer.alloc(HEAD_BYTES + (body?.length ?? 0));
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(id >>> 0, 4);
  bytes.writeUInt32BE(status >>> 0, 8);
  bytes.writeUInt32BE(sequence >>> 0, 12);
  body?.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** A C-octet string; what is no printable Latin-1 becomes `?`. */
export function cstring(text: string): Buffer {
  return Buffer.from(`${text.replaceAll(/[^ -\u00ff]/g, "?")}\0`, "latin1");
}

/** Fields one after the other, never past the PDU's end. */
class Fields {
  readonly #bytes: Buffer;
  #at = HEAD_BYTES;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  octets(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new UnreadablePdu("a field is longer than its PDU", false);
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  octet(): number {
    return this.octets(1)[0] ?? 0;
  }

  word(): number {
    return this.octets(2).readUInt16BE(0);
  }

  cstring(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end < 0) throw new UnreadablePdu("a string without its end", false);
    const value = this.#bytes.toString("latin1", this.#at, end);
    this.#at = end + 1;
    return value;
  }
}

export interface Bind {
  systemId: string;
  password: string;
}

/** §4.1: what follows the password is of no interest here. */
export function readBind(bytes: Buffer): Bind {
  const fields = new Fields(bytes);
  return { systemId: fields.cstring(), password: fields.cstring() };
}

/** A submit_sm, as far as a network looks at it (§4.4.1). */
export interface Submit {
  /** A name, or a number without `+`. */
  source: string;
  /** 1: international, 5: a name. */
  sourceTon: number;
  destination: string;
  esmClass: number;
  registeredDelivery: number;
  dataCoding: number;
  /** The short message, or message_payload where that is empty; it begins with a header where `esmClass & 0x40`. */
  message: Buffer;
  /** The TLVs 0x020C, 0x020F and 0x020E, where all three are there. */
  sar: { reference: number; seq: number; total: number } | null;
  /** TLV 0x0204, as it came; null: none. */
  reference: Buffer | null;
}

const TAG = {
  receiptedMessageId: 0x001e,
  userMessageReference: 0x0204,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarPart: 0x020f,
  messagePayload: 0x0424,
  messageState: 0x0427,
} as const;

/** Throws UnreadablePdu. */
export function readSubmit(bytes: Buffer): Submit {
  const fields = new Fields(bytes);
  fields.cstring();
  const [sourceTon] = [fields.octet(), fields.octet()];
  const source = fields.cstring();
  fields.octets(2);
  const destination = fields.cstring();
  const esmClass = fields.octet();
  fields.octets(2);
  // Schedule and validity: nothing waits here.
  fields.cstring();
  fields.cstring();
  const registeredDelivery = fields.octet();
  fields.octet();
  const dataCoding = fields.octet();
  fields.octet();
  const shortMessage = fields.octets(fields.octet());
  const tlvs = readTlvs(fields);
  const read = shortMessage.length > 0 ? shortMessage : (tlvs.get(TAG.messagePayload) ?? shortMessage);
  // A copy: what waits for other parts must not keep all that came with it.
  const message = Buffer.from(read);
  const sar = sarOf(tlvs);
  const reference = tlvs.get(TAG.userMessageReference) ?? null;
  return { source, sourceTon, destination, esmClass, registeredDelivery, dataCoding, message, sar, reference };
}

function readTlvs(fields: Fields): Map<number, Buffer> {
  const tlvs = new Map<number, Buffer>();
  while (!fields.isAtEnd) {
    const tag = fields.word();
    tlvs.set(tag, fields.octets(fields.word()));
  }
  return tlvs;
}

function sarOf(tlvs: Map<number, Buffer>): Submit["sar"] {
  const [reference, total, part] = [TAG.sarReference, TAG.sarTotal, TAG.sarPart].map((tag) => tlvs.get(tag));
  if (reference?.length !== 2 || total?.length !== 1 || part?.length !== 1) return null;
  return { reference: reference.readUInt16BE(0), total: total.readUInt8(0), seq: part.readUInt8(0) };
}

/** A deliver_sm: a receipt, or a subscriber's text. */
export interface Deliver {
  source: { ton: number; npi: number; address: string };
  destination: { ton: number; npi: number; address: string };
  esmClass: number;
  dataCoding: number;
  /** At most 254 octets. */
  message: Buffer;
  /** What a receipt says in TLVs as well (§4.6.1); null: it is none. */
  receipt: { id: string; state: number; reference: Buffer | null } | null;
}

export function deliverSm({ source, destination, esmClass, dataCoding, message, receipt }: Deliver, sequence: number) {
  const address = ({ ton, npi, address: text }: Deliver["source"]) =>
    Buffer.concat([Buffer.from([ton, npi]), cstring(text)]);
  const body = Buffer.concat([
    cstring(""),
    address(source),
    address(destination),
    Buffer.from([esmClass, 0, 0, 0, 0, 0, 0, dataCoding, 0, message.length]),
    message,
    ...(receipt === null
      ? []
      : [
          tlv(TAG.receiptedMessageId, cstring(receipt.id)),
          tlv(TAG.messageState, Buffer.from([receipt.state])),
          ...(receipt.reference === null ? [] : [tlv(TAG.userMessageReference, receipt.reference)]),
        ]),
  ]);
  return pdu({ id: COMMAND.deliverSm, sequence }, body);
}

function tlv(tag: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(tag, 0);
  head.writeUInt16BE(value.length, 2);
  return Buffer.concat([head, value]);
}
