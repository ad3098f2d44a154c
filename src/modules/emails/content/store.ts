import { asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailBodies, emails } from "../../../platform/db/schema/schema.ts";
import { fast } from "../../../platform/db/statement.ts";

/** Contents that one transaction looks at: each may have pages of its own. */
const SHARE = 200;

export type ContentStore = ReturnType<typeof openContentStore>;

/** `removed` is told of the bytes of each workspace's contents, inside the transaction that removes them. */
export function openContentStore({ orm }: Db, removed: (workspaceId: number, bytes: number) => void) {
  const p = sql.placeholder;
  const selectShare = fast(
    orm
      .select({
        id: emailBodies.emailId,
        workspaceId: emails.workspaceId,
        bytes: sql<number>`LENGTH(${emailBodies.content})`,
        createdAt: emails.createdAt,
        endedAt: emails.endedAt,
      })
      .from(emailBodies)
      .innerJoin(emails, eq(emails.id, emailBodies.emailId))
      .where(gt(emailBodies.emailId, p("after")))
      .orderBy(asc(emailBodies.emailId))
      .limit(SHARE),
  );
  return {
    /**
     * Of the share behind the email `after` (0: from the oldest on) removes the contents of those that were final
     * before `notBefore`. The last one looked at; null: no more of them can be so old.
     */
    purge(after: number, notBefore: number): number | null {
      const share = selectShare.all({ after });
      const old = share.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore);
      orm
        .delete(emailBodies)
        .where(
          inArray(
            emailBodies.emailId,
            old.map(({ id }) => id),
          ),
        )
        .run();
      for (const { workspaceId, bytes } of old) removed(workspaceId, bytes);
      const last = share.at(-1);
      return last === undefined || share.length < SHARE || last.createdAt >= notBefore ? null : last.id;
    },
  };
}
