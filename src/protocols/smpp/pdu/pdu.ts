// PDUs as values, with octets left as octets. Section numbers are those of SMPP 3.4.
// What the package would throw at or mangle is refused before it is encoded.

import type { PDU } from "smpp";
import { getBytes, isCutShort, library } from "./library.ts";
import type { LinkSettings } from "../settings.ts";

/** SMPP 3.4. */
const INTERFACE_VERSION = 0x34;

export interface Address {
  /** Type of number and numbering plan, one octet each. */
  ton: number;
  npi: number;
  address: string;
}

/** A message for us: a receipt or a subscriber's text. Which it is, and what it says, its reader decides. */
export interface Inbound {
  command: "deliver_sm" | "data_sm";
  source: Address;
  destination: Address;
  esmClass: number;
  dataCoding: number;
  /** With its user data header where `esmClass & 0x40`; empty in a data_sm. */
  shortMessage: Buffer;
  /** The TLVs 0x0424, 0x001E, 0x0427 and 0x0423 (three octets: network and error), 0x0204; null where absent. */
  messagePayload: Buffer | null;
  receiptedMessageId: string | null;
  messageState: number | null;
  networkErrorCode: Buffer | null;
  userMessageReference: number | null;
  /** The TLVs 0x020C, 0x020E and 0x020F, where all three are. */
  sar: Sar | null;
  /** The PDU as it came. */
  bytes: Buffer;
}

/** Parts by TLVs in place of a user data header. */
export interface Sar {
  reference: number;
  total: number;
  /** From 1. */
  seq: number;
}

type PlainKind = "enquire" | "enquire_response" | "unbind" | "unbind_response" | "outbind" | "alert";

export type Pdu =
  | { kind: "bind_response"; sequence: number; status: number; systemId: string }
  /** `bytes`: the PDU as it came. */
  | { kind: "submit_response"; sequence: number; status: number; messageId: string; bytes: Buffer }
  | { kind: "inbound"; sequence: number; message: Inbound }
  /** A message whose body ends too early (§4.6.1). */
  | { kind: "truncated"; sequence: number; command: Inbound["command"]; bytes: Buffer }
  | { kind: "nack"; sequence: number; status: number; bytes: Buffer }
  | { kind: PlainKind; sequence: number }
  /** A command that no SMSC sends to an ESME, or that SMPP does not have. */
  | { kind: "unknown"; sequence: number; command: string; isAnswer: boolean };

const PLAIN_KINDS: Record<string, PlainKind> = {
  enquire_link: "enquire",
  enquire_link_resp: "enquire_response",
  unbind: "unbind",
  unbind_resp: "unbind_response",
  outbind: "outbind",
  alert_notification: "alert",
};

export function readPdu(pdu: PDU): Pdu {
  const { command, command_status: status, sequence_number: sequence } = pdu;
  const plain = PLAIN_KINDS[command];
  if (plain !== undefined) return { kind: plain, sequence };
  switch (command) {
    case "submit_sm_resp":
      return { kind: "submit_response", sequence, status, messageId: text(pdu["message_id"]), bytes: getBytes(pdu) };
    case "deliver_sm":
    case "data_sm":
      return isCutShort(pdu)
        ? { kind: "truncated", sequence, command, bytes: getBytes(pdu) }
        : { kind: "inbound", sequence, message: readInbound(command, pdu) };
    case "bind_transceiver_resp":
    case "bind_transmitter_resp":
    case "bind_receiver_resp":
      return { kind: "bind_response", sequence, status, systemId: text(pdu["system_id"]) };
    case "generic_nack":
      return { kind: "nack", sequence, status, bytes: getBytes(pdu) };
    default:
      return { kind: "unknown", sequence, command: getName(pdu), isAnswer: pdu.command_id >= 0x80000000 };
  }
}

function getName(pdu: PDU): string {
  return pdu.command === "unknown" ? `0x${pdu.command_id.toString(16).padStart(8, "0")}` : pdu.command;
}

export function readInbound(command: Inbound["command"], pdu: PDU): Inbound {
  const reference = octets(pdu["sar_msg_ref_num"]);
  const total = octets(pdu["sar_total_segments"]);
  const seq = octets(pdu["sar_segment_seqnum"]);
  return {
    command,
    source: readAddress(pdu, "source_addr_ton", "source_addr_npi", "source_addr"),
    destination: readAddress(pdu, "dest_addr_ton", "dest_addr_npi", "destination_addr"),
    esmClass: octets(pdu["esm_class"]) ?? 0,
    dataCoding: octets(pdu["data_coding"]) ?? 0,
    shortMessage: bytes(pdu["short_message"]) ?? Buffer.alloc(0),
    messagePayload: bytes(pdu["message_payload"]),
    receiptedMessageId: typeof pdu["receipted_message_id"] === "string" ? text(pdu["receipted_message_id"]) : null,
    messageState: octets(pdu["message_state"]),
    networkErrorCode: bytes(pdu["network_error_code"]),
    userMessageReference: octets(pdu["user_message_reference"]),
    sar: reference === null || total === null || seq === null ? null : { reference, total, seq },
    bytes: getBytes(pdu),
  };
}

function readAddress(pdu: PDU, ton: string, npi: string, address: string): Address {
  return { ton: octets(pdu[ton]) ?? 0, npi: octets(pdu[npi]) ?? 0, address: text(pdu[address]) };
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function octets(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function bytes(value: unknown): Buffer | null {
  return Buffer.isBuffer(value) ? value : null;
}

/** The address range stays empty: it routes nothing to most SMSCs, and some refuse it. */
export function encodeBind(
  command: "bind_transceiver" | "bind_transmitter" | "bind_receiver",
  sequence: number,
  { systemId, password, systemType }: Pick<LinkSettings, "systemId" | "password" | "systemType">,
): Buffer {
  return encode(command, sequence, {
    system_id: systemId,
    password,
    system_type: systemType,
    // By itself the package says 5.0, which some SMSCs refuse.
    interface_version: INTERFACE_VERSION,
    addr_ton: 0,
    addr_npi: 0,
    address_range: "",
  });
}

/** A PDU without a body. */
export function encodePlain(
  command: "enquire_link" | "enquire_link_resp" | "unbind" | "unbind_resp",
  sequence: number,
): Buffer {
  return encode(command, sequence, {});
}

/** `status`: why (§5.1.3). */
export function encodeNack(sequence: number, status: number): Buffer {
  return encode("generic_nack", sequence, { command_status: status });
}

/** The answer to an inbound message; its message_id is empty, as §4.6.2 has it. Errors have no body. */
export function encodeAcknowledgement(command: Inbound["command"], sequence: number, status: number): Buffer {
  return encode(`${command}_resp`, sequence, { command_status: status, message_id: "" });
}

export function toAddressFields(source: Address, destination: Address) {
  return {
    source_addr_ton: source.ton,
    source_addr_npi: source.npi,
    source_addr: source.address,
    dest_addr_ton: destination.ton,
    dest_addr_npi: destination.npi,
    destination_addr: destination.address,
  };
}

/** Any command; fields are the package's. Throws on values that it cannot write. */
export function encode(command: string, sequence: number, fields: Record<string, unknown>): Buffer {
  const { PDU } = library();
  return new PDU(command, { ...fields, sequence_number: sequence }).toBuffer();
}
