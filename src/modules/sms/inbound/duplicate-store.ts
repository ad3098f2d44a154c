// The PDUs of messages received in the last minutes, for duplicate-filter.ts.

import { and, desc, eq, gte, lt } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsSeen } from "../../../platform/db/schema/sms.ts";

type ReceivedRow = typeof smsSeen.$inferSelect;

export type DuplicateStore = ReturnType<typeof openDuplicateStore>;

export function openDuplicateStore({ orm }: Db) {
  return {
    insert(row: Omit<ReceivedRow, "id">): void {
      orm.insert(smsSeen).values(row).run();
    },
    /** The same octets on a route since then, the newest first. */
    find: (route: string, digest: string, since: number): ReceivedRow[] =>
      orm
        .select()
        .from(smsSeen)
        .where(and(eq(smsSeen.route, route), eq(smsSeen.digest, digest), gte(smsSeen.receivedAt, since)))
        .orderBy(desc(smsSeen.id))
        .all(),
    /** It came again. */
    moved(id: number, to: Pick<ReceivedRow, "session" | "sequence" | "receivedAt">): void {
      orm.update(smsSeen).set(to).where(eq(smsSeen.id, id)).run();
    },
    purge(notBefore: number): void {
      orm.delete(smsSeen).where(lt(smsSeen.receivedAt, notBefore)).run();
    },
  };
}
