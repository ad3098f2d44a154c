import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";

// Whether the replica can be restored is only known by restoring it. The last drill stands in a file of the data
// directory: a command makes one as well as the instance does, and neither needs the other's database for it.

export interface Drill {
  /** Unix ms. */
  at: number;
  outcome: "good" | "bad" | "skipped";
  /** A sentence: what was found, or why not. */
  words: string;
  tookMs: number;
  /** When the last good one was, Unix ms; null: there was none. */
  goodAt: number | null;
}

const drillFile = (dataDir: string) => join(dataDir, "drill.json");

/** Null: there was none yet, or the file is not one. */
export function readDrill(dataDir: string): Drill | null {
  try {
    const drill = JSON.parse(readFileSync(drillFile(dataDir), "utf8")) as Partial<Drill>;
    const { at, outcome, words, tookMs, goodAt } = drill;
    const isWhole = typeof at === "number" && typeof words === "string" && typeof tookMs === "number";
    if (!isWhole || outcome === undefined || goodAt === undefined) return null;
    return { at, outcome, words, tookMs, goodAt };
  } catch {
    return null;
  }
}

export function writeDrill(dataDir: string, drill: Drill): void {
  const draft = `${drillFile(dataDir)}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, JSON.stringify(drill), { mode: 0o600, flag: "wx" });
  renameSync(draft, drillFile(dataDir));
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

export interface WeeklyDrillDeps {
  last: () => Drill | null;
  /** Makes one, and writes it down. */
  run: (signal: AbortSignal) => Promise<Drill>;
  clock: Clock;
  log: Log;
}

/** Has a drill made each week, and the day after one that did not go well. */
export class WeeklyDrill {
  readonly #deps: WeeklyDrillDeps;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #cancel: (() => void) | null = null;

  constructor(deps: WeeklyDrillDeps) {
    this.#deps = deps;
  }

  /** The first look is an hour after the start, which has enough to do. */
  start(): void {
    this.#cancel = this.#deps.clock.after(HOUR_MS, () => {
      this.#running = this.#look().then(() => {
        this.#running = null;
        if (!this.#stopping.signal.aborted) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    this.#stopping.abort();
    await this.#running;
  }

  get last(): Drill | null {
    return this.#deps.last();
  }

  /** A replica that cannot be restored is trouble, though mail goes on. */
  get issue(): HealthIssue | null {
    const { last } = this;
    if (last?.outcome !== "bad") return null;
    const reason = `The last restore drill failed: ${last.words} Look at it with pombo restore --drill.`;
    return { component: "replication", reason, since: last.at, isAdvisory: true };
  }

  async #look(): Promise<void> {
    const { clock, log, run } = this.#deps;
    const { last } = this;
    const ageMs = last === null ? WEEK_MS : clock.now() - last.at;
    // One of the future was made before the clock was set back.
    if (ageMs >= 0 && ageMs < (last?.outcome === "good" ? WEEK_MS : DAY_MS)) return;
    try {
      const { outcome, words, tookMs } = await run(this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      log.event(`drill.${outcome}`, { words, ms: tookMs }, outcome === "good" ? "info" : "warn");
    } catch (error) {
      if (!this.#stopping.signal.aborted) log.error("drill", error);
    }
  }
}
