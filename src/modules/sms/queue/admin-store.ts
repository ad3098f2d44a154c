// The operator's queries on SMS that wait. They count up to a limit, or read the ends of an index.

import { and, asc, count, desc, eq, inArray, min, sql } from "drizzle-orm";
import { hasIdPrefix, lastId } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { workspaces } from "../../../platform/db/schema/schema.ts";
import { smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { MessageCandidate, QueueSlice, RowFilter, WalkPosition } from "../../../platform/queue/queue-admin.ts";
import { IS_NOT_FINAL } from "./message-store.ts";
import { IS_OPEN, IS_READY, IS_READY_WORK } from "./segment-read-store.ts";

/** Segments that are counted at most. */
export const MAX_COUNTED = 100_000;
/** The first to expire are the oldest, but for messages of higher priority: so many are looked at. */
const FIRST_ROWS = 20;
const WALK_STATUSES = ["queued", "sending"] as const;

/** The waiting segments of a route, a priority and a workspace. */
interface Work {
  route: string;
  priority: string;
  workspaceId: number;
}

export function openSmsAdminStore({ orm }: Db) {
  const p = sql.placeholder;
  const selectNextWork = prepare(
    orm
      .select({ route: smsSegments.route, priority: smsSegments.priority, workspaceId: smsSegments.workspaceId })
      .from(smsSegments)
      .where(
        and(IS_READY, sql`(route, priority, workspace_id) > (${p("route")}, ${p("priority")}, ${p("workspaceId")})`),
      )
      .orderBy(asc(smsSegments.route), asc(smsSegments.priority), asc(smsSegments.workspaceId))
      .limit(1),
  );
  const selectFirstSegment = prepare(
    orm
      .select({ nextAt: smsSegments.nextAt, providerStatus: smsSegments.providerStatus, reason: smsSegments.reason })
      .from(smsSegments)
      .where(IS_READY_WORK)
      .orderBy(asc(smsSegments.nextAt))
      .limit(1),
  );
  const selectCreatedAt = prepare(
    orm
      .select({ at: smsMessages.createdAt })
      .from(smsMessages)
      .where(eq(smsMessages.id, p("id"))),
  );
  const hasSegment = (state: string) =>
    sql<number>`EXISTS (SELECT 1 FROM sms_segment WHERE message_id = sms_message.id AND ${sql.raw(state)})`;
  const selectWaiting = prepare(
    orm
      .select({
        id: smsMessages.id,
        rank: smsMessages.expiresAt,
        workspaceId: smsMessages.workspaceId,
        recipient: smsMessages.recipient,
        createdAt: smsMessages.createdAt,
        isRunning: hasSegment("state = 'in_flight'"),
        isWaiting: hasSegment("state IN ('ready', 'unknown')"),
      })
      .from(smsMessages)
      .where(and(IS_NOT_FINAL, eq(smsMessages.status, p("status")), sql`(expires_at, id) > (${p("rank")}, ${p("id")})`))
      .orderBy(asc(smsMessages.expiresAt), asc(smsMessages.id))
      .limit(p("rows")),
  );
  const oldestWithStatus = (status: "queued" | "sending") =>
    orm
      .select({ at: min(smsMessages.createdAt) })
      .from(
        orm
          .select({ createdAt: smsMessages.createdAt })
          .from(smsMessages)
          .where(and(IS_NOT_FINAL, eq(smsMessages.status, status)))
          .orderBy(asc(smsMessages.expiresAt))
          .limit(FIRST_ROWS)
          .as("first"),
      )
      .get()?.at ?? null;
  const candidate = {
    uid: smsMessages.uid,
    workspaceId: smsMessages.workspaceId,
    from: smsMessages.sender,
    to: smsMessages.recipient,
    status: smsMessages.status,
    createdAt: smsMessages.createdAt,
  };

  return {
    list(from: WalkPosition, filter: RowFilter, rows: number): QueueSlice {
      const { stage } = from;
      const status = WALK_STATUSES[stage];
      if (status === undefined) return { found: [], end: null };
      const seen = selectWaiting.all({ status, rank: from.rank, id: from.id, rows });
      const found = seen
        .filter((row) => matches(row, filter) && (row.isWaiting === 1 || row.isRunning === 1))
        .map(({ id, rank, isRunning }) => ({ id, isRunning: isRunning === 1, position: { stage, rank, id } }));
      const last = seen.at(-1);
      const end =
        last === undefined || seen.length < rows
          ? { stage: stage + 1, rank: 0, id: 0 }
          : { stage, rank: last.rank, id: last.id };
      return { found, end: end.stage < WALK_STATUSES.length ? end : null };
    },
    lastId: () => lastId(orm, smsMessages),

    /** The next work after this one, in the index's order; null: there is none. */
    workAfter: (work: Work): Work | null => selectNextWork.get({ ...work }) ?? null,
    /** Its segments up to the limit, and when the oldest of their messages was accepted; null: it has none. */
    countWork({ route, priority, workspaceId }: Work): { waiting: number; oldestAt: number | null } {
      const ofWork = sql`${IS_READY} AND route = ${route} AND priority = ${priority} AND workspace_id = ${workspaceId}`;
      const [found] = orm.values<[number, number | null]>(
        sql`SELECT COUNT(*), MIN(message_id) FROM (SELECT message_id FROM sms_segment WHERE ${ofWork} LIMIT ${MAX_COUNTED})`,
      );
      const [waiting, oldestId] = found ?? [0, null];
      return { waiting, oldestAt: oldestId === null ? null : (selectCreatedAt.get({ id: oldestId })?.at ?? null) };
    },
    firstOfWork: (work: Work) => selectFirstSegment.get({ ...work }),
    /** Segments in flight or with a lost response, by route. */
    openSegments: (): { route: string; count: number }[] =>
      orm
        .select({ route: smsSegments.route, count: count() })
        .from(smsSegments)
        .where(IS_OPEN)
        .groupBy(smsSegments.route)
        .all(),
    /** Segments that wait, up to the limit. */
    waiting: (): number =>
      orm.values<[number]>(
        sql`SELECT COUNT(*) FROM (SELECT 1 FROM sms_segment WHERE ${IS_READY} LIMIT ${MAX_COUNTED})`,
      )[0]?.[0] ?? 0,
    /** When the oldest message that waits was accepted; null: none waits. */
    oldestAt(): number | null {
      const times = [oldestWithStatus("queued"), oldestWithStatus("sending")].filter((at) => at !== null);
      return times.length === 0 ? null : Math.min(...times);
    },

    byUid: (uid: string) => orm.select().from(smsMessages).where(eq(smsMessages.uid, uid)).get() ?? null,
    waitingMessages: (ids: number[]) =>
      orm
        .select({ message: smsMessages, workspaceUid: workspaces.uid })
        .from(smsMessages)
        .leftJoin(workspaces, eq(workspaces.id, smsMessages.workspaceId))
        .where(inArray(smsMessages.id, ids))
        .all(),

    byIdPrefix: (prefix: string, limit: number): MessageCandidate[] =>
      orm
        .select(candidate)
        .from(smsMessages)
        .where(hasIdPrefix(smsMessages.uid, prefix))
        .orderBy(desc(smsMessages.uid))
        .limit(limit)
        .all(),
    byRecipient: (number: string, limit: number): MessageCandidate[] =>
      orm
        .select(candidate)
        .from(smsMessages)
        .where(eq(smsMessages.recipient, number))
        .orderBy(desc(smsMessages.id))
        .limit(limit)
        .all(),
  };
}

function matches(row: { workspaceId: number; recipient: string; createdAt: number }, filter: RowFilter): boolean {
  const { workspaceId, number, before } = filter;
  if (workspaceId !== null && row.workspaceId !== workspaceId) return false;
  if (number !== null && !row.recipient.startsWith(number)) return false;
  return before === null || row.createdAt < before;
}
