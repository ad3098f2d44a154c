import { asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { Walk } from "../../../platform/db/purge.ts";
import { emailBodies, emailExtras, emails } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { contentEndedAt } from "../store/group-store.ts";

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
        endedAt: contentEndedAt,
      })
      .from(emailBodies)
      .innerJoin(emails, eq(emails.id, emailBodies.emailId))
      .where(gt(emailBodies.emailId, p("after")))
      .orderBy(asc(emailBodies.emailId))
      .limit(p("limit")),
  );
  type Row = ReturnType<typeof selectBatch.all>[number];
  return {
    find: (after, limit) => selectBatch.all({ after, limit }),

    /** Only the contents of final emails, of a group once all are; metadata and tag stay with the record. */
    remove(rows, notBefore) {
      const old = rows.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore);
      const ids = old.map(({ id }) => id);
      orm.delete(emailBodies).where(inArray(emailBodies.emailId, ids)).run();
      orm.update(emailExtras).set({ headers: null }).where(inArray(emailExtras.emailId, ids)).run();
      for (const { workspaceId, bytes } of old) removed(workspaceId, bytes);
    },
  } satisfies Walk<Row>;
}
