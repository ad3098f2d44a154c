// Looks for damaged pages of the database, on a thread of its own.

import type { Context } from "../../context.ts";
import { AppError, getErrorMessage } from "../../errors.ts";
import { type OpenThread, ThreadClient } from "../../worker-threads/worker-thread.ts";
import type { HealthIssue } from "../../health-issue.ts";

// Delivery goes on with a damaged database: what can be read is right, and a damaged page stops only what needs it.

/** For a large database on a slow disk. */
const SILENCE_MS = 3_600_000;

/** What the operator does about a damaged database. */
export function describeRemedy(dataDir: string): string {
  return (
    `Keep ${dataDir} as it is under another name, and bring the database back into an empty one: from the replica with ` +
    "pombo restore --from URL --key-file FILE (the recovery key, or instance.key of the kept folder), or from a backup " +
    "(see Backup and restore in the documentation). For what neither has, try sqlite3's .recover on the kept pombo.db. See whether the disk fails " +
    "(journalctl -k, smartctl)."
  );
}

/** What SQLite says about each damaged table of a file; empty: it is whole. Rejects when it is broken off. */
export async function findDamageOnThread(
  databaseFile: string,
  openThread: OpenThread,
  signal?: AbortSignal,
): Promise<string[]> {
  const line = new ThreadClient<{ databaseFile: string }, string[]>({
    open: openThread,
    report: () => undefined,
    silenceMs: SILENCE_MS,
  });
  const close = () => line.close();
  signal?.addEventListener("abort", close);
  try {
    return await line.call({ databaseFile });
  } finally {
    signal?.removeEventListener("abort", close);
    line.close();
  }
}

export interface PageCheckDeps extends Pick<Context, "clock" | "log"> {
  dataDir: string;
  databaseFile: string;
  openThread: OpenThread;
}

/** The check that `pombo status --check` asks for. Damage stays a health issue until a later check finds none. */
export class PageCheck {
  readonly #deps: PageCheckDeps;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #found: { words: string; at: number } | null = null;

  constructor(deps: PageCheckDeps) {
    this.#deps = deps;
  }

  /** Rejects with UNAVAILABLE when the pages could not be read. */
  check(): Promise<void> {
    return (this.#running ??= this.#check().finally(() => (this.#running = null)));
  }

  stop(): void {
    this.#stopping.abort();
  }

  get issue(): HealthIssue | null {
    if (this.#found === null) return null;
    const { words, at } = this.#found;
    const reason = `Pages of the database are damaged (${words}). What can be read goes on. ${describeRemedy(this.#deps.dataDir)}`;
    return { component: "database", kind: "pages", reason, since: at, isAdvisory: true };
  }

  async #check(): Promise<void> {
    const { databaseFile, openThread, clock, log } = this.#deps;
    const startedAt = clock.now();
    const found = await findDamageOnThread(databaseFile, openThread, this.#stopping.signal).catch((error: unknown) => {
      throw new AppError("UNAVAILABLE", `The pages of the database could not be read: ${getErrorMessage(error)}`, {
        hint: "It says nothing of them. Ask again, and see whether pombo has files and memory left.",
      });
    });
    this.#found = found.length === 0 ? null : { words: found.join("; "), at: clock.now() };
    const ms = Math.max(0, clock.now() - startedAt);
    if (this.#found === null) log.event("database.checked", { ms });
    else log.event("database.damaged", { ms, words: this.#found.words }, "warn");
  }
}
