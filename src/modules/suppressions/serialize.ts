import { toIsoTime } from "../../platform/http/times.ts";
import { ERASED_RECIPIENT } from "../recipients/erased.ts";
import type { Suppression } from "./schema.ts";
import type { SuppressionChange } from "./store.ts";

/** A row as the API shows it. */
export function showSuppression(row: Omit<SuppressionChange["row"], "workspaceId">): typeof Suppression.static {
  const { reason, channel, list = "", createdAt, isErased = false } = row;
  const address = isErased ? ERASED_RECIPIENT[channel] : row.address;
  return { address, reason, channel, list: list === "" ? null : list, suppressedAt: toIsoTime(createdAt) };
}
