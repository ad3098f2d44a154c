// Removes the files that no email refers to, piece by piece, as a background task.

import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import { PURGE_EVERY_MS, type PurgeTask } from "../../../platform/db/purge.ts";
import type { SkippedRows } from "../../../platform/db/skipped-rows.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { AttachmentStore } from "./store.ts";

const NAME = "attachments";
/** The accepting transaction follows the staging within this time. */
const STAGED_MS = 3_600_000;
const FIRST_PASS_MS = 60_000;
/** Between two batches, each of which removes about a megabyte. */
const PAUSE_MS = 50;

export interface AttachmentSweepDeps extends Pick<Context, "commit" | "clock" | "log"> {
  /** Keeps files that cannot be removed. */
  skipped: Pick<SkippedRows, "try">;
}

export function createAttachmentSweep(
  { commit, clock, log, skipped }: AttachmentSweepDeps,
  attachments: Pick<AttachmentStore, "sweep" | "listIds">,
): PurgeTask {
  let after = 0;
  /** After an internal error a piece of each file in a transaction of its own. */
  const sweepEach = async (notAfter: number) => {
    const ids = attachments.listIds(after);
    for (const id of ids) await skipped.try(NAME, id, () => void attachments.sweep(id - 1, notAfter, 1));
    return ids.at(-1) ?? null;
  };
  const task = new BackgroundTask({
    name: NAME,
    clock,
    log,
    async run() {
      const notAfter = clock.now() - STAGED_MS;
      let next: number | null;
      try {
        next = await commit(() => attachments.sweep(after, notAfter));
      } catch (error) {
        if (isStorageError(error)) throw error;
        next = await sweepEach(notAfter);
      }
      after = next ?? 0;
      return next === null ? PURGE_EVERY_MS : PAUSE_MS;
    },
  });
  return { start: () => task.start(FIRST_PASS_MS), stop: () => task.stop() };
}
