// SMPP 3.4 as an SMSC reads and writes it, from the specification alone: it shares no code with pombo, nor
// with the package that pombo uses, so that a mistake in one is not made in the other as well.

export const ID = {
  genericNack: 0x80000000,
  bindReceiver: 0x00000001,
  bindTransmitter: 0x00000002,
  bindTransceiver: 0x00000009,
  submitSm: 0x00000004,
  deliverSm: 0x00000005,
  dataSm: 0x00000103,
  unbind: 0x00000006,
  outbind: 0x0000000b,
  enquireLink: 0x00000015,
} as const;
export const ANSWER = 0x80000000;

export const TAG = {
  receiptedMessageId: 0x001e,
  userMessageReference: 0x0204,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarPart: 0x020f,
  networkErrorCode: 0x0423,
  messagePayload: 0x0424,
  moreMessages: 0x0426,
  messageState: 0x0427,
} as const;

export interface Tlv {
  tag: number;
  value: Buffer;
}

export interface Head {
  length: number;
  id: number;
  status: number;
  sequence: number;
}

export function headOf(bytes: Buffer): Head {
  return {
    length: bytes.readUInt32BE(0),
    id: bytes.readUInt32BE(4),
    status: bytes.readUInt32BE(8),
    sequence: bytes.readUInt32BE(12),
  };
}

/** A whole PDU. `length`: what its header says, where that is a lie. */
export function pdu(id: number, head: { status?: number; sequence: number; length?: number }, body?: Buffer): Buffer {
  const size = 16 + (body?.length ?? 0);
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeUInt32BE(head.length ?? size, 0);
  bytes.writeUInt32BE(id >>> 0, 4);
  bytes.writeUInt32BE(head.status ?? 0, 8);
  bytes.writeUInt32BE(head.sequence >>> 0, 12);
  if (body !== undefined) body.copy(bytes, 16);
  return bytes;
}

export function cstring(text: string): Buffer {
  return Buffer.from(`${text}\0`, "latin1");
}

export function tlv(tag: number, value: Buffer, length = value.length): Buffer {
  const head = Buffer.allocUnsafe(4);
  head.writeUInt16BE(tag, 0);
  head.writeUInt16BE(length, 2);
  return Buffer.concat([head, value]);
}

/** Cuts a stream into PDUs. Throws on a length that no PDU has. */
export class Framer {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const pdus: Buffer[] = [];
    let at = 0;
    while (bytes.length - at >= 4) {
      const length = bytes.readUInt32BE(at);
      if (length < 16 || length > 65_536) throw new Error(`command_length ${length}`);
      if (bytes.length - at < length) break;
      pdus.push(bytes.subarray(at, at + length));
      at += length;
    }
    this.#rest = bytes.subarray(at);
    return pdus;
  }
}

class Reader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 16) {
    this.bytes = bytes;
    this.at = at;
  }

  octet(): number {
    const value = this.bytes.readUInt8(this.at);
    this.at += 1;
    return value;
  }

  cstring(): string {
    const end = this.bytes.indexOf(0, this.at);
    if (end < 0) throw new Error("a C-octet string without its end");
    const value = this.bytes.toString("latin1", this.at, end);
    this.at = end + 1;
    return value;
  }

  octets(count: number): Buffer {
    if (this.at + count > this.bytes.length) throw new Error("a field is longer than its PDU");
    const value = this.bytes.subarray(this.at, this.at + count);
    this.at += count;
    return value;
  }

  tlvs(): Tlv[] {
    const all: Tlv[] = [];
    while (this.at < this.bytes.length) {
      const head = this.octets(4);
      all.push({ tag: head.readUInt16BE(0), value: this.octets(head.readUInt16BE(2)) });
    }
    return all;
  }
}

export interface Bind {
  systemId: string;
  password: string;
  systemType: string;
  interfaceVersion: number;
  addressRange: string;
}

export function readBind(bytes: Buffer): Bind {
  const reader = new Reader(bytes);
  const [systemId, password, systemType] = [reader.cstring(), reader.cstring(), reader.cstring()];
  const interfaceVersion = reader.octet();
  reader.octets(2);
  return { systemId, password, systemType, interfaceVersion, addressRange: reader.cstring() };
}

