// SMS as the API and its events show them.

import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import type { InboundRow } from "../inbound/store.ts";
import type { InboundSms, SmsRecord } from "./schema.ts";
import type { MessageRow } from "../queue/message-store.ts";

/** `isRead` false: without what it says, as received ones. */
export function showMessage(row: MessageRow, isRead = true): typeof SmsRecord.static {
  const { id, to, from, ...rest } = withoutBody(row);
  return { id, to, from, body: isRead ? row.body : null, ...rest };
}

/** The same as events carry it. */
export function withoutBody(row: MessageRow): Omit<typeof SmsRecord.static, "body"> {
  const { status, deliveryState, failureCategory, providerStatus, providerErrorCode, providerId, failedReason } = row;
  const { segments, encoding, credits, possibleDuplicate } = row;
  return {
    id: row.uid,
    to: row.recipient,
    from: row.sender,
    status,
    deliveryState,
    failureCategory,
    providerStatus,
    providerErrorCode,
    providerId,
    failedReason,
    createdAt: toIsoTime(row.createdAt),
    sentAt: toIsoTimeOrNull(row.sentAt),
    deliveredAt: toIsoTimeOrNull(row.deliveredAt),
    lastEventAt: toIsoTimeOrNull(row.lastEventAt),
    segments,
    encoding,
    credits,
    possibleDuplicate,
  };
}

export function showInbound(row: InboundRow, isRead = true): typeof InboundSms.static {
  return {
    id: row.uid,
    from: row.sender,
    to: row.recipient,
    body: isRead ? row.body : null,
    receivedAt: toIsoTime(row.receivedAt),
  };
}
