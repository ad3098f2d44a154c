// The status of an SMS, as it is now.

import { Badge, type Data, liveStatuses, t, type Tone } from "../../../kit.ts";

export type SmsStatus = Data<"GET /api/v1/sms">[number]["status"];

/** In the order of a life. */
export const TONES: Record<SmsStatus, Tone> = {
  queued: "plain",
  sending: "plain",
  sent: "good",
  delivered: "good",
  undelivered: "bad",
  failed: "bad",
  expired: "bad",
};

/** As the page read it, or as the stream told since. */
export function findSmsStatus(id: string, read: SmsStatus): SmsStatus {
  return (liveStatuses.value[id] as SmsStatus | undefined) ?? read;
}

export function SmsStatusBadge({ id, status }: { id: string; status: SmsStatus }) {
  const now = findSmsStatus(id, status);
  return <Badge tone={TONES[now]}>{t().sms.statuses[now]}</Badge>;
}
