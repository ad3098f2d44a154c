// Records the requests of programs: in memory, and once a second into the database.
//
// A row a request would cost the API more than the log is worth, so a second has room for so many: of a workspace for more
// than the default rate limits let through, and those that failed have a room of their own. What comes beyond that is
// not kept. What a person asks by a session is not kept either: the audit has what they changed, and a page that
// shows the log would fill it. kill -9 loses the last second, and a full disk what comes meanwhile; no request waits
// for the log or fails by it.

import type { Context } from "../../platform/context.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { AppError } from "../../platform/errors.ts";
import { findKeyCaller } from "../../platform/http/auth.ts";
import { maskPath, maskWords } from "./path.ts";
import type { NewRequest, RequestStore } from "./store.ts";

const WRITE_EVERY_MS = 1_000;
/** Requests that one second has room for, and again as many that failed. */
const MAX_OF_WORKSPACE = 200;
const MAX_OF_ALL = 1_000;

export interface RecorderDeps extends Pick<Context, "commit" | "clock" | "log"> {
  requests: Pick<RequestStore, "write">;
  guard: Pick<DiskGuard, "blockedReason">;
}

/** Requests since the last write, by workspace; those that failed under the negative key. */
class Room {
  readonly #taken = new Map<number, number>();
  #ofSucceeded = 0;
  #ofFailed = 0;

  /** Whether there is room for one more, which is taken then. */
  take(workspaceId: number, isFailed: boolean): boolean {
    if ((isFailed ? this.#ofFailed : this.#ofSucceeded) >= MAX_OF_ALL) return false;
    const key = isFailed ? -workspaceId : workspaceId;
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= MAX_OF_WORKSPACE) return false;
    this.#taken.set(key, taken + 1);
    if (isFailed) this.#ofFailed += 1;
    else this.#ofSucceeded += 1;
    return true;
  }
}

export class RequestRecorder {
  readonly #deps: RecorderDeps;
  /** Of requests that are not answered yet. */
  readonly #errors = new WeakMap<Request, AppError>();
  #pending: NewRequest[] = [];
  #room = new Room();
  #cancel: (() => void) | null = null;
  #writing: Promise<void> | null = null;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /** The request is about to be answered with this error. */
  refused(request: Request, error: AppError): void {
    if (findKeyCaller(request) !== null) this.#errors.set(request, error);
  }

  /** The request was answered. On the way of every request: what costs something is done for those that are kept. */
  answered({ status, headers }: Response, durationMs: number, request: Request): void {
    const caller = findKeyCaller(request);
    if (caller === null || !this.#room.take(caller.workspaceId, status >= 400)) return;
    const ms = Math.ceil(durationMs);
    this.#pending.push({
      uid: headers.get("x-request-id") ?? "",
      workspaceId: caller.workspaceId,
      keyId: caller.keyId,
      method: request.method,
      path: maskPath(request.url),
      status,
      ms,
      error: writeError(this.#errors.get(request)),
      createdAt: this.#deps.clock.now() - ms,
    });
    this.#cancel ??= this.#deps.clock.after(WRITE_EVERY_MS, () => void this.#write());
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  /** Never rejects. While the disk is slow the room stays as it is: what waits is bounded. */
  #write(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#pending.length === 0) return Promise.resolve();
    if (this.#writing !== null) {
      this.#cancel = this.#deps.clock.after(WRITE_EVERY_MS, () => void this.#write());
      return this.#writing;
    }
    const rows = this.#pending;
    this.#pending = [];
    this.#room = new Room();
    const { commit, guard, log, requests } = this.#deps;
    if (guard.blockedReason !== null) return Promise.resolve();
    this.#writing = commit(() => requests.write(rows))
      .catch((error: unknown) => {
        if (!isStorageError(error)) log.error("requests", error);
      })
      .finally(() => (this.#writing = null));
    return this.#writing;
  }
}

/** The first error of the answer, as far as it may be kept. */
function writeError(error: AppError | undefined): string | null {
  if (error === undefined) return null;
  const { code, message, field, path, hint } = {
    ...error,
    code: error.code,
    message: error.message,
    ...error.items?.[0],
  };
  return JSON.stringify({
    code,
    message: maskWords(message),
    field: maskWords(path ?? field ?? "") || null,
    hint: hint === undefined ? null : maskWords(hint),
  });
}
