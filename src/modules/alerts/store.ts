import { and, asc, eq, inArray, isNull, lt, notInArray, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { alertMessages, alertSeen, alertTroubles } from "../../platform/db/schema/alerts.ts";
import type { Notice, SeenRow, Told } from "./watch.ts";

/** What is yet to be told to a target. */
export type PendingRow = typeof alertMessages.$inferSelect;

/** More are not kept for a target: the oldest go. */
const MAX_PENDING = 200;

export type AlertStore = ReturnType<typeof openAlertStore>;

/** Writes are inside a transaction. */
export function openAlertStore({ orm }: Pick<Db, "orm">) {
  const { target, id, troubleId, callUid, at, kind } = alertMessages;
  return {
    listTold: (): Told[] => orm.select().from(alertTroubles).all(),
    putTold(row: Told): void {
      orm.insert(alertTroubles).values(row).onConflictDoUpdate({ target: alertTroubles.id, set: row }).run();
    },
    removeTold(ids: readonly string[]): void {
      orm
        .delete(alertTroubles)
        .where(inArray(alertTroubles.id, [...ids]))
        .run();
    },
    listSeen: (): SeenRow[] => orm.select().from(alertSeen).all(),
    replaceSeen(rows: readonly SeenRow[]): void {
      orm.delete(alertSeen).run();
      for (const row of rows) orm.insert(alertSeen).values(row).run();
    },

    /**
     * Keeps a notice until the target was told. What it makes needless goes: a reminder beside the news itself, and the news
     * beside the end, which repeats it. `call`: the id of the call that was made with it already.
     */
    addPending(to: string, notice: Notice, call?: string): void {
      const { id: about, ...said } = notice;
      const waiting = and(eq(target, to), eq(troubleId, about), isNull(callUid));
      const isNews = inArray(kind, ["began", "worsened", "reminded"]);
      if (notice.kind === "reminded") {
        const news = orm.select({ id }).from(alertMessages).where(and(waiting, isNews)).limit(1).get();
        if (news !== undefined) return;
      }
      if (notice.kind === "ended") orm.delete(alertMessages).where(and(waiting, isNews)).run();
      orm
        .insert(alertMessages)
        .values({ target: to, troubleId: about, ...said, callUid: call ?? null })
        .run();
      const beyond = orm
        .select({ id })
        .from(alertMessages)
        .where(eq(target, to))
        .orderBy(sql`${id} DESC`)
        .limit(1_000)
        .offset(MAX_PENDING);
      orm.delete(alertMessages).where(inArray(id, beyond)).run();
    },
    listPending: (of: string): PendingRow[] =>
      orm.select().from(alertMessages).where(eq(target, of)).orderBy(asc(id)).all(),
    countPending: (): Map<string, number> =>
      new Map(
        orm
          .select({ target, count: sql<number>`COUNT(*)` })
          .from(alertMessages)
          .groupBy(target)
          .all()
          .map((row) => [row.target, row.count]),
      ),
    /** A call is made with these rows: it has this id, also when it is made again. */
    setCall(ids: readonly number[], uid: string): void {
      orm
        .update(alertMessages)
        .set({ callUid: uid })
        .where(inArray(id, [...ids]))
        .run();
    },
    removePending(ids: readonly number[]): void {
      orm
        .delete(alertMessages)
        .where(inArray(id, [...ids]))
        .run();
    },
    /** Those of targets that the configuration has no more, and those from before `from`. */
    removeStale(targets: readonly string[], from: number): void {
      orm.delete(alertMessages).where(lt(at, from)).run();
      orm
        .delete(alertMessages)
        .where(notInArray(target, [...targets]))
        .run();
    },
  };
}
