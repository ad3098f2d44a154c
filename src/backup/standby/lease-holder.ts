// Takes the lease when it may be had, renews it, and reports its loss.

import type { Clock } from "../../platform/clock.ts";
import { getErrorMessage } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { type FoundLease, HeldLease, type LeaseRecord, LeaseWatch } from "./lease.ts";
import type { LeaseObject } from "./lease-object.ts";

export interface LeaseHolderDeps {
  leaseMs: number;
  object: LeaseObject;
  /** This node, as its records name it. */
  self: Pick<LeaseRecord, "node" | "host" | "keyCheck">;
  /** Of this node's last writes, also by an earlier process: it recognizes its own record by them. */
  nonces: readonly string[];
  /** Called before each write, with the nonces that a next process has to know. */
  remember: (nonces: readonly string[]) => void;
  newNonce: () => string;
  /** Monotonic: never adjusted. */
  steady: Clock;
  clock: Pick<Clock, "now">;
  log: Pick<Log, "event">;
}

type Change = Pick<LeaseRecord, "term" | "lineage" | "isReleased">;

/** How often it is looked at by a candidate; a request takes no longer than from one look to the next. */
export const LOOKS_PER_LEASE = 6;
/** A released lease is taken before the service manager has started its last holder again. */
const MAX_LOOK_MS = 2_000;
const RENEWALS_PER_LEASE = 3;
/** After a renewal that failed. */
const RETRIES_PER_LEASE = 12;
const MAX_NONCES = 50;

export class LeaseHolder {
  readonly #deps: LeaseHolderDeps;
  readonly #watch: LeaseWatch;
  /** The nonce of the last confirmed write, then those of unconfirmed writes. */
  #nonces: readonly string[];
  /** When the writes of this process were sent, by their nonces. */
  readonly #sent = new Map<string, { startedAt: number; wallAt: number }>();
  #held: HeldLease | null = null;
  #cancelRenewal: () => void = () => undefined;
  #cancelEnd: () => void = () => undefined;
  #lost: ((reason: string) => void) | null = null;
  /** Said once while it lasts. */
  #isUnwritten = false;
  /** One write at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: LeaseHolderDeps) {
    this.#deps = deps;
    this.#nonces = deps.nonces;
    this.#watch = new LeaseWatch(deps.leaseMs);
  }

  /** The record as it was last seen by a candidate; null: there is none, or it was not seen yet. */
  get seen(): LeaseRecord | null {
    return this.#watch.found?.record ?? null;
  }

  /** The term that this node has; null: none. */
  get term(): number | null {
    return this.#held?.found.record.term ?? null;
  }

  get isHeld(): boolean {
    const { steady, clock } = this.#deps;
    return this.#held?.isHeld(steady.now(), clock.now()) === true;
  }

  /**
   * Looks once, and takes it when that may be. Returns the record before (null: there was none), or for how long to wait, ms.
   * `mayTake`: whether this node can go on from the record that is there; `isOwn`: it has written it. Rejects when nothing
   * is known.
   */
  async tryToTake(
    mayTake: (seen: LeaseRecord | null, isOwn: boolean) => boolean,
  ): Promise<{ taken: LeaseRecord | null } | { waitMs: number }> {
    const { object, steady, leaseMs } = this.#deps;
    const lookMs = Math.min(leaseMs / LOOKS_PER_LEASE, MAX_LOOK_MS);
    this.#watch.observe(await object.read(), steady.now());
    const { found } = this.#watch;
    const before = found?.record ?? null;
    const mayBe = mayTake(before, before !== null && this.#nonces.includes(before.nonce));
    const waitMs = this.#watch.waitMs(this.#nonces, steady.now());
    if (waitMs > 0 || !mayBe) return { waitMs: Math.min(waitMs || lookMs, lookMs) };
    const isTaken = await this.#write(
      { term: (before?.term ?? 0) + 1, lineage: before?.lineage ?? "", isReleased: false },
      found,
    );
    return isTaken ? { taken: before } : { waitMs: lookMs };
  }

  /** Renews it from now on. `lost` is called once, when nothing may be promised any more. */
  keep(lost: (reason: string) => void): void {
    this.#lost = lost;
    this.#watchEnd();
    this.#renewIn(this.#deps.leaseMs / RENEWALS_PER_LEASE);
  }

