import { and, desc, eq, getTableColumns, gte, lt, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { inboundMails } from "../../platform/db/schema/schema.ts";
import { listIds, removeBatch } from "../../platform/db/batches.ts";
import type { Position } from "../../platform/http/pagination.ts";
import { getNetworks } from "../../platform/ip/address.ts";
import { ERASED, ERASED_RECIPIENT } from "../recipients/erased.ts";

export type InboundMail = typeof inboundMails.$inferSelect;
/** Without its bytes. */
export type ListedMail = Omit<InboundMail, "content">;

/** Mails kept; the oldest goes when there is one more. */
export const MAX_MAILS = 1_000;
/** Their size in all, compressed: strangers can write to postmaster without end. */
const MAX_BYTES = 100 * 1024 * 1024;
/** Removed in one transaction: each page of their bytes is put on the list of free ones. */
const BATCH = 20;

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

interface Kept {
  id: number;
  mailbox: InboundMail["mailbox"];
  clientAddress: string;
  bytes: number;
}

type Networks = ReadonlyMap<string, string[]>;

/** The largest group of `mails`; of several such the one that begins first. */
function largestGroup(mails: Kept[], keyOf: (mail: Kept) => string, measure: (mail: Kept) => number): Kept[] {
  const groups = [...Map.groupBy(mails, keyOf).values()].map((group) => ({ group, size: sum(group.map(measure)) }));
  return groups.toSorted((a, b) => b.size - a.size)[0]?.group ?? [];
}

/**
 * The mail to remove when there is too much: the oldest of the mailbox that has the most, of the widest network that has
 * the most in it, and so on to the single address. A flood removes only its own mail.
 */
function nextToGo(kept: Kept[], networks: Networks, measure: (mail: Kept) => number): Kept | undefined {
  const ofMailbox = largestGroup(kept, ({ mailbox }) => mailbox, measure);
  const byNetwork = [2, 1, 0].map((width) => (mail: Kept) => networks.get(mail.clientAddress)?.[width] ?? "");
  return byNetwork.reduce((group, keyOf) => largestGroup(group, keyOf, measure), ofMailbox)[0];
}

export type InboxStore = ReturnType<typeof openInboxStore>;

/** The mail that is kept for the operator. */
export function openInboxStore({ orm }: Db) {
  const { content: _content, ...listed } = getTableColumns(inboundMails);
  const byUid = (uid: string) => eq(inboundMails.uid, uid);

  /** Networks of the mails kept last: in a flood all of them are looked at for each that comes. */
  let networks: Networks = new Map();

  function trim(): void {
    const kept = orm
      .select({
        id: inboundMails.id,
        mailbox: inboundMails.mailbox,
        clientAddress: inboundMails.clientAddress,
        bytes: sql<number>`LENGTH(${inboundMails.content})`,
      })
      .from(inboundMails)
      .orderBy(inboundMails.id)
      .all();
    networks = new Map(
      kept.map(({ clientAddress }) => [clientAddress, networks.get(clientAddress) ?? getNetworks(clientAddress)]),
    );
    for (;;) {
      const bytes = sum(kept.map((mail) => mail.bytes));
      if (kept.length <= 1 || (kept.length <= MAX_MAILS && bytes <= MAX_BYTES)) return;
      const removed = nextToGo(kept, networks, kept.length > MAX_MAILS ? () => 1 : (mail) => mail.bytes);
      if (removed === undefined) return;
      kept.splice(kept.indexOf(removed), 1);
      orm.delete(inboundMails).where(eq(inboundMails.id, removed.id)).run();
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

    /** The first that came from this address since then; Unix ms. */
    findFrom: (address: string, since: number): InboundMail | undefined =>
      orm
        .select()
        .from(inboundMails)
        .where(and(eq(inboundMails.envelopeFrom, address), gte(inboundMails.receivedAt, since)))
        .orderBy(inboundMails.id)
        .limit(1)
        .get(),

    byUid: (uid: string): InboundMail | undefined => orm.select().from(inboundMails).where(byUid(uid)).get(),

    listIds: (): number[] => listIds(orm, inboundMails),
    byId: (id: number): InboundMail | undefined => orm.select().from(inboundMails).where(eq(inboundMails.id, id)).get(),
    /** Inside a transaction: replaces the words and the sender of a mail. False: it is gone. */
    erase: (id: number): boolean =>
      orm
        .update(inboundMails)
        .set({
          envelopeFrom: ERASED_RECIPIENT.email,
          sender: ERASED_RECIPIENT.email,
          subject: ERASED,
          helo: ERASED,
          content: Bun.zstdCompressSync(ERASED),
        })
        .where(eq(inboundMails.id, id))
        .returning({ id: inboundMails.id })
        .all().length > 0,

    /** False: there is none. */
    delete: (uid: string): boolean =>
      orm.delete(inboundMails).where(byUid(uid)).returning({ id: inboundMails.id }).all().length > 0,

    /** Removes a batch of what came before `notBefore`; true when there may be more. */
    purge: (notBefore: number): boolean =>
      removeBatch(orm, inboundMails, lt(inboundMails.receivedAt, notBefore), BATCH),
  };
}
