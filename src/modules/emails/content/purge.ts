import { type PurgeLoop, purgeRegularly } from "../../../platform/db/purge.ts";
import type { ContentStore } from "./store.ts";

/** Forgets html and text of emails that have been final for `keepMs`; the returned function stops that. */
export function purgeContents(parts: PurgeLoop & { contents: ContentStore; keepMs: number }): () => void {
  const { contents, clock, keepMs } = parts;
  // Those still under way are passed by; what was looked at counts once it is committed.
  let after = 0;
  let next: number | null = null;
  const commit: PurgeLoop["commit"] = (run) =>
    parts.commit(run).then((result) => {
      after = next ?? 0;
      return result;
    });
  return purgeRegularly({ ...parts, commit }, "contents", () => {
    next = contents.purge(after, clock.now() - keepMs);
    return next !== null;
  });
}
