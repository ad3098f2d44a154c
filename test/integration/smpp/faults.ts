// Octets of an SMSC that has lost its way, written with its own codec.

import { cstring, ID, pdu, tlv, TAG, writeDelivery } from "../../support/peers/smsc/codec.ts";
import { TEXT } from "../../support/smpp/world.ts";

const ENQUIRE = pdu(ID.enquireLink, { sequence: 1 });
const receipt = writeDelivery(TEXT, 77);

function withTail(tail: Buffer): Buffer {
  const bytes = Buffer.concat([receipt, tail]);
  bytes.writeUInt32BE(bytes.length, 0);
  return bytes;
}

function ofLength(length: number): Buffer {
  return pdu(ID.enquireLink, { sequence: 1, length });
}

/** What ends a connection: each with what the link says of it. */
export const FATAL: Record<string, { bytes: Buffer; reason: RegExp }> = {
  "length 0": { bytes: ofLength(0), reason: /^command_length 0$/ },
  "length 2": { bytes: ofLength(2), reason: /^command_length 2$/ },
  "length 4": { bytes: ofLength(4), reason: /^command_length 4$/ },
  "length 8": { bytes: ofLength(8), reason: /^command_length 8$/ },
  "length 15": { bytes: ofLength(15), reason: /^command_length 15$/ },
  "length 16,385": { bytes: ofLength(16_385), reason: /^command_length 16385$/ },
  "length 2^31": { bytes: ofLength(0x80000000), reason: /^command_length 2147483648$/ },
  "an answer in HTTP": { bytes: Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), reason: /^command_length \d+$/ },
  "a truncated TLV": { bytes: withTail(tlv(TAG.messageState, Buffer.alloc(0), 1)), reason: /./ },
  "a TLV longer than its PDU": {
    bytes: withTail(tlv(TAG.receiptedMessageId, Buffer.from("12"), 40)),
    reason: /^a TLV is longer than its PDU$/,
  },
};

/** What is borne: each with the text or the receipt's id that is read all the same. */
export const BORNE: Record<string, { bytes: Buffer; id: string | null }> = {
  "an id TLV without NUL": {
    bytes: withTail(
      Buffer.concat([tlv(TAG.receiptedMessageId, Buffer.from("12ab")), tlv(TAG.messageState, Buffer.from([2]))]),
    ),
    id: "12ab",
  },
  "an unknown TLV": {
    bytes: withTail(Buffer.concat([tlv(0x1501, Buffer.from("x")), tlv(TAG.receiptedMessageId, cstring("7"))])),
    id: "7",
  },
  "a sequence number of the upper half": { bytes: writeDelivery(TEXT, 0x80000007), id: null },
};

/** Messages that end before their last mandatory field, at each of their octets; a receipt's text among them. */
export const CUT: Buffer[] = Array.from({ length: receipt.length - 16 }, (_, cut) => {
  const bytes = Buffer.from(receipt.subarray(0, 16 + cut));
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(1_000 + cut, 12);
  return bytes;
});
export const ALERT = pdu(
  0x102,
  { sequence: 43 },
  Buffer.concat([Buffer.from([1, 1]), cstring("258841234567"), Buffer.from([0, 0, 0])]),
);

/** A hundred enquire_links in one piece. */
export const MANY = Buffer.concat(Array.from({ length: 100 }, () => ENQUIRE));
export const UNKNOWN_COMMAND = pdu(0x00010200, { sequence: 42 }, Buffer.from("abc"));
/** The first half, and a header without its body. */
export const HALF = receipt.subarray(0, 20);
export const HEADER_ALONE = receipt.subarray(0, 16);
