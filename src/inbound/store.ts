import { desc, eq, getTableColumns, inArray, lt, lte, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { inboundMails } from "../db/schema-inbound.ts";
import type { Position } from "../http/pagination.ts";

export type InboundMail = typeof inboundMails.$inferSelect;
/** Without its bytes. */
export type ListedMail = Omit<InboundMail, "content">;

/** Mails kept; the oldest goes when there is one more. */
export const MAX_MAILS = 1_000;
/** What they take in all, compressed: a stranger can write to postmaster as much as to anybody. */
const MAX_BYTES = 100 * 1024 * 1024;
/** Removed in one transaction: each page of their bytes is put on the list of free ones. */
const SHARE = 20;

export type InboxStore = ReturnType<typeof openInboxStore>;

/** The mail that is kept for the operator. */
export function openInboxStore({ orm }: Db) {
  const { content: _content, ...listed } = getTableColumns(inboundMails);
  const byUid = (uid: string) => eq(inboundMails.uid, uid);

  /** Removes the oldest, while there are too many or they take too much. */
  function trim(): void {
    const kept = orm
      .select({ id: inboundMails.id, bytes: sql<number>`LENGTH(${inboundMails.content})` })
      .from(inboundMails)
      .orderBy(desc(inboundMails.id))
      .all();
    let bytes = 0;
    for (const [index, mail] of kept.entries()) {
      bytes += mail.bytes;
      if (index === 0 || (index < MAX_MAILS && bytes <= MAX_BYTES)) continue;
      orm.delete(inboundMails).where(lte(inboundMails.id, mail.id)).run();
      return;
    }
  }

  return {
    add(mail: Omit<InboundMail, "id">): void {
      orm.insert(inboundMails).values(mail).run();
      trim();
    },

    /** A page, newest first, and one row more when there are more. Ids ascend as mail comes, whatever the clock says. */
    list: (before: Position | null, limit: number): ListedMail[] =>
      orm
        .select(listed)
        .from(inboundMails)
        .where(before === null ? undefined : lt(inboundMails.id, before.id))
        .orderBy(desc(inboundMails.id))
        .limit(limit + 1)
        .all(),

    byUid: (uid: string): InboundMail | undefined => orm.select().from(inboundMails).where(byUid(uid)).get(),

    /** False: there is none. */
    delete: (uid: string): boolean =>
      orm.delete(inboundMails).where(byUid(uid)).returning({ id: inboundMails.id }).all().length > 0,

    /** Removes a share of what came before `notBefore`; true when there may be more. */
    purge(notBefore: number): boolean {
      const share = orm
        .select({ id: inboundMails.id })
        .from(inboundMails)
        .where(lt(inboundMails.receivedAt, notBefore))
        .limit(SHARE);
      const removed = orm
        .delete(inboundMails)
        .where(inArray(inboundMails.id, share))
        .returning({ id: inboundMails.id })
        .all();
      return removed.length === SHARE;
    },
  };
}
