// What a session is made of, and what it tells.

import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { BindVerdict, Role } from "./bind.ts";
import type { Inbound, Pdu } from "./pdu.ts";
import type { LinkSettings } from "./settings.ts";

/** `out`: from us to the SMSC. */
export type Direction = "out" | "in";

/** What was answered to one of our requests. */
export interface RawAnswer {
  status: number;
  messageId: string;
  /** A generic_nack: the SMSC did not understand the request. */
  isNack: boolean;
  /** The PDU as it came. */
  bytes: Buffer;
}

export interface SessionEnd {
  /** For people. */
  reason: string;
  /** Why the bind was refused, and its status; null when it was not. */
  refused: { verdict: Exclude<BindVerdict, "bound">; status: number } | null;
}

export interface SessionEvents {
  bound(): void;
  /** The peer unbinds, or we do: nothing more may be sent. */
  closing(): void;
  answered(sequence: number, answer: RawAnswer): void;
  received(message: Inbound, acknowledge: (status: number) => void): void;
  drained(): void;
  /** Submits and messages with their answers, both ways, as they are on the wire. */
  seen?(direction: Direction, pdu: Buffer): void;
  /** Asked whenever a timer is set: does what is due at `now`, and says when to be asked again (ms, or Infinity). */
  due(now: number): number;
  closed(end: SessionEnd): void;
}

export interface SessionOptions {
  socket: Socket;
  role: Role;
  settings: LinkSettings;
  clock: Clock;
  log: Log;
  events: SessionEvents;
}

/** The bytes of what says something of a message; null: it only keeps the session. */
export function contentOf(pdu: Pdu): Buffer | null {
  if (pdu.kind === "inbound") return pdu.message.bytes;
  return pdu.kind === "submit_answer" || pdu.kind === "nack" ? pdu.bytes : null;
}

export function answerOf(pdu: Extract<Pdu, { kind: "submit_answer" | "nack" }>): RawAnswer {
  const { status, bytes } = pdu;
  return pdu.kind === "nack"
    ? { status, messageId: "", isNack: true, bytes }
    : { status, messageId: pdu.messageId, isNack: false, bytes };
}
