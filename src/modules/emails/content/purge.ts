import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import type { ContentStore } from "./store.ts";

export const CONTENT_PURGE_EVERY_MS = 10 * 60_000;

export interface ContentPurgeDeps extends Pick<Context, "commit" | "clock" | "log"> {
  contents: ContentStore;
  keepMs: number;
}

/** Removes html and text of emails that have been final for `keepMs`. */
export function createContentPurge({ contents, commit, clock, log, keepMs }: ContentPurgeDeps): BackgroundTask {
  // Those still under way are passed by; what was looked at counts once it is committed.
  let after = 0;
  return new BackgroundTask({
    clock,
    log,
    name: "contents",
    async run() {
      const last = await commit(() => contents.purge(after, clock.now() - keepMs));
      after = last ?? 0;
      return last === null ? CONTENT_PURGE_EVERY_MS : 0;
    },
  });
}
