// Calls one webhook with what is yet to be told to it. A call has the rows that waited when it was first made, and the
// same id each time it is made again: a receiver that has taken it already can see that. Only one is made at a time.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { newId } from "../../platform/uuid.ts";
import type { AlertStore, PendingRow } from "./store.ts";
import type { Target } from "./targets.ts";
import type { Notice } from "./watch.ts";
import { type CallDeps, callOnce, writeBody } from "./webhook-call.ts";
import { writeAlert } from "./words.ts";

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

  /** Tells what cannot be written down. False: it was not taken. */
  async callUnwritten(notices: readonly Notice[]): Promise<boolean> {
    const { clock, random, hostname, secret, target, log } = this.#deps;
    const { text } = writeAlert(hostname, notices);
    const at = clock.now();
    const call = { id: newId(at, random), body: writeBody({ hostname, items: notices, text, at }), secret };
    const failure = await callOnce(target.to, call, this.#deps, { stopping: this.#stopping.signal, nth: 0 });
    if (failure !== null) log.event("alert.webhook_failed", { host: target.shown, detail: failure }, "warn");
    return failure === null;
  }

  /** The rows of the next call, with its id stored before it is made. */
  async #prepare() {
    const { clock, random, commit, store, target, hostname, secret } = this.#deps;
    const waiting = store.listPending(target.key);
    const [first] = waiting;
    if (first === undefined) return null;
    const rows = waiting.filter(({ callUid }) => callUid === first.callUid);
    const ids = rows.map(({ id }) => id);
    const uid = first.callUid ?? newId(clock.now(), random);
    if (first.callUid === null) await commit(() => store.setCall(ids, uid));
    const items = rows.map(toItem);
    const { text } = writeAlert(hostname, items);
    const at = Math.max(...rows.map((row) => row.at));
    return { id: uid, ids, body: writeBody({ hostname, items, text, at }), secret };
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
