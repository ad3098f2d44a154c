// Rows that a sweep cannot handle because of an internal error: skipped for a minute at a time, so that the others are handled.

import type { Context } from "../context.ts";
import type { HealthIssue } from "../health-issue.ts";
import { isStorageError } from "./storage-error.ts";

/** Handled in one transaction. */
const BATCH = 500;
const AGAIN_MS = 60_000;
/** A row that has not failed for so long is gone, or well again. */
const FORGET_MS = 3_600_000;
/** Beyond this number the error is not one of single rows: the sweep waits behind them. */
const MAX_SKIPPED = 5_000;

export interface SkippedRowsDeps extends Pick<Context, "commit" | "clock" | "log"> {
  component: HealthIssue["component"];
}

/** Rows that are found again for as long as nothing was done with them. */
export interface Sweep<T> {
  /** For the log. */
  where: string;
  /** Inside a transaction: the first ones, those that are skipped among them. */
  find: (limit: number) => T[];
  /** Inside a transaction, by itself or with others. */
  act: (row: T) => void;
  /** Its name in the log; unique among the rows of `where`. */
  getKey: (row: T) => string | number;
}

export class SkippedRows {
  readonly #deps: SkippedRowsDeps;
  readonly #failures = new Map<string, { since: number; failedAt: number }>();

  constructor(deps: SkippedRowsDeps) {
    this.#deps = deps;
  }

  /** Handles up to 500 rows in one transaction, after an internal error each in its own. Resolves with their number, rejects with StorageError. */
  async run<T>({ where, find, act, getKey }: Sweep<T>): Promise<number> {
    const { commit } = this.#deps;
    const toKey = (row: T) => `${where} ${getKey(row)}`;
    const findOpen = () => {
      const found = find(BATCH + Math.min(this.#failures.size, MAX_SKIPPED));
      return found.filter((row) => !this.#isSkipped(toKey(row))).slice(0, BATCH);
    };
    try {
      return await commit(() => {
        const found = findOpen();
        for (const row of found) act(row);
        return found.length;
      });
    } catch (error) {
      if (isStorageError(error)) throw error;
    }
    const found = await commit(findOpen);
    await Promise.all(found.map((row) => this.try(where, getKey(row), () => act(row))));
    return found.length;
  }

  /** Handles one row in its own transaction; false: it is skipped. Rejects with StorageError. */
  async try(where: string, key: string | number, act: () => void): Promise<boolean> {
    const { commit, clock, log } = this.#deps;
    const name = `${where} ${key}`;
    try {
      await commit(act);
      this.#failures.delete(name);
      return true;
    } catch (error) {
      if (isStorageError(error)) throw error;
      const now = clock.now();
      const since = this.#failures.get(name)?.since;
      if (since === undefined) log.error(where, error, { row: key });
      this.#failures.set(name, { since: since ?? now, failedAt: now });
      return false;
    }
  }

  get issue(): HealthIssue | null {
    this.#forget();
    const [first] = this.#failures;
    if (first === undefined) return null;
    const { component } = this.#deps;
    const { size } = this.#failures;
    const rows = size === 1 ? "one row" : `${size} rows`;
    const reason =
      `Because of an internal error pombo cannot handle ${rows} of its database (the first: ${first[0]}; see "internal_error" in ` +
      "the log). They are left as they are and tried again; all others are handled. If that does not end, it needs another version: pombo update.";
    return { component, kind: "skipped", reason, since: first[1].since, isAdvisory: true };
  }

  #isSkipped(name: string): boolean {
    const failure = this.#failures.get(name);
    const waitedMs = this.#deps.clock.now() - (failure?.failedAt ?? 0);
    // Below 0: the clock was set back.
    return failure !== undefined && waitedMs >= 0 && waitedMs < AGAIN_MS;
  }

  #forget(): void {
    const before = this.#deps.clock.now() - FORGET_MS;
    for (const [name, { failedAt }] of this.#failures) if (failedAt < before) this.#failures.delete(name);
  }
}
