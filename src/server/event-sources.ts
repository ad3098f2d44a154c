// Which event each change in the stores of SMS and suppressions emits. It is written in the transaction of the
// change, so that nobody who suppresses an address can forget it.

import { showInbound, withoutBody } from "../modules/sms/api/serialize.ts";
import { showSuppression } from "../modules/suppressions/serialize.ts";
import type { Recorder } from "../modules/events/record.ts";
import type { EventType } from "../modules/events/schema.ts";
import type { MessageChange } from "../modules/sms/queue/message-store.ts";
import type { RateNotice } from "../modules/plans/sending-block.ts";
import type { Clock } from "../platform/clock.ts";
import type { Stores } from "./stores.ts";

const SMS_EVENTS: Record<MessageChange["status"], EventType> = {
  sent: "sms.sent",
  delivered: "sms.delivered",
  undelivered: "sms.undelivered",
  failed: "sms.failed",
  expired: "sms.expired",
};

export function emitStoreEvents({ suppressions, sms }: Stores, recorder: Recorder, clock: Pick<Clock, "now">): void {
  sms.messages.followChanges(({ message, status, at }) => {
    const { workspaceId, uid } = message;
    recorder.record({ workspaceId, type: SMS_EVENTS[status], resource: uid, at, data: () => withoutBody(message) });
  });
  sms.inbound.followTexts((text) => {
    const { workspaceId, uid, receivedAt } = text;
    recorder.record({
      workspaceId,
      type: "sms.received",
      resource: uid,
      at: receivedAt,
      data: () => showInbound(text),
    });
  });
  suppressions.followChanges(({ type, row }) => {
    const { workspaceId, address } = row;
    const data = () => showSuppression(row);
    recorder.record({ workspaceId, type, resource: address, at: clock.now(), data });
  });
}

const RATE_EVENTS: Record<RateNotice["kind"], EventType> = {
  warning: "workspace.sending_warning",
  blocked: "workspace.sending_blocked",
};

/** A workspace's sending was blocked for its rates, or is half way to that. */
export function emitRateEvent(
  { kind, workspaceId, workspace, reason, at }: RateNotice,
  { record }: Pick<Recorder, "record">,
): void {
  const data = () => ({ workspaceId: workspace, reason });
  record({ workspaceId, type: RATE_EVENTS[kind], resource: workspace, at, data });
}
