// How fast the database grows, from a sample a day, and for how many days the disk lasts at that pace.

import { BackgroundTask } from "../../background-task.ts";
import type { Context } from "../../context.ts";
import type { InstanceSettings } from "../instance-settings.ts";
import { type Db, readPragma } from "../open.ts";

const LOOK_EVERY_MS = 60 * 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** A week: mail has a rhythm of weeks. */
const MAX_SAMPLES = 8;

/** `bytes`: what the database's pages hold, without the free ones. */
interface Sample {
  at: number;
  bytes: number;
}

export interface DatabaseGrowthDeps extends Pick<Context, "commit" | "clock" | "log"> {
  db: Db;
  settings: Pick<InstanceSettings, "get" | "set">;
  /** Bytes on the disk that may still be used before sends are refused; null: not known. */
  guard: { readonly spareBytes: number | null };
}

export function createDatabaseGrowth({ db, settings, guard, commit, clock, log }: DatabaseGrowthDeps) {
  const pageBytes = readPragma(db.sqlite, "page_size");
  const freePageBytes = () => readPragma(db.sqlite, "freelist_count") * pageBytes;
  const usedBytes = () => readPragma(db.sqlite, "page_count") * pageBytes - freePageBytes();
  // Samples from the future mean that the clock was set back; they say nothing.
  const readSamples = (now: number): Sample[] =>
    (JSON.parse(settings.get("growth") ?? "[]") as Sample[]).filter(({ at }) => at <= now);
  let samples = readSamples(clock.now());

  const task = new BackgroundTask({
    name: "database growth",
    clock,
    log,
    async run() {
      const now = clock.now();
      samples = readSamples(now);
      if (now - (samples.at(-1)?.at ?? 0) < DAY_MS) return LOOK_EVERY_MS;
      const taken = [...samples, { at: now, bytes: usedBytes() }].slice(-MAX_SAMPLES);
      await commit(() => settings.set("growth", JSON.stringify(taken)));
      samples = taken;
      return LOOK_EVERY_MS;
    },
  });
  return {
    start: () => task.start(),
    stop: () => task.stop(),
    /** Whole days until less than [disk] min_free is left at the pace of the last week; null: it does not grow, or a day has not passed yet. */
    daysLeft(): number | null {
      const [first] = samples;
      const { spareBytes } = guard;
      const days = (clock.now() - (first?.at ?? 0)) / DAY_MS;
      if (first === undefined || spareBytes === null || days < 1) return null;
      const bytesPerDay = (usedBytes() - first.bytes) / days;
      if (spareBytes === 0) return 0;
      return bytesPerDay <= 0 ? null : Math.floor((spareBytes + freePageBytes()) / bytesPerDay);
    },
  };
}
