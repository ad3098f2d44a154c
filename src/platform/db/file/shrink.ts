// Gives the file's free room back to the disk, once there is much of it: what a purge has removed leaves free pages.

import { BackgroundTask } from "../../background-task.ts";
import type { Context } from "../../context.ts";
import { type Db, readPragma } from "../open.ts";

const LOOK_EVERY_MS = 10 * 60_000;
/** Less than this is soon used again: the growth of a busy day. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;
/** Shares of the file. Shrinking begins above the first and ends below the second, so it does not restart at once. */
const BEGIN_SHARE = 0.25;
const END_SHARE = 0.1;
/** Pages of one step: each is moved from the file's end, with the pages that point to it; about 0.6 ms of processor time (docs/adr/034). */
export const STEP_PAGES = 32;
/** Between two steps, so that others have the connection nearly all the time. */
const PAUSE_MS = 20;

interface Pages {
  free: number;
  all: number;
}

/** Needs a database that was created with auto_vacuum = INCREMENTAL (platform/db/open.ts). */
export function createFileShrink({ commit, clock, log }: Pick<Context, "commit" | "clock" | "log">, { sqlite }: Db) {
  const pageBytes = readPragma(sqlite, "page_size");
  const countPages = (): Pages => ({
    free: readPragma(sqlite, "freelist_count"),
    all: readPragma(sqlite, "page_count"),
  });
  let begun: Pages | null = null;
  const isMuch = ({ free, all }: Pages, share: number) => free * pageBytes >= MIN_FREE_BYTES && free >= all * share;

  return new BackgroundTask({
    name: "file shrink",
    clock,
    log,
    async run() {
      const pages = countPages();
      if (!isMuch(pages, begun === null ? BEGIN_SHARE : END_SHARE)) {
        if (begun !== null) {
          const megabytes = Math.round(((begun.all - pages.all) * pageBytes) / 1024 ** 2);
          log.event("database.shrunk", { megabytes });
        }
        begun = null;
        return LOOK_EVERY_MS;
      }
      begun ??= pages;
      // all(): the statement frees one page at each step of its own.
      await commit(() => void sqlite.query(`PRAGMA incremental_vacuum(${STEP_PAGES})`).all());
      return PAUSE_MS;
    },
  });
}
