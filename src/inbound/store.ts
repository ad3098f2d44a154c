import { desc, eq, getTableColumns, lt, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { inboundMails } from "../db/schema-inbound.ts";
import { removeShare } from "../db/shares.ts";
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

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

function largestOf<T extends { mailbox: string }>(mails: T[], measure: (mail: T) => number): string | undefined {
  const sizes = new Map<string, number>();
  for (const mail of mails) sizes.set(mail.mailbox, (sizes.get(mail.mailbox) ?? 0) + measure(mail));
  return [...sizes].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

export type InboxStore = ReturnType<typeof openInboxStore>;

/** The mail that is kept for the operator. */
export function openInboxStore({ orm }: Db) {
  const { content: _content, ...listed } = getTableColumns(inboundMails);
  const byUid = (uid: string) => eq(inboundMails.uid, uid);

  /** While there are too many or they take too much: the oldest of the mailbox that has the most. A flood of one mailbox washes away itself. */
  function trim(): void {
    const kept = orm
      .select({
        id: inboundMails.id,
        mailbox: inboundMails.mailbox,
        bytes: sql<number>`LENGTH(${inboundMails.content})`,
      })
      .from(inboundMails)
      .orderBy(inboundMails.id)
      .all();
    for (;;) {
      const bytes = sum(kept.map((mail) => mail.bytes));
      if (kept.length <= 1 || (kept.length <= MAX_MAILS && bytes <= MAX_BYTES)) return;
      const measure = kept.length > MAX_MAILS ? () => 1 : (mail: { bytes: number }) => mail.bytes;
      const largest = largestOf(kept, measure);
      const oldest = kept.findIndex(({ mailbox }) => mailbox === largest);
      const [removed] = kept.splice(oldest, 1);
      if (removed !== undefined) orm.delete(inboundMails).where(eq(inboundMails.id, removed.id)).run();
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
    purge: (notBefore: number): boolean =>
      removeShare(orm, inboundMails, lt(inboundMails.receivedAt, notBefore), SHARE),
  };
}
