// Applies each link event to the rows.

import type { DuplicateFilter } from "../inbound/duplicate-filter.ts";
import type { InboundDeps } from "../inbound/help.ts";
import { receiveMessage } from "../inbound/receive.ts";
import type { Receipts } from "../receipts/process.ts";
import type { LinkEvent } from "./link-event.ts";
import type { LinkStore } from "./link-store.ts";
import type { SubmitResponses } from "./submit-responses.ts";
import type { ReadyWork } from "../queue/segment-read-store.ts";

export interface ReducerDeps {
  responses: SubmitResponses;
  receipts: Receipts;
  inbound: InboundDeps;
  duplicates: Pick<DuplicateFilter, "isRepeat">;
  history: Pick<LinkStore, "note">;
}

/** Inside a transaction, which runs it again after a rollback: writes the event; the work that follows from it. */
export function applyEvent(event: LinkEvent, now: number, deps: ReducerDeps): ReadyWork[] {
  const { responses, receipts, inbound, duplicates, history } = deps;
  const route = event.link.route.config.name;
  switch (event.kind) {
    case "submitted":
      return [];
    case "unsent":
      return responses.unsent(event.submission, event.reason, now);
    case "responded":
      return responses.handleResponse(event.submission, event, now);
    case "timed_out":
    case "lost":
      return responses.handleLostResponse(event.submission, now);
    case "received":
      if (event.receipt !== null) return receipts.take(route, event.receipt, event.message, now);
      if (duplicates.isRepeat(route, event.message, event.origin)) return [];
      return receiveMessage(route, event.message, now, inbound);
    case "changed":
      history.note({ link: event.link.name, ...event.change, createdAt: now });
      return [];
  }
}
