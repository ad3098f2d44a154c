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
  const replayed = await replay(request, deps);
  if (replayed !== null) return replayed;
  const write = await prepare();
  const { committed, ...answer } = await deps.commit(() => replayOrWrite(request, write, deps));
  committed?.();
  return tellMismatch(answer, request, deps);
}

/** Null: the key is new. Else nothing is prepared: files would be packed and stored again for nothing. */
async function replay(request: SendRequest, deps: AcceptSendDeps): Promise<SendAnswer | null> {
  if (findAnswer(request, deps.clock.now(), deps) === null) return null;
  // Within a commit, so that the first answer is durable before it is given again.
  const answer = await deps.commit(() => findAnswer(request, deps.clock.now(), deps));
  return answer === null ? null : tellMismatch(answer, request, deps);
}

function tellMismatch(answer: SendAnswer, { caller, operation }: SendRequest, deps: AcceptSendDeps): SendAnswer {
  if (answer.isMismatch) deps.log.event("idempotency.mismatch", { workspace: caller.workspaceId, operation }, "warn");
  return answer;
}

function replayOrWrite(
  request: SendRequest,
  write: WriteSend,
  deps: AcceptSendDeps,
): SendAnswer & Partial<Pick<AcceptedSend, "committed">> {
  const { idempotency } = request;
  const now = deps.clock.now();
  const first = findAnswer(request, now, deps);
  if (first !== null) return first;
  const { data, committed } = write(now);
  const body = JSON.stringify({ data });
  if (idempotency !== null)
    deps.idempotency.insert(
      toScope(request, idempotency),
      { requestHash: idempotency.requestHash, response: body },
      now,
    );
  return { body, isReplay: false, isMismatch: false, committed };
}

/** The first answer under the request's key; null: there is none. Throws AppError 409. */
function findAnswer(request: SendRequest, now: number, deps: AcceptSendDeps): SendAnswer | null {
  const { idempotency } = request;
  if (idempotency === null) return null;
  const stored = deps.idempotency.find(toScope(request, idempotency), now - deps.settings.keepAnswersMs);
  if (stored === null) return null;
  const isMismatch = !stored.requestHash.equals(idempotency.requestHash);
  if (isMismatch && idempotency.isStrict) throw keyReused();
  return { body: stored.response, isReplay: true, isMismatch };
}

function toScope({ caller, operation }: SendRequest, { key }: IdempotencyRequest): IdempotencyScope {
  return { workspaceId: caller.workspaceId, domainId: caller.domainId ?? 0, operation, key };
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
