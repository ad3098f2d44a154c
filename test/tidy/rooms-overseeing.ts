// A part of the map (rooms.ts): what looks across all rooms for the operator.

export const OVERSEEING: Record<string, readonly string[]> = {
  // What the operator's status and queue are made of.
  "overseer.ts": [
    "type api-parts.ts",
    "ground.ts",
    "type texter.ts",
    "type db/open.ts",
    "metrics",
    "type operator/overview.ts",
    "operator/overview-store.ts",
    "type operator/queue-routes.ts",
    "operator/queue-store.ts",
    "type operator/status.ts",
    "type smtp/sites.ts",
  ],
  // The operator's look and hand across the queues of all rooms.
  operator: [
    "db",
    "http",
    "metrics",
    "mime",
    "queue",
    "emails",
    "emails/drop.ts",
    "emails/show.ts",
    "sms/hand.ts",
    "type sms/segment-read-store.ts",
    "type sms/segment-store.ts",
    "webhooks/drop.ts",
    "type webhooks/job-store.ts",
    "type workspaces/store.ts",
  ],
};
