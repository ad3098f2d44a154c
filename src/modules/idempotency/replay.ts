import { AppError } from "../../platform/errors.ts";
import type { IdempotencyRequest } from "./key.ts";
import type { IdempotencyScope, IdempotencyStore } from "./store.ts";

/** The body of a 202, and how it came about. */
export interface SendAnswer {
  body: string;
  isReplay: boolean;
  /** Replayed for a request with another body. */
  isMismatch: boolean;
}

/**
 * The answer first given under the request's key, inside the accepting transaction and before all else; null when
 * there is none or the request has no key. Throws 409 where another body came and the client is strict about that.
 */
export function replayOf(
  request: { scope: Omit<IdempotencyScope, "key">; idempotency: IdempotencyRequest | null },
  notBefore: number,
  store: IdempotencyStore,
): SendAnswer | null {
  const { scope, idempotency } = request;
  if (idempotency === null) return null;
  const stored = store.find({ ...scope, key: idempotency.key }, notBefore);
  if (stored === null) return null;
  const isMismatch = !stored.requestHash.equals(idempotency.requestHash);
  if (isMismatch && idempotency.isStrict) {
    throw new AppError("IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for a request with another body", {
      hint: "Use a new key for a new request; leave out Idempotency-Strict to get the first answer again.",
    });
  }
  return { body: stored.response, isReplay: true, isMismatch };
}

/** The 202 of a send. The stored body goes out as it is: a replay is the first answer byte for byte. */
export function answerSend({ body, isReplay, isMismatch }: SendAnswer, set: Answering): string {
  set.status = 202;
  set.headers["content-type"] = "application/json";
  if (isReplay) set.headers["idempotent-replayed"] = "true";
  if (isMismatch) set.headers["idempotency-mismatch"] = "true";
  return body;
}

interface Answering {
  status?: number | string;
  headers: Record<string, string | number>;
}

/** What a send's headers mean, for the API docs. */
export const SEND_HEADERS = [
  {
    name: "Idempotency-Key",
    description: "A key of your own for this send; with the same key the first answer is replayed for 24 hours.",
  },
  { name: "Idempotency-Strict", description: "`true`: the same key with another body is refused with 409." },
];
