// Decides whose requests see what messages say: members always do, viewers and operators as the workspace has set it.

import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { getCaller } from "../../platform/http/auth.ts";
import { getPath } from "../../platform/http/path.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { WorkspaceStore } from "./store.ts";

/** Readings that are remembered; beyond them all are forgotten, and noted again. */
const MAX_REMEMBERED = 10_000;
/** The same reading is noted again after this: an open page reads again whenever something changes. */
const READING_MS = 60 * 60_000;

interface ContentDeps extends Pick<Context, "commit" | "clock"> {
  workspaces: Pick<WorkspaceStore, "byId">;
  recordAudit: RecordAudit;
}

/** Whether the caller of a request may see what messages say. An operator's reading is in the audit before it is true. */
export type MayReadContent = (request: Request) => Promise<boolean>;

export function createContentRule({ commit, clock, workspaces, recordAudit }: ContentDeps): MayReadContent {
  const noted = new Map<string, number>();
  return async (request) => {
    const caller = getCaller(request);
    if (caller.kind !== "member" || (caller.role !== "viewer" && caller.role !== "operator")) return true;
    const { workspaceId, sessionId, role } = caller;
    if (role === "viewer") return workspaces.byId(workspaceId)?.viewersSeeContent ?? false;
    const isAllowed = () => workspaces.byId(workspaceId)?.operatorsSeeContent === true;
    if (!isAllowed()) return false;
    const target = getPath(request).replace("/api/v1/", "");
    const reading = `${sessionId} ${workspaceId} ${target}`;
    const now = clock.now();
    if (now - (noted.get(reading) ?? Number.NEGATIVE_INFINITY) < READING_MS) return true;
    const isNoted = await commit(() => {
      // An owner may have taken it back in the same transaction.
      if (isAllowed()) recordAudit({ workspaceId, request, action: "content.read", target });
      return isAllowed();
    });
    if (noted.size >= MAX_REMEMBERED) noted.clear();
    if (isNoted) noted.set(reading, now);
    return isNoted;
  };
}

/** For those whose request has nothing else to give. */
export function contentHidden(): AppError {
  return new AppError("ROLE_REQUIRED", "Your role does not see what messages say", {
    hint: "An owner of the workspace can change that.",
  });
}