  /** Whether what this lineage holds may be promised: the record names it, and the lease is held still. */
  async confirm(lineage: string): Promise<boolean> {
    if (this.#held === null) return false;
    const isNamed = this.#held.found.record.lineage === lineage || (await this.#renew({ lineage }).catch(() => false));
    return isNamed && this.isHeld;
  }

  /** Gives it up: another may take it at once. All that was promised must be in its lineage. */
  async release(): Promise<void> {
    this.end();
    await this.#renew({ isReleased: true });
  }

  /** Renews it no more. */
  end(): void {
    this.#cancelRenewal();
    this.#cancelEnd();
    this.#lost = null;
  }

  #renewIn(ms: number): void {
    const { steady, leaseMs, log } = this.#deps;
    this.#cancelRenewal();
    this.#cancelRenewal = steady.after(ms, () => {
      this.#renew({}).then(
        (isOurs) => {
          if (isOurs) this.#renewIn(leaseMs / RENEWALS_PER_LEASE);
          else this.#lose("another machine has taken the lease");
        },
        (error: unknown) => {
          log.event("standby.not_renewed", { reason: getErrorMessage(error) }, "warn");
          if (this.#lost !== null) this.#renewIn(leaseMs / RETRIES_PER_LEASE);
        },
      );
    });
  }

  #watchEnd(): void {
    if (this.#lost === null || this.#held === null) return;
    const { steady, leaseMs } = this.#deps;
    this.#cancelEnd();
    this.#cancelEnd = steady.after(Math.max(1, Math.ceil(this.#held.until - steady.now())), () => {
      // A timer may be early by less than a millisecond.
      if (this.isHeld) this.#watchEnd();
      else this.#lose(`the lease of ${leaseMs / 1_000} s could not be renewed in time`);
    });
  }

  #lose(reason: string): void {
    const lost = this.#lost;
    this.end();
    this.#held = null;
    lost?.(reason);
  }

  /** False: it is another's. Rejects when nothing is known. */
  #renew(change: Partial<Change>): Promise<boolean> {
    const done = this.#turn.then(async () => {
      for (;;) {
        if (this.#held === null) return false;
        const { found } = this.#held;
        const { term, lineage, isReleased } = found.record;
        if (await this.#write({ term, lineage, isReleased, ...change }, found)) return true;
        const now = await this.#deps.object.read();
        // Two writes at the same moment, of which the service took none.
        if (now?.etag === found.etag) throw new Error("the service has not decided between two writes");
        // A write before this one may have arrived, though its answer did not.
        if (!this.#adopt(now)) return false;
      }
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** False: there is another version than the one that is replaced. */
  async #write(change: Change, over: FoundLease | null): Promise<boolean> {
    const { object, self, newNonce, remember, steady, clock, log } = this.#deps;
    const record: LeaseRecord = { ...self, ...change, nonce: newNonce() };
    this.#nonces = [...this.#nonces, record.nonce].slice(-MAX_NONCES);
    try {
      remember(this.#nonces);
      this.#isUnwritten = false;
    } catch (error) {
      // A full disk, for example: a next process then waits for the lease to end, as another machine does.
      if (!this.#isUnwritten) log.event("standby.unwritten", { reason: getErrorMessage(error) }, "warn");
      this.#isUnwritten = true;
    }
    const sent = { startedAt: steady.now(), wallAt: clock.now() };
    this.#sent.set(record.nonce, sent);
    const written = await object.write(record, over?.etag ?? null);
    if (written.kind === "conflict") return false;
    this.#hold({ etag: written.etag, record }, sent);
    return true;
  }

  /** Whether what was found is this process's own. */
  #adopt(found: FoundLease | null): boolean {
    const sent = found === null ? undefined : this.#sent.get(found.record.nonce);
    if (found === null || sent === undefined || found.etag === this.#held?.found.etag) return false;
    this.#hold(found, sent);
    return true;
  }

  #hold(found: FoundLease, { startedAt, wallAt }: { startedAt: number; wallAt: number }): void {
    const { leaseMs } = this.#deps;
    this.#nonces = [found.record.nonce];
    for (const nonce of this.#sent.keys()) if (nonce !== found.record.nonce) this.#sent.delete(nonce);
    if (this.#held === null) this.#held = new HeldLease(leaseMs, found, startedAt, wallAt);
    else this.#held.renewed(found, startedAt, wallAt);
    this.#watchEnd();
  }
}
