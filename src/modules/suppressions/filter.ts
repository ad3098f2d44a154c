// What a list of suppressions is narrowed to, as its query says.

import { validationError } from "../../platform/http/errors.ts";
import { readAddress, requireAddress } from "./address.ts";
import { MAX_OF_PREFIX } from "./page-store.ts";
import type { FilterQuery } from "./schema.ts";
import type { SuppressionFilter, SuppressionStore } from "./store.ts";

/** Throws 422 for a beginning that too many addresses have. */
export function readFilter(
  workspaceId: number,
  { channel, reason, address, q }: typeof FilterQuery.static,
  { isBroad }: Pick<SuppressionStore, "isBroad">,
): SuppressionFilter {
  const prefix = q === undefined ? null : readPrefix(q);
  if (prefix !== null && isBroad(workspaceId, prefix)) throw tooBroad();
  return {
    workspaceId,
    channel: channel ?? null,
    reason: reason ?? null,
    prefix,
    address: address === undefined ? null : requireAddress(address).address,
  };
}

/** As addresses are stored, as far as that can be said of a part of one. */
function readPrefix(q: string): string {
  const read = readAddress(q);
  return read.kind === "address" ? read.address : q.toLowerCase().normalize("NFC");
}

function tooBroad() {
  const message = `is too short: more than ${MAX_OF_PREFIX.toLocaleString("en")} suppressed addresses begin so`;
  return validationError([{ path: ["q"], message, hint: "Write more of the address." }]);
}
