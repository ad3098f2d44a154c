// The SMSC's side of the PDUs in pdu.ts, for the sandbox's SMSC.

import type { PDU } from "smpp";
import type { Role } from "../session/bind.ts";
import { isCutShort } from "./library.ts";
import { type Address, encode, octets, readInbound, type Sar, text, toAddressFields } from "./pdu.ts";

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
  sar: Sar | null;
  /** TLV 0x0204; null: none. */
  reference: number | null;
}

export type EsmePdu =
  | { kind: "bind"; command: `bind_${Role}`; sequence: number; role: Role; systemId: string; password: string }
  | { kind: "submit"; sequence: number; submit: Submit }
  /** A submit_sm whose body ends too early. */
  | { kind: "cut_submit"; sequence: number }
  /** Of a deliver_sm. */
  | { kind: "response"; sequence: number; status: number }
  | { kind: "enquire_link" | "unbind" | "unknown"; sequence: number };

export function readEsmePdu(pdu: PDU): EsmePdu {
  const { command, command_status: status, sequence_number: sequence } = pdu;
  if (pdu.command_id >= 0x80000000) return { kind: "response", sequence, status };
  switch (command) {
    case "bind_transceiver":
    case "bind_transmitter":
    case "bind_receiver": {
      const [systemId, password] = [text(pdu["system_id"]), text(pdu["password"])];
      return { kind: "bind", command, sequence, role: command.slice("bind_".length) as Role, systemId, password };
    }
    case "submit_sm":
      return isCutShort(pdu) ? { kind: "cut_submit", sequence } : { kind: "submit", sequence, submit: readSubmit(pdu) };
    case "enquire_link":
    case "unbind":
      return { kind: command, sequence };
    default:
      return { kind: "unknown", sequence };
  }
}

function readSubmit(pdu: PDU): Submit {
  const { source, destination, esmClass, dataCoding, ...read } = readInbound("deliver_sm", pdu);
  const { shortMessage, messagePayload, sar } = read;
  return {
    source: source.address,
    sourceTon: source.ton,
    destination: destination.address,
    esmClass,
    registeredDelivery: octets(pdu["registered_delivery"]) ?? 0,
    dataCoding,
    // A copy: what waits for other parts must not keep all that came with it.
    message: Buffer.from(shortMessage.length > 0 ? shortMessage : (messagePayload ?? shortMessage)),
    sar,
    reference: read.userMessageReference,
  };
}

/** A deliver_sm: a receipt, or a subscriber's message. */
export interface Deliver {
  source: Address;
  destination: Address;
  esmClass: number;
  dataCoding: number;
  /** At most 254 octets. */
  message: Buffer;
  /** What a receipt says in TLVs as well (§4.6.1); null: it is none. */
  receipt: { id: string; state: number; reference: number | null } | null;
}

export function encodeDeliver({ source, destination, receipt, ...rest }: Deliver, sequence: number): Buffer {
  return encode("deliver_sm", sequence, {
    ...toAddressFields(source, destination),
    esm_class: rest.esmClass,
    data_coding: rest.dataCoding,
    short_message: rest.message,
    ...(receipt !== null && { receipted_message_id: receipt.id, message_state: receipt.state }),
    ...(receipt !== null && receipt.reference !== null && { user_message_reference: receipt.reference }),
  });
}

/** The response to a request; with an error it has no body. */
export function encodeResponse(
  command: string,
  sequence: number,
  status: number,
  body: { system_id?: string; message_id?: string } = {},
): Buffer {
  return encode(`${command}_resp`, sequence, { command_status: status, ...body });
}
