// The events of emails. Each is recorded in the transaction that makes it true: email.queued and email.scheduled in
// api/accept.ts and api/reschedule.ts, email.delivery_delayed in delivery/record-result.ts, all others here, with the end
// of the email.

import type { Recorder } from "../events/record.ts";
import type { EventType } from "../events/schema.ts";
import { showState } from "./api/serialize.ts";
import type { QueueStore } from "./queue/store.ts";
import type { EmailEnd, EmailStore, StoredStatus } from "./store/store.ts";

type EmailEventType = Extract<EventType, `email.${string}`>;

/** Records an event inside the transaction; `at` in Unix ms. */
export type RecordEmailEvent = (type: EmailEventType, email: { id: number; workspaceId: number }, at: number) => void;

/** Records an email as its rows are at that moment; nothing is read where nobody wants the event. */
export function createEmailEvents(emails: EmailStore, recorder: Recorder): RecordEmailEvent {
  return (type, { id, workspaceId }, at) => {
    if (!recorder.isWanted(workspaceId, type)) return;
    const found = emails.findStateById(id);
    if (found === undefined) return;
    recorder.record({ workspaceId, type, resource: found.email.uid, at, data: () => showState(found) });
  };
}

const END_EVENTS = {
  sent: "email.sent",
  delivered: "email.delivered",
  bounced: "email.bounced",
  complained: "email.complained",
  failed: "email.failed",
  suppressed: "email.suppressed",
  canceled: "email.canceled",
} satisfies Record<EmailEnd["status"], EmailEventType>;

/** In the bounce of an email that no server has answered about. */
export const NO_REPLY = { smtpCode: null, enhancedCode: null, mx: null };

export interface EndDeps {
  emails: EmailStore;
  recordEvent: RecordEmailEvent;
}

/** Inside a transaction: ends an email that was queued, or that has ended as `from` says. Nothing else ends one. */
export function endEmail(id: number, end: EmailEnd, deps: EndDeps, from: StoredStatus = "queued"): void {
  const { workspaceId } = deps.emails.setEnd(id, end, from);
  deps.recordEvent(END_EVENTS[end.status], { id, workspaceId }, end.endedAt);
}

/** Inside a transaction: ends a queued email of which no attempt runs. Its attempts so far; null: one runs, or it is not queued. */
export function endWaiting(
  id: number,
  end: Omit<EmailEnd, "attempts">,
  deps: EndDeps & { queue: Pick<QueueStore, "removeWaiting"> },
): number | null {
  const attempts = deps.queue.removeWaiting(id);
  if (attempts !== null) endEmail(id, { ...end, attempts }, deps);
  return attempts;
}
