// Receipts in the wordings of vendors, and ids in their styles.

import { TAG, tlvOf, type Delivery, type Message } from "./codec.ts";
import type { IdStyle, ReceiptScript, ReceiptText } from "./script.ts";

/** Ten digits and nine: so that padding shows. */
const PADDED_DIGITS = 10;
const CONSTANT_ID = "123456789";

export function idOf(number: number, style: IdStyle): string {
  switch (style) {
    case "decimal":
      return String(number);
    case "hex":
      return number.toString(16);
    case "upper_hex":
      return number.toString(16).toUpperCase();
    case "padded":
      return String(number).padStart(PADDED_DIGITS, "0");
    case "constant":
      return CONSTANT_ID;
    case "unknown":
      return `9${number}9`;
    case "empty":
      return "";
  }
}

/** SMPP 3.4 §5.2.28. */
const STATES: Record<string, number> = {
  ENROUTE: 1,
  DELIVRD: 2,
  EXPIRED: 3,
  DELETED: 4,
  UNDELIV: 5,
  ACCEPTD: 6,
  UNKNOWN: 7,
  REJECTD: 8,
};

/** The receipt for `message`, known as `id`, in this state. */
export function receiptFor(message: Message, id: string, state: string, script: ReceiptScript): Delivery {
  const text = script.text === "none" ? Buffer.alloc(0) : wordsOf(script.text, { id, state, err: script.err });
  const tlvs: Delivery["tlvs"] = [];
  const reference = tlvOf(message, TAG.userMessageReference);
  for (const name of script.tlvs) {
    if (name === "receipted_message_id") {
      tlvs.push({ tag: TAG.receiptedMessageId, value: Buffer.from(`${id}\0`, "latin1").toString("hex") });
    } else if (name === "message_state") {
      tlvs.push({ tag: TAG.messageState, value: Buffer.from([STATES[state] ?? 7]).toString("hex") });
    } else if (name === "network_error_code") {
      const code = Number.parseInt(script.err, 10) || 0;
      tlvs.push({ tag: TAG.networkErrorCode, value: Buffer.from([3, code >> 8, code & 255]).toString("hex") });
    } else if (reference !== null) tlvs.push({ tag: TAG.userMessageReference, value: reference.toString("hex") });
  }
  return {
    command: script.via === "data_sm" ? "data_sm" : "deliver_sm",
    from: message.destination,
    to: message.source,
    esmClass: script.esmClass,
    dataCoding: script.dataCoding,
    bytes: text.toString("hex"),
    isPayload: script.via === "message_payload",
    tlvs,
  };
}

function wordsOf(wording: ReceiptText, { id, state, err }: { id: string; state: string; err: string }): Buffer {
  const date = new Date().toISOString().replaceAll(/\D/g, "");
  const [minutes, seconds, century] = [date.slice(2, 12), date.slice(2, 14), date.slice(0, 14)];
  const words = (dates: string, text: string) =>
    `id:${id} sub:001 dlvrd:001 submit date:${dates} done date:${dates} stat:${state} err:${err}${text}`;
  const standard = words(minutes, " text:Ola");
  switch (wording) {
    case "standard":
      return latin1(standard);
    case "seconds":
      return latin1(words(seconds, " Text:Ola"));
    case "century":
      return latin1(words(century, " text:"));
    case "zero_dates":
      return latin1(words("0000000000", " text:Ola"));
    case "empty_dates":
      return latin1(words("", " text:Ola"));
    case "joined_keys":
      return latin1(standard.replace("submit date", "submitdate").replace("done date", "donedate"));
    case "no_counts":
      return latin1(standard.replace(" sub:001 dlvrd:001", ""));
    case "no_text":
      return latin1(words(minutes, ""));
    case "upper_keys":
      return latin1(standard.replaceAll(/[a-z ]+:/g, (key) => key.toUpperCase()));
    case "id_last":
      return latin1(`stat:${state} err:${err} id:${id}`);
    case "ucs2":
      return Buffer.from(standard, "utf16le").swap16();
  }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
