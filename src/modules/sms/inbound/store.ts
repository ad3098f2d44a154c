// Messages received, the parts of those that are not whole yet (encoding/reassemble.ts), and the PDUs of the last minutes.

import { and, desc, eq, gte, isNull, lt, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsInbound, smsInboundParts, smsSeen } from "../../../platform/db/schema/sms.ts";
import { isWithin, listIds } from "../../../platform/db/batches.ts";
import type { TimeRange } from "../../../platform/http/times.ts";
import type { Position } from "../../../platform/http/pagination.ts";
import { ERASED, ERASED_RECIPIENT } from "../../recipients/erased.ts";

export type InboundRow = typeof smsInbound.$inferSelect;
export type InboundPartRow = typeof smsInboundParts.$inferSelect;

/** Parts that belong to one message. */
export type InboundKey = Pick<InboundPartRow, (typeof KEY)[number]>;
const KEY = ["route", "source", "destination", "scheme", "reference", "total"] as const;

/** `from`: a number in E.164. */
export interface InboundFilter extends TimeRange {
  from: string | null;
}

/** A message that is a workspace's. */
export type OwnedInbound = InboundRow & { workspaceId: number };

export function openInboundStore({ orm, changes }: Db) {
  const belongsTo = (key: InboundKey) => and(...KEY.map((name) => eq(smsInboundParts[name], key[name])));
  let tell: ((text: OwnedInbound) => void) | null = null;

  return {
    /** A whole message, or what there is of it; `workspaceId` null: no workspace's, only for the operator. */
    insert(row: Omit<InboundRow, "id">): void {
      const inserted = orm.insert(smsInbound).values(row).returning().get();
      const { workspaceId } = inserted;
      if (workspaceId === null) return;
      changes.note(workspaceId, "sms");
      tell?.({ ...inserted, workspaceId });
    },
    /** From now on `follow` is called for each message that is a workspace's, inside the transaction that writes it. */
    followTexts(follow: NonNullable<typeof tell>): void {
      tell = follow;
    },
    /** A page of a workspace's messages, newest first, and one row more when there are more. `filter.from` null: of all. */
    list(workspaceId: number, filter: InboundFilter, before: Position | null, limit: number): InboundRow[] {
      const of = and(
        eq(smsInbound.workspaceId, workspaceId),
        filter.from === null ? undefined : eq(smsInbound.sender, filter.from),
        isWithin(smsInbound.receivedAt, filter),
      );
      const read = (where: ReturnType<typeof and>, rows: number) =>
        orm
          .select()
          .from(smsInbound)
          .where(and(of, where))
          .orderBy(desc(smsInbound.receivedAt), desc(smsInbound.id))
          .limit(rows)
          .all();
      if (before === null) return read(undefined, limit + 1);
      const { createdAt, id } = before;
      // Two ranges: in one SQLite would walk all of the cursor's millisecond.
      const same = read(and(eq(smsInbound.receivedAt, createdAt), lt(smsInbound.id, id)), limit + 1);
      return [...same, ...read(lt(smsInbound.receivedAt, createdAt), limit + 1 - same.length)];
    },

    /** The newest messages of a number, in E.164; `workspaceId` null: those that are no workspace's. */
    listFrom(workspaceId: number | null, sender: string, before: Position, limit: number): InboundRow[] {
      const owner = workspaceId === null ? isNull(smsInbound.workspaceId) : eq(smsInbound.workspaceId, workspaceId);
      const { createdAt, id } = before;
      return orm
        .select()
        .from(smsInbound)
        .where(
          and(
            eq(smsInbound.sender, sender),
            owner,
            sql`(${smsInbound.receivedAt}, ${smsInbound.id}) < (${createdAt}, ${id})`,
          ),
        )
        .orderBy(desc(smsInbound.receivedAt), desc(smsInbound.id))
        .limit(limit)
        .all();
    },
    /** Inside a transaction: replaces a message's sender and words. */
    erase(id: number): void {
      orm
        .update(smsInbound)
        .set({ sender: ERASED_RECIPIENT.sms, body: ERASED, raw: null })
        .where(eq(smsInbound.id, id))
        .run();
    },
    /** The senders of parts whose message is not whole yet, as the SMSCs write them. */
    listPartSources: (): string[] =>
      orm
        .selectDistinct({ source: smsInboundParts.source })
        .from(smsInboundParts)
        .all()
        .map(({ source }) => source),
    /** Inside a transaction. */
    removePartsFrom(source: string): void {
      orm.delete(smsInboundParts).where(eq(smsInboundParts.source, source)).run();
    },

    /** Keeps a part; of one that comes twice the first counts. */
    insertPart(row: InboundPartRow): void {
      orm.insert(smsInboundParts).values(row).onConflictDoNothing().run();
    },
    listParts: (key: InboundKey): InboundPartRow[] =>
      orm.select().from(smsInboundParts).where(belongsTo(key)).orderBy(smsInboundParts.seq).all(),
    removeParts(key: InboundKey): void {
      orm.delete(smsInboundParts).where(belongsTo(key)).run();
    },
    /** Messages that are not whole, and a part of which came before `until`; of so many parts. */
    waitingSince(until: number, limit: number): InboundKey[] {
      // The first by their age: DISTINCT by itself would walk over all parts, each second.
      const old = orm
        .select({
          route: smsInboundParts.route,
          source: smsInboundParts.source,
          destination: smsInboundParts.destination,
          scheme: smsInboundParts.scheme,
          reference: smsInboundParts.reference,
          total: smsInboundParts.total,
        })
        .from(smsInboundParts)
        .where(lt(smsInboundParts.receivedAt, until))
        .orderBy(smsInboundParts.receivedAt)
        .limit(limit)
        .as("old");
      return orm.selectDistinct().from(old).all();
    },
    /** Some of the messages that are no workspace's and came before `notBefore`. */
    listOld(notBefore: number, limit: number): number[] {
      const isUnowned = and(sql`${smsInbound.workspaceId} IS NULL`, lt(smsInbound.receivedAt, notBefore));
      return listIds(orm, smsInbound, isUnowned, limit);
    },
    remove(id: number): void {
      orm.delete(smsInbound).where(eq(smsInbound.id, id)).run();
    },
  };
}

type ReceivedRow = typeof smsSeen.$inferSelect;

export type DuplicateStore = ReturnType<typeof openDuplicateStore>;

/** The PDUs of messages received in the last minutes, for duplicate-filter.ts. */
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
