// The operator's actions on messages that wait: drop them, or make them due now.
// Each is inside a transaction; what is on its way to an SMSC is not touched.

import type { SegmentStore } from "./segment-store.ts";
import { SILENT, toReadyWork, type ReadyWork, type Words } from "./segment-read-store.ts";

type Segments = Pick<SegmentStore, "listByMessage" | "end" | "endReady" | "delayReady">;

/**
 * Ends a message as failed, for this reason. The credits of segments that never reached the SMSC go back (settle-message.ts);
 * whether one whose response was lost was delivered is unknown, and a late receipt corrects it.
 */
export function dropText(
  messageId: number,
  { reason, now }: { reason: string; now: number },
  segments: Segments,
): "dropped" | "running" | "gone" {
  const rows = segments.listByMessage(messageId);
  if (rows.some(({ state }) => state === "in_flight")) return "running";
  const unknown = rows.filter(({ state }) => state === "unknown");
  const lost: Words = { ...SILENT, category: "outcome_unknown", reason };
  for (const row of unknown) segments.end(row, { state: "failed", now }, lost);
  const unsent: Words = { ...SILENT, category: "internal_error", reason };
  const ended = segments.endReady(messageId, { state: "failed", now }, unsent);
  return ended + unknown.length > 0 ? "dropped" : "gone";
}

/** Makes what waits of a message due now; the work to nudge its links with, null: nothing of it waits for a time. */
export function hastenText(messageId: number, now: number, segments: Segments): ReadyWork | null {
  const later = segments.listByMessage(messageId).filter(({ state, nextAt }) => state === "ready" && nextAt > now);
  const [row] = later;
  if (row === undefined) return null;
  segments.delayReady(messageId, now);
  return toReadyWork(row, now);
}
