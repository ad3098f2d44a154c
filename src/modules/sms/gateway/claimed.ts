import type { AfterCommit } from "../../../platform/db/after-commit.ts";
import type { Log } from "../../../platform/log.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { type Submission, flightOf } from "./submission.ts";
import type { Route } from "./route-settings.ts";
import type { SegmentStore, Words } from "../queue/segment-store.ts";
import type { SegmentRow } from "../queue/segment-read-store.ts";
import type { MessageRow, MessageStore } from "../queue/message-store.ts";
import type { WorkStore } from "../queue/work-store.ts";

// What a claim has brought: flights, and segments that are not to be sent any more.

export interface ClaimedDeps {
  sms: {
    segments: SegmentStore;
    messages: Pick<MessageStore, "byId">;
    work: Pick<WorkStore, "claimRest">;
    facts: Pick<AfterCommit, "run">;
  };
  suppressions: Pick<SuppressionStore, "reasonForNumber">;
  log: Log;
}

interface ClaimedBy {
  link: string;
  leaseEpoch: number;
  now: number;
}

/** Of claimed segments those that can still be sent, inside the transaction of their claim; the others end here. */
export function flightsOf(rows: SegmentRow[], route: Route, claim: ClaimedBy, deps: ClaimedDeps): Submission[] {
  const { sms } = deps;
  const isWhole = route.config.segmentation === "payload";
  const flights: Submission[] = [];
  const done = new Set<number>();
  let message: MessageRow | undefined;
  for (const row of rows) {
    if (done.has(row.messageId)) continue;
    if (message?.id !== row.messageId) message = sms.messages.byId(row.messageId);
    const whole = isWhole && row.parts > 1 ? wholeOf(row, rows, claim, deps) : [row];
    if (isWhole) done.add(row.messageId);
    const why = message === undefined ? GONE : objectionTo(row, message, claim.now, deps);
    if (message === undefined || why !== null) {
      const { state, ...said } = why ?? GONE;
      for (const part of whole) sms.segments.end(part, { state, now: claim.now }, said);
      continue;
    }
    try {
      flights.push(flightOf(whole, message, route, claim.now));
    } catch (error) {
      const said = { ...SILENT, category: "internal_error" } as const;
      for (const part of whole) sms.segments.end(part, { state: "failed", now: claim.now }, said);
      sms.facts.run(() => deps.log.error("sms submit", error, { message: row.messageId, seq: row.seq }));
    }
  }
  return flights;
}

/** All parts of a text, those that the claim left among them. */
function wholeOf(row: SegmentRow, rows: SegmentRow[], claim: ClaimedBy, { sms }: ClaimedDeps): SegmentRow[] {
  const claimed = rows.filter(({ messageId }) => messageId === row.messageId);
  const rest = sms.work.claimRest(row.messageId, claim);
  return [...claimed, ...rest].toSorted((a, b) => a.seq - b.seq);
}

/** Why a segment is not to be sent any more. */
function objectionTo(
  row: SegmentRow,
  message: MessageRow,
  now: number,
  { suppressions }: ClaimedDeps,
): (Words & { state: "failed" | "expired" }) | null {
  const { providerStatus, providerCode, reason, category } = row;
  if (message.expiresAt <= now)
    return { providerStatus, providerCode, reason, category: category ?? "expired", state: "expired" };
  // What was begun is ended: half a text helps nobody. Who asks for help gets it.
  if (row.seq > 1 || message.isHelp) return null;
  const suppressed = suppressions.reasonForNumber(row.workspaceId, message.recipient);
  if (suppressed === null) return null;
  return { ...SILENT, category: suppressed === "invalid_number" ? "unknown_subscriber" : "opted_out", state: "failed" };
}

const SILENT: Words = { providerStatus: null, providerCode: null, category: null, reason: null };
/** Its workspace was deleted. */
const GONE = { ...SILENT, category: "internal_error", state: "failed" } as const;
