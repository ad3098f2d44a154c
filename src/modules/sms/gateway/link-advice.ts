// Advice for operators about a bind or a submit that an SMSC refuses. Keys are those of [[sms.routes]] and its links.

import { STATUS } from "../../../protocols/smpp/pdu/status.ts";

const ON_BIND: Record<number, string> = {
  [STATUS.bindFailed]:
    "Ask the SMSC's operator whether the account is open for this server's address, and whether it wants bind = \"pair\".",
  [STATUS.invalidPassword]: "Look at password or password_file of the link.",
  [STATUS.invalidSystemId]: "Look at system_id of the link.",
  [STATUS.invalidSystemType]: "Ask the SMSC's operator for the system type, and set system_type.",
  [STATUS.invalidCommand]: 'The SMSC takes no transceiver: set bind = "pair".',
  [STATUS.alreadyBound]:
    "The account is bound already: an old session ends by itself, another program with this account must be stopped.",
};

/** Of a link that is not bound; `status`: of the bind's refusal, or null. Null: it passes by itself. */
export function adviceOnBind(status: number | null, reason: string): string | null {
  if (status !== null) return ON_BIND[status] ?? "Ask the SMSC's operator why: the error is its own.";
  if (/certificate|self.signed|altname|hostname/i.test(reason))
    return "Its certificate is not the one expected: look at host, tls_name and ca_file of the link.";
  if (/bind was not answered/.test(reason))
    return "Something listens there and does not speak SMPP: look at port and tls of the link.";
  if (/refused|in time|unreachable|no address|its name/i.test(reason))
    return "Look at host and port of the link; is the VPN up, and does the SMSC's operator let this server's address in?";
  return null;
}

/** By command_status of an answer to a submit. */
const ON_SUBMIT: Record<number, string> = {
  0x01: "The SMSC takes shorter messages: try another segmentation.",
  0x04: "It is bound as a receiver only: ask the SMSC's operator for an account that may send.",
  0x06: "Ask the SMSC's operator which priority_flag it wants: pombo sends 0.",
  0x07: 'The SMSC gives no receipts: try receipts = "none".',
  0x0a: "The sender is not registered with this operator, or alphanumeric_ton_npi is not the one that it wants.",
  0x0b: "This SMSC has no way to the number: look at prefixes of the route.",
  0x14: "The SMSC's queue is full: try later, or ask its operator.",
  0x15: "Ask the SMSC's operator which service_type it wants: pombo sends none.",
  0x43: 'It takes no user data header or no such esm_class: try segmentation = "sar" or "payload", and look at esm_class.',
  0x48: "The sender's type of number is wrong: look at alphanumeric_ton_npi, number_ton_npi and short_code_ton_npi.",
  0x49: "The sender's numbering plan is wrong: look at alphanumeric_ton_npi, number_ton_npi and short_code_ton_npi.",
  0x50: "The recipient's type of number is wrong: look at destination_ton_npi.",
  0x51: "The recipient's numbering plan is wrong: look at destination_ton_npi.",
  0x58: "It was too fast for the contract: lower rate of the link.",
  0x61: "Ask the SMSC's operator about scheduled delivery: pombo asks for none.",
  0x62: 'It does not understand how long a message is worth delivering: set validity = "omit".',
  0xc0: 'It does not bear a TLV: set user_message_reference = false, and leave segmentation at "udh8".',
  0xc1: 'It does not allow a TLV: set user_message_reference = false, and leave segmentation at "udh8".',
  0xc4: "It does not bear a TLV's value: set user_message_reference = false.",
  0x102: "Its service is not there at the moment: try later.",
  0x104: "It does not take this data coding: ask its operator how messages with accents are to be sent.",
};

export function adviceOnSubmit(status: number): string | null {
  return ON_SUBMIT[status] ?? null;
}
