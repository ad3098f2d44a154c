// The status of an email, as it is now.

import { Badge, liveStatuses, t, type Tone } from "../../../kit.ts";

const TONES: Record<string, Tone> = {
  scheduled: "plain",
  queued: "plain",
  sending: "plain",
  delivery_delayed: "slow",
  sent: "good",
  delivered: "good",
  bounced: "bad",
  failed: "bad",
  complained: "bad",
  suppressed: "slow",
  canceled: "plain",
};

/** As the page read it, or as the stream told since. */
export function findStatus(id: string, read: string | undefined): string {
  return liveStatuses.value[id] ?? read ?? "queued";
}

export function StatusBadge({ id, status }: { id: string; status: string | undefined }) {
  const now = findStatus(id, status);
  const words: Record<string, string> = t().status;
  return <Badge tone={TONES[now] ?? "plain"}>{words[now] ?? now}</Badge>;
}
