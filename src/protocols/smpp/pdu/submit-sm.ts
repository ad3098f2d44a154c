// submit_sm (SMPP 3.4 §4.4): one segment of a message, all decided but its sequence number.

import { encode, type Address, type Sar, toAddressFields } from "./pdu.ts";

export interface SubmitSm {
  source: Address;
  /** International, without `+`. */
  destination: Address;
  /** 0x40 where `shortMessage` begins with a user data header. */
  esmClass: number;
  /** `relativeValidity(…)`, or "" where the route leaves it out. */
  validityPeriod: string;
  /** 0x01 asks for a receipt, 0x10 for intermediate ones too. */
  registeredDelivery: number;
  dataCoding: number;
  /** The bytes as they go on the air, at most 254; empty with a payload. */
  shortMessage: Uint8Array;
  /** TLV 0x0424 in place of `shortMessage`. */
  messagePayload: Uint8Array | null;
  /** TLV 0x0204, 16 bits, the same when the segment is sent again; null where the route refuses it. */
  userMessageReference: number | null;
  /** TLVs 0x020C, 0x020E, 0x020F; never beside a user data header. */
  sar: Sar | null;
  /** TLV 0x0426; null: left out. */
  hasMoreMessages: boolean | null;
}

/** §5.2.8, without the NUL. */
const MAX_ADDRESS = 20;
const MAX_SHORT_MESSAGE = 254;
const MAX_PAYLOAD = 8_192;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Throws, naming the field, on what may not go on the wire: the package would write something else. */
export function encodeSubmit(sequence: number, submit: SubmitSm): Buffer {
  const { source, destination, shortMessage, messagePayload, sar } = submit;
  checkAddress("source", source);
  checkAddress("destination", destination);
  if (destination.address === "") throw new Error("destination: empty");
  if (submit.validityPeriod !== "" && !/^\d{15}R$/.test(submit.validityPeriod)) {
    throw new Error("validityPeriod: not relative");
  }
  if (shortMessage.length > MAX_SHORT_MESSAGE) throw new Error("shortMessage: too long");
  if (messagePayload !== null && (messagePayload.length > MAX_PAYLOAD || shortMessage.length > 0)) {
    throw new Error("messagePayload: too long, or beside a short message");
  }
  if (sar !== null && (submit.esmClass & 0x40) !== 0) throw new Error("sar: beside a user data header");
  return encode("submit_sm", sequence, {
    service_type: "",
    ...toAddressFields(source, destination),
    esm_class: submit.esmClass,
    protocol_id: 0,
    priority_flag: 0,
    schedule_delivery_time: "",
    validity_period: submit.validityPeriod,
    registered_delivery: submit.registeredDelivery,
    replace_if_present_flag: 0,
    data_coding: submit.dataCoding,
    sm_default_msg_id: 0,
    short_message: asBuffer(shortMessage),
    ...(submit.userMessageReference === null ? {} : { user_message_reference: submit.userMessageReference }),
    ...(sar === null
      ? {}
      : { sar_msg_ref_num: sar.reference, sar_total_segments: sar.total, sar_segment_seqnum: sar.seq }),
    ...(submit.hasMoreMessages === null ? {} : { more_messages_to_send: submit.hasMoreMessages ? 1 : 0 }),
    ...(messagePayload === null ? {} : { message_payload: asBuffer(messagePayload) }),
  });
}

function checkAddress(field: string, { address }: Address): void {
  if (address.length > MAX_ADDRESS || !PRINTABLE.test(address)) {
    throw new Error(`${field}: at most ${MAX_ADDRESS} ASCII characters`);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const MIN_VALIDITY_S = 60;
/** Some SMSCs take the field of the days for a day of a month. */
const MAX_VALIDITY_S = 30 * 86_400;

/** What is left of a message's time as `YYMMDDhhmmss000R` (§7.1.1), of at least a minute and at most 30 days. */
export function relativeValidity(leftMs: number): string {
  const seconds = Math.min(MAX_VALIDITY_S, Math.max(MIN_VALIDITY_S, Math.floor(leftMs / 1_000)));
  const parts = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60, seconds % 60];
  return `0000${parts.map((part) => String(Math.floor(part)).padStart(2, "0")).join("")}000R`;
}
