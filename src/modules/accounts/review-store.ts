import { desc, eq, isNull } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { apiKeys, workspaces } from "../../platform/db/schema/schema.ts";

export type ReviewStore = ReturnType<typeof openReviewStore>;

export function openReviewStore({ orm }: Db) {
  const { name, prefix, createdAt, lastUsedAt } = apiKeys;
  return {
    /** The API keys of all workspaces, newest first. */
    listKeys: (limit: number) =>
      orm
        .select({ name, prefix, createdAt, lastUsedAt, workspaceName: workspaces.name })
        .from(apiKeys)
        .innerJoin(workspaces, eq(workspaces.id, apiKeys.workspaceId))
        .where(isNull(workspaces.deletedAt))
        .orderBy(desc(apiKeys.id))
        .limit(limit)
        .all(),
  };
}
