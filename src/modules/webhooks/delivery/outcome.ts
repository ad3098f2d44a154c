// Classifies the answer of a call. 2xx is success; everything else is retried by the schedule, but for 410, by which a
// receiver says that it wants no more: that turns the webhook off. So do five days of nothing but failures.

import type { CallResult } from "./call.ts";
import type { WebhookHealth, WebhookRow } from "../store.ts";

/** Waits after the first attempt, the second, …; after the last the event is given up for this webhook. */
export const RETRY_MS = [5_000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000, 10 * 3_600_000];
const MAX_ATTEMPTS = RETRY_MS.length + 1;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
const GIVE_UP_AFTER_MS = 5 * 24 * 3_600_000;
/** Longer than the longest wait between two attempts. */
const FORGOTTEN_MS = 2 * 24 * 3_600_000;
const MAX_MESSAGE = 500;

export interface Outcome {
  isDelivered: boolean;
  status: number | null;
  /** Null: it was delivered. */
  message: string | null;
  /** The beginning of the answer's body; null: there was no answer. */
  body: string | null;
  /** Null: as the schedule says. */
  retryAt: number | null;
  /** Nothing comes after this attempt. */
  isLast: boolean;
  /** The receiver wants no more of anything. */
  isGone: boolean;
}

/** `attempt` is 1, 2, …; it ended at `now`. */
export function classify(result: CallResult, attempt: number, now: number): Outcome {
  const isLast = attempt >= MAX_ATTEMPTS;
  const failure = { isDelivered: false, retryAt: null, isLast, isGone: false };
  if (result.kind === "broken")
    return { ...failure, status: null, message: result.reason.slice(0, MAX_MESSAGE), body: null };
  const { status, text, body } = result;
  if (status >= 200 && status < 300)
    return { ...failure, isDelivered: true, isLast: true, status, message: null, body };
  const isGone = status === 410;
  const words = status >= 300 && status < 400 ? "a redirect, which is not followed" : text;
  const message = `answered ${status}${words === "" ? "" : `: ${words}`}`.slice(0, MAX_MESSAGE);
  const asked = parseRetryAfter(result.retryAfter, now);
  // It may only lengthen the wait: a second, eight times, would use up all attempts at once.
  const planned = RETRY_MS[attempt - 1] ?? 0;
  const retryAt = asked !== null && asked - now > planned ? asked : null;
  return { ...failure, status, message, body, retryAt, isLast: isLast || isGone, isGone };
}

/** The message without the text of the receiver's answer, which may repeat the event. */
export function eraseAnswer({ status, message }: Pick<Outcome, "status" | "message">): string | null {
  return status === null || message === null ? message : `answered ${status}`;
}

/** The webhook's columns after this outcome. */
export function computeHealth(webhook: WebhookRow, outcome: Outcome, now: number): WebhookHealth {
  const { isEnabled, disabledReason, lastDeliveryAt, lastFailureAt, lastFailureReason } = webhook;
  if (outcome.isDelivered) {
    return { isEnabled, disabledReason, lastDeliveryAt: now, lastFailureAt, lastFailureReason, failingSince: null };
  }
  // A failure of last month, and no call since, are not five days of failures.
  const isFresh = lastFailureAt !== null && now - lastFailureAt < FORGOTTEN_MS;
  const failingSince = isFresh ? (webhook.failingSince ?? now) : now;
  const off = isEnabled ? findReasonToDisable(outcome, now - failingSince) : null;
  return {
    lastDeliveryAt,
    lastFailureAt: now,
    lastFailureReason: outcome.message,
    failingSince,
    isEnabled: isEnabled && off === null,
    disabledReason: off ?? disabledReason,
  };
}

function findReasonToDisable(outcome: Outcome, failingMs: number): string | null {
  if (outcome.isGone) return "The receiver answered 410 Gone";
  return failingMs >= GIVE_UP_AFTER_MS ? "Nothing but failures for 5 days" : null;
}

/** RFC 9110 §10.2.3: seconds or a date; at most a day. Null: it cannot be followed. */
function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1_000 : Date.parse(text);
  if (!Number.isFinite(at) || at <= now) return null;
  return Math.min(at, now + MAX_RETRY_AFTER_MS);
}
