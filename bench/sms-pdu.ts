// Just enough of SMPP 3.4 for the SMSC of `script/bench sms`, from the specification: it shares nothing with pombo,
// and reads no field that it does not need.

export const COMMAND = {
  bindReceiver: 1,
  bindTransmitter: 2,
  submit: 4,
  deliver: 5,
  unbind: 6,
  bindTransceiver: 9,
  enquire: 0x15,
  deliverAnswer: 0x80000005,
} as const;
export const ANSWER = 0x80000000;
export const HEAD_BYTES = 16;
export const NO_BYTES = Buffer.alloc(0);
/** What follows its id in a receipt (appendix B). */
const DELIVERED = " sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:";
/** What stands between destination and short message in a deliver_sm: esm_class 4 is a receipt. */
const RECEIPT_FIELDS = Buffer.from([4, 0, 0, 0, 0, 0, 0, 0, 0]);

export function frame(command: number, sequence: number, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(command >>> 0, 4);
  bytes.writeUInt32BE(0, 8);
  bytes.writeUInt32BE(sequence, 12);
  body.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** @returns how much of `bytes` was whole PDUs; `take` is given each. Throws on a length that no PDU has. */
export function eachPdu(bytes: Buffer, take: (pdu: Buffer) => void): number {
  let at = 0;
  while (bytes.length - at >= HEAD_BYTES) {
    const length = bytes.readUInt32BE(at);
    if (length < HEAD_BYTES || length > 65_536) throw new Error(`command_length ${length}`);
    if (bytes.length - at < length) break;
    take(bytes.subarray(at, at + length));
    at += length;
  }
  return at;
}

/** The system_id of a bind (§4.1). */
export function accountIn(bind: Buffer): string {
  return bind.toString("latin1", HEAD_BYTES, bind.indexOf(0, HEAD_BYTES));
}

export interface Submit {
  /** With its NUL. */
  source: Buffer;
  destination: string;
  wantsReceipt: boolean;
}

/** §4.4.1: service_type, source and destination (ton, npi, address), three octets, two times, registered_delivery. */
export function readSubmit(pdu: Buffer): Submit {
  const sourceAt = pdu.indexOf(0, HEAD_BYTES) + 3;
  const sourceEnd = pdu.indexOf(0, sourceAt);
  const destinationAt = sourceEnd + 3;
  const destinationEnd = pdu.indexOf(0, destinationAt);
  const registeredAt = pdu.indexOf(0, pdu.indexOf(0, destinationEnd + 4) + 1) + 1;
  return {
    source: pdu.subarray(sourceAt, sourceEnd + 1),
    destination: pdu.toString("latin1", destinationAt, destinationEnd),
    wantsReceipt: ((pdu[registeredAt] ?? 0) & 1) === 1,
  };
}

/** The body of the deliver_sm that says that the text known as `id` has arrived. */
export function receiptOf(id: string, { source, destination }: Submit): Buffer {
  const text = Buffer.from(`id:${id}${DELIVERED}`);
  const head = Buffer.from(`\0\x01\x01${destination}\0\x05\0`);
  return Buffer.concat([head, source, RECEIPT_FIELDS, Buffer.from([text.length]), text]);
}
