import { toIsoTime } from "../../platform/http/times.ts";
import type { Suppression } from "./schema.ts";
import type { SuppressionRow } from "./store.ts";

/** A row as the API shows it. */
export function showSuppression(row: Omit<SuppressionRow, "id" | "workspaceId">): typeof Suppression.static {
  const { address, reason, channel, createdAt } = row;
  return { address, reason, channel, suppressedAt: toIsoTime(createdAt) };
}
