// The options of a session and the events that it emits.

import type { Socket } from "node:net";
import type { BindVerdict, Role } from "./bind.ts";
import type { Inbound, Pdu } from "../pdu/pdu.ts";
import type { LinkContext } from "../settings.ts";

/** `out`: from us to the SMSC. */
export type Direction = "out" | "in";

export interface RawResponse {
  /** command_status of the submit_sm_resp or generic_nack. */
  status: number;
  /** May be empty: then no receipt will be possible. */
  messageId: string;
  /** A generic_nack: the SMSC did not understand the request. */
  isNack: boolean;
  /** The PDU as it came. */
  bytes: Buffer;
}

export interface SessionEnd {
  reason: string;
  /** Why the bind was refused, and its status; null when it was not. */
  refused: { verdict: Exclude<BindVerdict, "bound">; status: number } | null;
}

/** Where a message came from: which connection, and its number there. */
export interface Origin {
  /** The same object for all of one connection; times in ms of the link's clock, null: it is there still. */
  session: { readonly beganAt: number; readonly endedAt: number | null };
  sequence: number;
}

export interface SessionEvents {
  bound(): void;
  /** The peer unbinds, or we do: nothing more may be sent. */
  closing(): void;
  responded(sequence: number, answer: RawResponse): void;
  received(message: Inbound, acknowledge: (status: number) => void, origin: Origin): void;
  drained(): void;
  /** Submits and messages with their answers, both ways, as they are on the wire. */
  seen?(direction: Direction, pdu: Buffer): void;
  /** Asked whenever a timer is set: when `due` is to be called next (ms, or Infinity). */
  deadline(): number;
  /** Does what is due at `now`; only ever after what has come was read. */
  due(now: number): void;
  closed(end: SessionEnd): void;
}

export interface SessionOptions extends Pick<LinkContext, "settings" | "clock" | "log"> {
  /** It is connected. */
  socket: Socket;
  role: Role;
  events: SessionEvents;
}

/** The bytes of what says something of a message; null: it only keeps the session. */
export function getContent(pdu: Pdu): Buffer | null {
  if (pdu.kind === "inbound") return pdu.message.bytes;
  return pdu.kind === "submit_response" || pdu.kind === "nack" || pdu.kind === "truncated" ? pdu.bytes : null;
}

export function toRawResponse(pdu: Extract<Pdu, { kind: "submit_response" | "nack" }>): RawResponse {
  const { kind, status, bytes } = pdu;
  return { status, messageId: kind === "nack" ? "" : pdu.messageId, isNack: kind === "nack", bytes };
}
