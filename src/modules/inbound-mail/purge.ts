import { type PurgeLoop, purgeRegularly } from "../../platform/db/purge.ts";
import type { InboxStore } from "./store.ts";

const KEEP_MS = 30 * 86_400_000;

/** Forgets the operator's mail after 30 days; the returned function stops that. */
export function purgeInbox(parts: PurgeLoop & { inbox: InboxStore }): () => void {
  const { inbox, clock } = parts;
  return purgeRegularly(parts, "inbox", () => inbox.purge(clock.now() - KEEP_MS));
}
