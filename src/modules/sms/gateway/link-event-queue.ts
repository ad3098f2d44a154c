import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { DispatchTarget } from "./dispatch.ts";
import type { Submission } from "./submission.ts";
import type { FailedSmsWrites } from "../queue/failed-writes.ts";

// All that comes from the links goes to the database through one line, in the order in which it came: an answer
// before its receipt. What comes while a transaction is written shares the next. While nothing can be written,
// what came from outside is refused, so that it comes again; what is our own to remember waits in its place. What a
// bug keeps from being written holds up nothing: of a segment it is said instead that nobody knows what became of it.

const MAX_ITEMS = 200;
/** Where the guard was not told of the trouble. */
const RETRY_MS = 1_000;
/** Items that wait: above the first number nothing more is read from the links, below the second it is again. */
const TOO_MANY = 2_000;
const FEW_AGAIN = 500;

export interface QueuedLinkEvent {
  /** The link of which `done` gives a place back, if it does. */
  frees?: (() => DispatchTarget | null) | undefined;
  /** Inside the transaction. It may be called again, when that failed. */
  write(): void;
  /** It is durable; called again where what could not be written is, later. */
  done?(): void;
  /** What it tells of. */
  flight?: Pick<Submission, "messageId" | "seqs"> | undefined;
  /** Inside a transaction: where `write` has a bug, nobody knows what became of the flight. */
  doubt?(): void;
  /** It could not be written and is not kept: the peer has it still. Absent: it is kept until it can be. */
  refuse?(): void;
}

export interface LinkEventQueueDeps {
  commit: Commit;
  guard: { failure: string | null; whenOpen(run: () => void): () => void };
  clock: Clock;
  log: Log;
  unwritten: Pick<FailedSmsWrites, "tellBug" | "keepSegment">;
  /** Whether more may be read. */
  pressed: (isPressed: boolean) => void;
  /** Inside a transaction that frees places of links, by their number; its result is called after the commit. */
  freeing: (freed: ReadonlyMap<DispatchTarget, number>) => () => void;
}

export class LinkEventQueue {
  readonly #deps: LinkEventQueueDeps;
  readonly #forget: () => void;
  #items: QueuedLinkEvent[] = [];
  #isFlushing = false;
  #isPressed = false;
  #cancel: (() => void) | null = null;
  readonly #idle: (() => void)[] = [];

  constructor(deps: LinkEventQueueDeps) {
    this.#deps = deps;
    this.#forget = deps.guard.whenOpen(() => this.#soon(0));
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: QueuedLinkEvent): void {
    if (item.refuse !== undefined && this.#deps.guard.failure !== null) return item.refuse();
    this.#items.push(item);
    this.#press();
    // While one is written others gather; what could not be written is tried again in its time.
    if (this.#cancel === null) this.#soon(0);
  }

  /** Resolves when nothing waits any more, or nothing can be written. */
  idle(): Promise<void> {
    if (this.#items.length === 0 && !this.#isFlushing) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  stop(): void {
    this.#forget();
    this.#cancel?.();
  }

  #soon(inMs: number): void {
    if (this.#isFlushing || this.#items.length === 0) return;
    if (inMs === 0) {
      this.#cancel?.();
      this.#cancel = null;
      return void this.#flush();
    }
    this.#cancel ??= this.#deps.clock.after(inMs, () => {
      this.#cancel = null;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    let taken: QueuedLinkEvent[] = [];
    let wait = 0;
    let follow = () => {};
    try {
      // What comes before the transaction begins is in it.
      await this.#deps.commit(() => {
        taken = this.#items.slice(0, MAX_ITEMS);
        for (const item of taken) item.write();
        follow = this.#deps.freeing(placesOf(taken));
      });
      this.#items.splice(0, taken.length);
      for (const item of taken) this.#tell(item);
      this.#try(follow);
    } catch (error) {
      if (isStorageError(error)) {
        this.#refuse();
        wait = RETRY_MS;
      } else await this.#writeApart(taken);
    }
    this.#isFlushing = false;
    this.#press();
    if (this.#items.length > 0) this.#soon(wait);
    if (this.#items.length === 0 || wait === RETRY_MS) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** One of them is wrong: each goes alone, and what fails is a bug. */
  async #writeApart(items: QueuedLinkEvent[]): Promise<void> {
    for (const item of items) {
      try {
        await this.#deps.commit(() => item.write());
      } catch (error) {
        // The others come again in their order.
        if (isStorageError(error)) return this.#refuse();
        this.#items.splice(this.#items.indexOf(item), 1);
        await this.#giveUp(item, error);
        continue;
      }
      this.#items.splice(this.#items.indexOf(item), 1);
      this.#tell(item);
    }
  }

  /** What it tells cannot be written. Its place is given back all the same. */
  async #giveUp(item: QueuedLinkEvent, bug: unknown): Promise<void> {
    const { log, unwritten, commit } = this.#deps;
    const { messageId, seqs: [seq] = [] } = item.flight ?? {};
    if (messageId === undefined || seq === undefined) log.error("sms writer", bug);
    else {
      const segment = { messageId, seq };
      unwritten.tellBug("sms writer", bug, segment);
      const doubt = () => commit(() => item.doubt?.());
      await doubt().catch(() => {
        unwritten.keepSegment(segment, async () => {
          await commit(() => item.write()).catch(doubt);
          item.done?.();
        });
      });
    }
    if (item.refuse === undefined) this.#tell(item);
    else item.refuse();
  }

  #tell(item: QueuedLinkEvent): void {
    this.#try(() => item.done?.());
  }

  /** What fails after the commit must not be written again. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#deps.log.error("sms writer", error);
    }
  }

  /** The peer sends these again. */
  #refuse(): void {
    const kept: QueuedLinkEvent[] = [];
    for (const item of this.#items) {
      if (item.refuse === undefined) kept.push(item);
      else item.refuse();
    }
    this.#items = kept;
  }

  #press(): void {
    const isPressed = this.#items.length > (this.#isPressed ? FEW_AGAIN : TOO_MANY);
    if (isPressed === this.#isPressed) return;
    this.#isPressed = isPressed;
    this.#deps.pressed(isPressed);
  }
}

function placesOf(items: QueuedLinkEvent[]): Map<DispatchTarget, number> {
  const freed = new Map<DispatchTarget, number>();
  for (const { frees } of items) {
    const outlet = frees?.() ?? null;
    if (outlet !== null) freed.set(outlet, (freed.get(outlet) ?? 0) + 1);
  }
  return freed;
}
