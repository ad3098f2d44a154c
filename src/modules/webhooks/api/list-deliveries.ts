// A page of a webhook's deliveries.

import type { Static } from "@sinclair/typebox";
import { buildPageMeta, parsePage } from "../../../platform/http/pagination.ts";
import type { DeliveryStore } from "../delivery/delivery-store.ts";
import type { WebhookRow } from "../store.ts";
import type { DeliveryQuery } from "./schema.ts";
import { showDelivery } from "./serialize.ts";

/** Those of one status are counted for each page; all of them have a counter. */
const MAX_COUNTED = 10_000;

export function listDeliveries(
  { id, deliveryCount }: WebhookRow,
  query: Static<typeof DeliveryQuery>,
  { deliveries }: { deliveries: Pick<DeliveryStore, "list" | "countStatus"> },
) {
  const page = parsePage(query);
  const status = query.status ?? null;
  const counted = status === null ? deliveryCount : deliveries.countStatus(id, status, MAX_COUNTED + 1);
  const isMinimum = status !== null && counted > MAX_COUNTED;
  const total = isMinimum ? MAX_COUNTED : counted;
  const limit = Math.min(page.limit, total - page.offset);
  const rows = limit > 0 ? deliveries.list(id, { limit, offset: page.offset, status }) : [];
  return {
    data: rows.map(showDelivery),
    meta: { ...buildPageMeta(total, page), ...(isMinimum ? { totalIsMinimum: true } : {}) },
  };
}
