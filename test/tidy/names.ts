// What the map speaks of: files and rooms that are named together.

/** Files beside main.ts that know no room, for everybody. */
export const FOR_ALL = [
  "clock.ts",
  "clock-watch.ts",
  "random.ts",
  "id.ts",
  "log.ts",
  "errors.ts",
  "config.ts",
  "build.ts",
  "trouble.ts",
  "named-files.ts",
  "plain-file.ts",
  "shares.ts",
];

/** Nouns of the product. From outside only their doors are used; what else is, is listed by file. */
export const FEATURE_ROOMS = [
  "domains",
  "emails",
  "events",
  "idempotency",
  "inbound",
  "keys",
  "operator",
  "plans",
  "sms",
  "submission",
  "suppressions",
  "webhooks",
  "workspaces",
];
export const DOORS = ["schema.ts", "store.ts", "record.ts"];

export const PROTOCOL_ROOMS = [
  "db",
  "dkim",
  "dns",
  "docs",
  "dsn",
  "http",
  "keyring",
  "litestream",
  "metrics",
  "mime",
  "net",
  "queue",
  "smpp",
  "smtp",
  "threads",
  "update",
];