/** The fields that a submit_sm and a deliver_sm have. */
export interface Message {
  serviceType: string;
  sourceTon: number;
  sourceNpi: number;
  source: string;
  destinationTon: number;
  destinationNpi: number;
  destination: string;
  esmClass: number;
  protocolId: number;
  priority: number;
  schedule: string;
  validity: string;
  registeredDelivery: number;
  replace: number;
  dataCoding: number;
  defaultMessage: number;
  shortMessage: Buffer;
  tlvs: Tlv[];
}

export function readMessage(bytes: Buffer): Message {
  const reader = new Reader(bytes);
  const start = {
    serviceType: reader.cstring(),
    sourceTon: reader.octet(),
    sourceNpi: reader.octet(),
    source: reader.cstring(),
    destinationTon: reader.octet(),
    destinationNpi: reader.octet(),
    destination: reader.cstring(),
    esmClass: reader.octet(),
    protocolId: reader.octet(),
    priority: reader.octet(),
    schedule: reader.cstring(),
    validity: reader.cstring(),
    registeredDelivery: reader.octet(),
    replace: reader.octet(),
    dataCoding: reader.octet(),
    defaultMessage: reader.octet(),
  };
  const shortMessage = reader.octets(reader.octet());
  return { ...start, shortMessage, tlvs: reader.tlvs() };
}

export function tlvOf(message: Message, tag: number): Buffer | null {
  return message.tlvs.find((found) => found.tag === tag)?.value ?? null;
}

/** Which part of how many a submit says it is, by user data header or SAR; null: it is whole. */
export function partOf(message: Message): { part: number; total: number } | null {
  const [total, part] = [tlvOf(message, TAG.sarTotal), tlvOf(message, TAG.sarPart)];
  if (total !== null && part !== null) return { part: part[0] ?? 0, total: total[0] ?? 0 };
  if ((message.esmClass & 0x40) === 0) return null;
  const header = message.shortMessage.subarray(1, 1 + (message.shortMessage[0] ?? 0));
  for (let at = 0; at + 2 <= header.length; at += 2 + (header[at + 1] ?? 0)) {
    const [kind, length] = [header[at], header[at + 1] ?? 0];
    if (kind !== 0x00 && kind !== 0x08) continue;
    return { total: header[at + length] ?? 0, part: header[at + length + 1] ?? 0 };
  }
  return null;
}

/** What is sent to an ESME. */
export interface Delivery {
  command: "deliver_sm" | "data_sm";
  from: string;
  to: string;
  esmClass: number;
  dataCoding: number;
  /** In hexadecimal. */
  bytes: string;
  /** In the TLV message_payload, the short message being empty. */
  isPayload: boolean;
  /** `value` in hexadecimal. */
  tlvs: { tag: number; value: string }[];
}

export function writeDelivery(delivery: Delivery, sequence: number): Buffer {
  const { command, from, to, esmClass, dataCoding, tlvs } = delivery;
  const content = Buffer.from(delivery.bytes, "hex");
  const isInTlv = delivery.isPayload || command === "data_sm";
  const addresses = [cstring(""), Buffer.from([1, 1]), cstring(from), Buffer.from([1, 1]), cstring(to)];
  const options = tlvs.map(({ tag, value }) => tlv(tag, Buffer.from(value, "hex")));
  if (isInTlv && content.length > 0) options.push(tlv(TAG.messagePayload, content));
  const short = isInTlv ? Buffer.alloc(0) : content;
  // data_sm: esm_class, registered_delivery, data_coding; deliver_sm: its ten fields more.
  const rest =
    command === "data_sm"
      ? [Buffer.from([esmClass, 0, dataCoding])]
      : [Buffer.from([esmClass, 0, 0, 0, 0, 0, 0, dataCoding, 0, short.length]), short];
  const id = command === "data_sm" ? ID.dataSm : ID.deliverSm;
  return pdu(id, { sequence }, Buffer.concat([...addresses, ...rest, ...options]));
}
