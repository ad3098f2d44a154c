import { asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailBodies, emails } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";

/** Contents that one transaction looks at: each may have pages of its own, which are overwritten. */
const BATCH = 100;

export type ContentStore = ReturnType<typeof openContentStore>;

/** `removed` is called with the bytes of each workspace's contents, inside the transaction that removes them. */
export function openContentStore({ orm }: Db, removed: (workspaceId: number, bytes: number) => void) {
  const p = sql.placeholder;
  const selectBatch = prepare(
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
      .limit(BATCH),
  );
  return {
    /**
     * Looks at the batch behind the email `after` (0: from the oldest on) and removes the contents of emails that were
     * final before `notBefore`. The last one looked at; null: no more of them can be so old.
     */
    purge(after: number, notBefore: number): number | null {
      const batch = selectBatch.all({ after });
      const old = batch.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore);
      const ids = old.map(({ id }) => id);
      orm.delete(emailBodies).where(inArray(emailBodies.emailId, ids)).run();
      for (const { workspaceId, bytes } of old) removed(workspaceId, bytes);
      const last = batch.at(-1);
      return last === undefined || batch.length < BATCH || last.createdAt >= notBefore ? null : last.id;
    },
  };
}
