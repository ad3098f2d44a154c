// Notes in the audit that an operator entered a workspace that they are not a member of.

import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { RecordAudit } from "../audit/record.ts";

/** Sessions and workspaces whose entry is remembered. */
const MAX_REMEMBERED = 10_000;
/** An entry is noted again after this. */
const ENTRY_MS = 60 * 60_000;

interface Entry {
  sessionId: number;
  userId: number;
}

export interface EntryDeps extends Pick<Context, "commit" | "clock" | "log"> {
  recordAudit: RecordAudit;
}

/** Called for each such request; one row an hour for each session and workspace. */
export function createEntryNote({ commit, clock, log, recordAudit }: EntryDeps) {
  const entered = new Map<string, number>();
  return (request: Request, { sessionId, userId }: Entry, workspaceId: number): void => {
    const place = `${sessionId} ${workspaceId}`;
    const now = clock.now();
    if (now - (entered.get(place) ?? Number.NEGATIVE_INFINITY) < ENTRY_MS) return;
    if (entered.size >= MAX_REMEMBERED) entered.clear();
    entered.set(place, now);
    const entry = { workspaceId, request, userId, action: "workspace.entered", target: null };
    commit(() => recordAudit(entry)).catch((error: unknown) => {
      // The next request tries again.
      entered.delete(place);
      if (!isStorageError(error)) log.error("audit", error);
    });
  };
}
