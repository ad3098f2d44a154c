import { and, gt, isNotNull, isNull, or } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { workspaces } from "../../../platform/db/schema/schema.ts";

// The workspaces that the operator should look at.

/** Warnings that are listed. */
const MAX_WARNINGS = 20;

export type OperatorWorkspaceStore = ReturnType<typeof openOperatorWorkspaceStore>;

export function openOperatorWorkspaceStore({ orm }: Db) {
  return {
    /** Workspaces that would be blocked since `from` if everything reported by mail were true. */
    reportWarnings: (from: number) =>
      orm
        .select({
          uid: workspaces.uid,
          name: workspaces.name,
          at: workspaces.reportsWarnedAt,
          reason: workspaces.reportsWarning,
        })
        .from(workspaces)
        .where(
          and(isNull(workspaces.deletedAt), isNull(workspaces.rateBlockedAt), gt(workspaces.reportsWarnedAt, from)),
        )
        .limit(MAX_WARNINGS)
        .all(),

    /** Workspaces that may not send; deleted ones left out. */
    blocked: () =>
      orm
        .select()
        .from(workspaces)
        .where(
          and(isNull(workspaces.deletedAt), or(isNotNull(workspaces.blockedAt), isNotNull(workspaces.rateBlockedAt))),
        )
        .all(),
  };
}
