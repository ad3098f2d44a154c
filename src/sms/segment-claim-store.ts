import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { smsSegments } from "../db/schema-sms.ts";
import { fast } from "../db/statement.ts";
import type { ChangedMessages } from "./changed.ts";
import { IS_OPEN, IS_READY, type RememberedSegments } from "./segment-read-store.ts";
import type { Priority, SegmentRow } from "./segment-store.ts";

// How segments come into the queue and are claimed for a connection. segment-store.ts moves them on.

/** A segment at acceptance. */
export type NewSegment = Pick<
  SegmentRow,
  "messageId" | "seq" | "parts" | "workspaceId" | "payload" | "reference" | "umr" | "route" | "priority" | "nextAt"
>;

export interface Claim {
  route: string;
  priority: Priority;
  workspaceId: number;
  link: string;
  leaseEpoch: number;
  now: number;
  limit: number;
}

/** What the statements of the segments share. */
export interface SegmentParts {
  orm: Db["orm"];
  changed: ChangedMessages;
  remembered: RememberedSegments;
}

const p = sql.placeholder;
/** A member that is given by its own name. */
const given = (name: string) => sql`${p(name)}`;

/** What a claim makes of a segment: its `link`, `leaseEpoch` and `now` are bound. */
export const CLAIMED = {
  state: "in_flight",
  link: given("link"),
  leaseEpoch: given("leaseEpoch"),
  attempts: sql`${smsSegments.attempts} + 1`,
  submittedAt: given("now"),
  changedAt: given("now"),
} as const;

/** Prepares the statements that bring segments in and give them to links. */
export function openSegmentClaims({ orm, changed, remembered }: SegmentParts) {
  const insertRow = fast(
    orm.insert(smsSegments).values({
      messageId: p("messageId"),
      seq: p("seq"),
      parts: p("parts"),
      workspaceId: p("workspaceId"),
      payload: p("payload"),
      reference: p("reference"),
      umr: p("umr"),
      state: "ready",
      route: p("route"),
      priority: p("priority"),
      nextAt: p("nextAt"),
    }),
  );
  // The table has no rowid; the order of RETURNING is not defined.
  const updateClaimed = fast(
    orm
      .update(smsSegments)
      .set(CLAIMED)
      .where(
        sql`(message_id, seq) IN (
          SELECT message_id, seq FROM sms_segment
          WHERE ${IS_READY} AND route = ${p("route")} AND priority = ${p("priority")} AND workspace_id = ${p("workspaceId")}
            AND next_at <= ${p("now")} AND (link IS NULL OR link = ${p("link")})
          ORDER BY next_at, message_id, seq LIMIT ${p("limit")})`,
      )
      .returning(),
  );
  const pin = fast(
    orm
      .update(smsSegments)
      .set({ link: given("link") })
      .where(and(eq(smsSegments.messageId, p("messageId")), sql`link IS NULL`)),
  );
  const updateInFlight = fast(
    orm
      .update(smsSegments)
      .set({ state: "unknown", nextAt: given("giveUpAt"), changedAt: given("now") })
      .where(and(IS_OPEN, sql`state = 'in_flight'`))
      .returning({ messageId: smsSegments.messageId }),
  );

  return {
    /** Inside the accepting transaction: a segment that is ready from `nextAt` on. */
    insert(segment: NewSegment): void {
      remembered.delete(segment.messageId);
      insertRow.run(segment);
    },
    /**
     * Claims due segments of one workspace for a connection, in the order in which they must be written: commit
     * first. All parts of a message are pinned to the link that claims the first of them.
     */
    claim(claim: Claim): SegmentRow[] {
      const rows = updateClaimed.all({ ...claim });
      // Of a text whose first parts went by a link that is gone, the rest keeps together as well.
      const texts = new Set(rows.filter(({ parts }) => parts > 1).map(({ messageId }) => messageId));
      for (const messageId of texts) pin.run({ messageId, link: claim.link });
      for (const row of rows) {
        if (row.parts === 1) remembered.put(row.messageId, [row]);
        else remembered.delete(row.messageId);
        changed.note(row.messageId);
      }
      return rows.toSorted((a, b) => a.nextAt - b.nextAt || a.messageId - b.messageId || a.seq - b.seq);
    },
    /** At a start, before any claim: of what was in flight nobody knows the outcome; how many. */
    markInFlightUnknown(now: number, giveUpAt: number): number {
      const rows = updateInFlight.all({ now, giveUpAt });
      for (const { messageId } of rows) changed.note(messageId);
      remembered.clear();
      return rows.length;
    },
  };
}
