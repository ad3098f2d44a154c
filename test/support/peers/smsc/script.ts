// What the SMSC is told to do. All of it can be changed while it runs.

import type { Delivery } from "./codec.ts";

export type BindName = "bind_transceiver" | "bind_transmitter" | "bind_receiver";
export type IdStyle = "decimal" | "hex" | "upper_hex" | "padded" | "constant" | "empty" | "unknown";

export interface ReceiptScript {
  /** After the answer, each on its own; `isBeforeAnswer` sends the first one before it. */
  delayMs: number;
  isBeforeAnswer: boolean;
  /** Words for `stat:`, one receipt each; none: no receipt. */
  states: string[];
  /** Between the receipts of one message. */
  gapMs: number;
  times: number;
  /** On which bind of the same system id: the submit's own where that may be, any other, or whichever is there. */
  on: "same" | "other";
  via: "deliver_sm" | "data_sm" | "message_payload";
  /** `none`: TLVs alone. */
  text: ReceiptText | "none";
  tlvs: ("receipted_message_id" | "message_state" | "network_error_code" | "user_message_reference")[];
  /** `same`: as it was answered. */
  ids: IdStyle | "same";
  err: string;
  dataCoding: number;
  esmClass: number;
  /** Of a message of several parts. */
  parts: "each" | "first" | "last" | "none";
}

/** How vendors word a receipt; see receipts.ts. */
export type ReceiptText =
  | "standard"
  | "seconds"
  | "century"
  | "zero_dates"
  | "empty_dates"
  | "joined_keys"
  | "no_counts"
  | "no_text"
  | "upper_keys"
  | "id_last"
  | "ucs2";

/** An exception for some submits; of several that fit, the first. */
export interface Rule {
  /** The destination begins so. */
  to?: string;
  /** The part's number, of a message of several. */
  part?: number;
  /** Of those that fit, only each n-th. */
  every?: number;
  /** Of those, from the n-th on (1). */
  from?: number;
  /** And no more than so many. */
  count?: number;
  answer: {
    status?: number;
    kind?: "answer" | "none" | "nack";
    delayMs?: number;
    sequence?: "same" | "wrong" | "zero" | "high";
    times?: number;
    id?: string;
    /** After the answer; `half`: the answer is cut in the middle, and the connection reset. */
    end?: "rst" | "fin" | "unbind" | "half";
    receipt?: Partial<ReceiptScript>;
  };
}

export interface Script {
  bind: {
    kind: "answer" | "none" | "nack";
    status: number;
    /** Binds of these kinds are refused with `refusedWith`. */
    refused: BindName[];
    refusedWith: number;
    /** Empty: anybody may bind. */
    systemId: string;
    password: string;
    /** Bound more often than this is answered 0x05. */
    sessions: number;
    thenFin: boolean;
    /** Sent before the answer. */
    before: Delivery[];
    isOutbound: boolean;
  };
  /** In hexadecimal, said when somebody connects. */
  greeting: string;
  /** Whatever is written goes in pieces of so many octets; 0: whole. */
  pieceOctets: number;
  /** Submits a second; the others are answered 0x58. 0: no limit. */
  ratePerSecond: number;
  ids: IdStyle;
  answerDelayMs: number;
  /** Answers are kept until there are so many, and then sent in the opposite order. */
  reverse: number;
  rules: Rule[];
  enquire: "answer" | "none";
  unbind: "answer_and_close" | "answer" | "none";
  /** The first sequence number of ours on a connection. */
  firstSequence: number;
  receipts: ReceiptScript;
  /** Receipts and texts on their way without an acknowledgement, per connection. */
  maxUnacknowledged: number;
  /** After an acknowledgement of 0x64 it is sent again; any other error drops it. */
  retryMs: number;
}

export const USUAL: Script = {
  bind: {
    kind: "answer",
    status: 0,
    refused: [],
    refusedWith: 0x0d,
    systemId: "",
    password: "",
    sessions: 100,
    thenFin: false,
    before: [],
    isOutbound: false,
  },
  greeting: "",
  pieceOctets: 0,
  ratePerSecond: 0,
  ids: "decimal",
  answerDelayMs: 0,
  reverse: 0,
  rules: [],
  enquire: "answer",
  unbind: "answer_and_close",
  firstSequence: 1,
  receipts: {
    delayMs: 20,
    isBeforeAnswer: false,
    states: ["DELIVRD"],
    gapMs: 20,
    times: 1,
    on: "same",
    via: "deliver_sm",
    text: "standard",
    tlvs: ["receipted_message_id", "message_state"],
    ids: "same",
    err: "000",
    dataCoding: 0,
    esmClass: 0x04,
    parts: "each",
  },
  maxUnacknowledged: 10,
  retryMs: 1_000,
};

export type Change<T> = { [K in keyof T]?: T[K] extends unknown[] ? T[K] : T[K] extends object ? Change<T[K]> : T[K] };

/** `script` with the changes; lists are replaced. */
export function changed<T extends object>(script: T, change: Change<T>): T {
  const result = { ...script } as Record<string, unknown>;
  for (const [key, value] of Object.entries(change)) {
    const before = result[key];
    result[key] = isPlain(before) && isPlain(value) ? changed(before, value) : value;
  }
  return result as T;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
