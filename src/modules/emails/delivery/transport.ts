// The ways an email can leave: straight to the recipient's servers (direct-transport.ts) or by a relay
// (relay-transport.ts). Which one an email takes is decided in email-delivery.ts and nowhere else.

import type { EmailJob, EmailState } from "../queue/store.ts";
import type { AttemptContext } from "../../../platform/queue/handler.ts";
import type { Category, Verdict } from "../../../protocols/smtp/replies/classify.ts";
import type { Stage } from "../../../protocols/smtp/replies/stage.ts";
import type { Mail, Transmission } from "../../../protocols/smtp/transmit.ts";
import type { Composed } from "../content/compose.ts";
import type { RunningAttempt } from "./running-attempts.ts";

export interface Transport {
  /** To the recipient's own servers: what these accept is delivered, and what they refuse is said of the recipient. */
  readonly isDirect: boolean;
  /** The destination of the lane for mail to this domain: a lane leads to one site, and is held when that one is. */
  siteFor(recipientDomain: string): string;
  /** Makes one attempt. Rejects only for an internal error. */
  deliver(message: OutgoingMessage, hooks: DeliveryHooks): Promise<DeliveryResult>;
}

/** The transport for the mail of a sending domain (lower-case A-label). */
export type FindTransport = (senderDomain: string) => Transport;

export interface OutgoingMessage {
  workspaceId: number;
  envelope: { from: string; to: string };
  recipientDomain: string;
  header: Mail["header"];
  /** Of its html and text, for the memory it takes. */
  contentBytes: number;
  attempt: EmailJob["attempt"];
  badDomainAt: EmailState["badDomainAt"];
}

export interface DeliveryHooks extends AttemptContext {
  running: RunningAttempt;
  /** The dialogue is kept although the message is accepted. */
  keepsDialogue: boolean;
  /** The bytes of the message; called once its hosts are known and there is memory for it. */
  compose(): Promise<Composed>;
  /** After a long wait: why the email must not go any more; null when it may. */
  refuse(): Refusal | null;
}

/** It must not be sent at all: over without a connection. */
export interface Refusal {
  kind: "refused";
  status: "failed" | "suppressed" | "canceled";
  category: Category;
  reason: string;
}

/** A failure before a connection: DNS, signing, a suspended domain. */
export interface TemporaryFailure {
  kind: "temporary_failure";
  reason: string;
  stage: Stage | null;
  category: Category;
  badDomainAt: number | null;
}

/** The recipient's domain takes no mail, which DNS has confirmed. */
export interface BadDomain {
  kind: "bad_domain";
  reason: string;
  enhancedCode: string;
}

/** A connection was made or tried. */
export interface Transmitted {
  kind: "transmitted";
  isDirect: boolean;
  transmission: Transmission;
  /** Null: the message was accepted. */
  failure: TransmissionFailure | null;
  /** pombo ended the connection itself, at a stop: a lost answer is then no fault of the server's, and not counted. */
  isCutOff: boolean;
  site: string;
  /** The name of the [[egress]] that it left by; null: none. */
  egress: string | null;
  /** Unix ms. */
  endedAt: number;
  envelopeAcceptedAt: number | null;
}

/** Why a message was not accepted, and what follows. */
export interface TransmissionFailure {
  verdict: Verdict;
  /** For people. */
  reason: string;
  /** Some server that stands for the destination answered. */
  isReached: boolean;
}

export type DeliveryResult =
  /** Stopped or blocked before anything was begun; not to be begun before `at`. */
  { kind: "not_started"; at?: number } | Refusal | TemporaryFailure | BadDomain | Transmitted;
