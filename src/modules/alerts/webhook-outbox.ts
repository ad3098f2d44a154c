// Calls one webhook with what is yet to be told to it. A call has the rows that waited when it was first made, and the
// same id each time it is made again: a receiver that has taken it already can see that. Only one is made at a time.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { newId } from "../../platform/uuid.ts";
import type { AlertStore, PendingRow } from "./store.ts";
import { isOwnTrouble, type Target } from "./targets.ts";
import type { Notice } from "./watch.ts";
import { type CallDeps, callOnce, type SignedBody, writeBody } from "./webhook-call.ts";
import { type AlertItem, writeAlert } from "./words.ts";

export interface WebhookOutboxDeps extends Pick<Context, "commit" | "clock" | "random" | "log">, CallDeps {
  clock: Context["clock"];
  store: AlertStore;
  target: Target;
  hostname: string;
  secret: Uint8Array;
  /** Whether its way is not itself the trouble. */
  isOpen: () => boolean;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Waits after the first failure, the second, …; the last one repeats. */
const RETRY_MS = [
  10 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  60 * MINUTE_MS,
];
/** So many failures in a row are a trouble of their own. */
const FAILURES_TOLD = 3;

export class WebhookOutbox {
  readonly #deps: WebhookOutboxDeps;
  readonly #task: BackgroundTask;
  readonly #stopping = new AbortController();
  /** The call that was taken last: it is not made again where that could not be written, as on a full disk. */
  #taken: string | null = null;
  #failures = 0;
  #failure: string | null = null;
  /** Unix ms of the clock: not before. */
  #retryAt = 0;

  constructor(deps: WebhookOutboxDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    this.#task = new BackgroundTask({ name: "alert webhook", run: (stopping) => this.#run(stopping), clock, log });
  }

  get target(): Target {
    return this.#deps.target;
  }

  /** Why the last call was not taken; null: it was, or none was made. */
  get failure(): string | null {
    return this.#failure;
  }

  /** It fails for so long that others should hear of it. */
  get isBroken(): boolean {
    return this.#failures >= FAILURES_TOLD;
  }

  start(): void {
    this.#task.start();
  }

  /** Something may be there to be told. */
  trigger(): void {
    this.#task.trigger();
  }

  idle(): Promise<void> {
    return this.#task.idle();
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#task.stop();
  }

  async #run(stopping: AbortSignal): Promise<number | null> {
    const { clock, commit, store, target, isOpen } = this.#deps;
    const waitMs = this.#retryAt - clock.now();
    // With a clock that was set back it would wait for as long.
    if (waitMs > 0 && waitMs <= (RETRY_MS.at(-1) ?? 0)) return waitMs;
    if (!isOpen()) return null;
    const call = await this.#prepare();
    if (call === null) return null;
    const isTaken = call.id === this.#taken;
    const failure = isTaken ? null : await callOnce(target.to, call, this.#deps, { stopping, nth: this.#failures });
    if (stopping.aborted && failure !== null) return null;
    if (failure !== null) return this.#fail(failure);
    this.#taken = call.id;
    await commit(() => store.removePending(call.ids));
    this.#failures = 0;
    this.#failure = null;
    this.#retryAt = 0;
    // What came meanwhile.
    return 0;
  }

  newCallId(): string {
    const { clock, random } = this.#deps;
    return newId(clock.now(), random);
  }

  /** Tells what cannot be written down. False: it was not taken. */
  async callUnwritten(uid: string, notices: readonly Notice[]): Promise<boolean> {
    const { target, log } = this.#deps;
    const call = this.#compose(uid, notices);
    const failure = await callOnce(target.to, call, this.#deps, { stopping: this.#stopping.signal, nth: 0 });
    if (failure !== null) log.event("alert.webhook_failed", { host: target.shown, detail: failure }, "warn");
    return failure === null;
  }

  /** The rows of the next call, with its id stored before it is made. */
  async #prepare() {
    const { commit, store, target } = this.#deps;
    const waiting = store.listPending(target.key);
    const own = waiting.filter(({ troubleId, kind }) => isOwnTrouble(target, { id: troubleId, kind }));
    const others = waiting.filter((row) => !own.includes(row));
    // Where nothing else waits, its own trouble is the call that shows whether it works again.
    const due = others.length > 0 ? others : own;
    const [first] = due;
    if (first === undefined) return null;
    const rows = due.filter(({ callUid }) => callUid === first.callUid);
    const ids = rows.map(({ id }) => id);
    const uid = first.callUid ?? this.newCallId();
    if (first.callUid === null) await commit(() => store.setCall(ids, uid));
    // A call that is taken shows that the webhook works: the rows about its own failure go with it.
    return { ...this.#compose(uid, rows.map(toItem)), ids: [...new Set([...ids, ...own.map(({ id }) => id)])] };
  }

  /** The same each time it is made of the same. */
  #compose(uid: string, items: readonly (AlertItem & { id: string })[]): SignedBody {
    const { hostname, secret } = this.#deps;
    const { text } = writeAlert(hostname, items);
    const at = Math.max(...items.map((item) => item.at));
    return { id: uid, body: writeBody({ hostname, items, text, at }), secret };
  }

  #fail(failure: string): number {
    const { clock, log, target } = this.#deps;
    const delayMs = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)] ?? MINUTE_MS;
    this.#failures += 1;
    this.#failure = failure;
    this.#retryAt = clock.now() + delayMs;
    log.event("alert.webhook_failed", { host: target.shown, detail: failure, failures: this.#failures }, "warn");
    return delayMs;
  }
}

/** `id`: of the trouble. */
export function toItem({ troubleId: id, kind, level, what, step, beganAt, at }: PendingRow) {
  return { id, kind, level, what, step, beganAt, at };
}
