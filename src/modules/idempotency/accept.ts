// Accepts a send once for each Idempotency-Key: looks the key up, runs the send or replays its answer, and stores it.

import { AppError } from "../../platform/errors.ts";
import type { Context } from "../../platform/context.ts";
import type { WorkspaceCaller } from "../../platform/http/auth.ts";
import type { IdempotencyRequest } from "./key.ts";
import type { IdempotencyScope, IdempotencyStore } from "./store.ts";

/** The body of a 202, and how it came about. */
export interface SendAnswer {
  body: string;
  isReplay: boolean;
  /** Replayed for a request with another body. */
  isMismatch: boolean;
}

export interface SendRequest {
  caller: WorkspaceCaller;
  operation: IdempotencyScope["operation"];
  /** Null: the request has no key. */
  idempotency: IdempotencyRequest | null;
}

export interface AcceptSendDeps extends Pick<Context, "commit" | "clock" | "log"> {
  guard: { readonly blockedReason: string | null };
  idempotency: IdempotencyStore;
  settings: { keepAnswersMs: number };
}

/** What was written: the `data` of its answer, and what follows once it is durable. */
export interface AcceptedSend {
  data: unknown;
  committed: () => void;
}

/** Decides and writes everything, inside the transaction. Throws AppError where it refuses. */
export type WriteSend = (now: number) => AcceptedSend;

/**
 * Accepts a send and stores its answer in the same transaction; resolves once that is durable. `prepare` does what needs
 * no state. Under a key that was used the first answer comes back, before anything else is looked at. Throws AppError:
 * 503 while nothing can be written, 409 where another body came and the client is strict about that.
 */
export async function acceptIdempotently(
  request: SendRequest,
  deps: AcceptSendDeps,
  prepare: () => Promise<WriteSend> | WriteSend,
): Promise<SendAnswer> {
  if (deps.guard.blockedReason !== null) {
    throw new AppError("UNAVAILABLE", "Nothing can be accepted now", {
      hint: "Send the same request again later.",
      retryAfterS: 5,
    });
  }
  const write = await prepare();
  const { committed, ...answer } = await deps.commit(() => replayOrWrite(request, write, deps));
  committed?.();
  if (answer.isMismatch) {
    const fields = { workspace: request.caller.workspaceId, operation: request.operation };
    deps.log.event("idempotency.mismatch", fields, "warn");
  }
  return answer;
}

function replayOrWrite(
  { caller, operation, idempotency }: SendRequest,
  write: WriteSend,
  { clock, settings, ...deps }: AcceptSendDeps,
): SendAnswer & Partial<Pick<AcceptedSend, "committed">> {
  const now = clock.now();
  const { workspaceId, domainId } = caller;
  const scope = { workspaceId, domainId: domainId ?? 0, operation, key: idempotency?.key ?? "" };
  if (idempotency !== null) {
    const stored = deps.idempotency.find(scope, now - settings.keepAnswersMs);
    if (stored !== null) {
      const isMismatch = !stored.requestHash.equals(idempotency.requestHash);
      if (isMismatch && idempotency.isStrict) throw keyReused();
      return { body: stored.response, isReplay: true, isMismatch };
    }
  }
  const { data, committed } = write(now);
  const body = JSON.stringify({ data });
  if (idempotency !== null)
    deps.idempotency.insert(scope, { requestHash: idempotency.requestHash, response: body }, now);
  return { body, isReplay: false, isMismatch: false, committed };
}

function keyReused(): AppError {
  return new AppError("IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for a request with another body", {
    hint: "Use a new key for a new request; leave out Idempotency-Strict to get the first answer again.",
  });
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

/** The headers of a send, for the API docs. */
export const SEND_HEADERS = [
  {
    name: "Idempotency-Key",
    description: "Your own key for this send; a repeated request with it gets the first answer again for 24 hours.",
  },
  { name: "Idempotency-Strict", description: "`true`: the same key with another body is refused with 409." },
];
