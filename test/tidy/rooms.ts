// The map: which room may import which. ARCHITECTURE.md prints the same table, and test/tidy.test.ts
// holds the code to it. "dns" is the whole room (of a feature room: its doors), "dns/client.ts" one
// file, "type dns/client.ts" its types alone.

/** Files beside main.ts that know no room, for everybody. */
export const FOR_ALL = ["clock.ts", "random.ts", "id.ts", "log.ts", "errors.ts", "config.ts", "build.ts", "trouble.ts"];

/** Nouns of the product. From outside only their doors are used; what else is, is listed by file. */
export const FEATURE_ROOMS = [
  "domains",
  "emails",
  "events",
  "idempotency",
  "inbound",
  "keys",
  "plans",
  "sms",
  "submission",
  "suppressions",
  "webhooks",
  "workspaces",
];
export const DOORS = ["schema.ts", "store.ts", "record.ts"];

const PROTOCOL_ROOMS = [
  "db",
  "dkim",
  "dns",
  "dsn",
  "http",
  "keyring",
  "metrics",
  "mime",
  "net",
  "queue",
  "smtp",
  "threads",
];
/** What the composition root builds and joins. */
const PARTS = [...PROTOCOL_ROOMS, ...FEATURE_ROOMS];

export const ROOMS: Record<string, readonly string[]> = {
  "main.ts": ["cli"],
  // The entry of the second thread.
  "thread.ts": ["threads", "dkim", "emails/compose.ts", "emails/prepare.ts"],
  cli: ["app.ts", "lock.ts", "sandbox", ...PARTS, "keys/key.ts"],
  "app.ts": [
    "api.ts",
    "lock.ts",
    "sender.ts",
    "stores.ts",
    ...PARTS,
    "domains/keychain.ts",
    "emails/abandon.ts",
    "emails/relay.ts",
    "emails/relay-settings.ts",
    "emails/preparer.ts",
    "emails/composer.ts",
    "type emails/body.ts",
    "type emails/compose.ts",
    "type emails/prepare.ts",
    "idempotency/purge.ts",
    "keys/verify.ts",
  ],
  "api.ts": [
    "http",
    "net",
    "domains/routes.ts",
    "emails/routes.ts",
    "type emails/accept.ts",
    "keys/routes.ts",
    "workspaces/routes.ts",
  ],
  "stores.ts": ["db", "domains", "emails", "idempotency", "keys", "plans", "queue", "suppressions", "workspaces"],
  // The sending half of the composition root.
  "sender.ts": [
    "db",
    "dns",
    "keyring",
    "net",
    "queue",
    "smtp",
    "domains",
    "domains/keychain.ts",
    "emails",
    "emails/deliver.ts",
    "emails/refusals.ts",
    "type emails/composer.ts",
    "type emails/relay.ts",
    "own-addresses.ts",
    "suppressions",
    "type app.ts",
  ],
  "own-addresses.ts": [],
  "lock.ts": [],
  "clock.ts": [],
  "random.ts": [],
  "id.ts": [],
  "log.ts": [],
  "errors.ts": [],
  "build.ts": [],
  "trouble.ts": [],
  "config.ts": [
    "config-read.ts",
    "config-relay.ts",
    "config-setting.ts",
    "config-site.ts",
    "config-toml.ts",
    "config-units.ts",
  ],
  "config-read.ts": ["config-setting.ts", "config-toml.ts", "config-units.ts"],
  // A password may go without TLS to this machine alone.
  "config-site.ts": ["config-setting.ts"],
  "config-relay.ts": ["config-setting.ts", "type config-toml.ts", "net"],
  "config-setting.ts": [],
  "config-toml.ts": [],
  "config-units.ts": [],

  db: [],
  queue: ["db"],
  // The one table of status codes must know a full disk from a bug.
  http: ["db/storage-error.ts", "net"],
  mime: [],
  // A bounce repeats a server's answer: the same words mean the same, and are cleaned the same way.
  dsn: ["smtp/classify.ts", "smtp/reply.ts"],
  net: [],
  dns: [],
  keyring: [],
  // It counts what others tell it, and knows of their rooms nothing but the queue's rows.
  metrics: ["db", "http/listen.ts"],
  threads: [],
  dkim: ["type dns/client.ts"],
  smtp: ["dns", "net"],

  idempotency: ["db", "http"],
  suppressions: ["db"],
  plans: ["db"],
  domains: ["db", "http", "keyring", "mime", "dkim", "dns"],
  keys: ["db", "http", "type domains/store.ts"],
  // A workspace is made with its first key, in one transaction.
  workspaces: ["db", "http", "keys", "keys/create.ts"],
  emails: [
    "db",
    "queue",
    "http",
    "mime",
    "dkim",
    "dns",
    "dsn",
    "net",
    "smtp",
    "domains",
    "type domains/keychain.ts",
    "idempotency",
    "idempotency/key.ts",
    "plans",
    "plans/quota.ts",
    "suppressions",
    "threads",
  ],
  // Its DNS publishes what the owner of each registered domain would publish.
  sandbox: ["dkim", "dns", "domains", "domains/records.ts"],
};

/**
 * Values in, values out: a room ("mime/") or a file. Such a file imports no other kind but for types,
 * and touches no clock, chance, file, socket, process or timer.
 */
export const PURE = [
  "mime/",
  "dsn/",
  "net/",
  "build.ts",
  "errors.ts",
  "id.ts",
  "config-read.ts",
  "config-relay.ts",
  "config-setting.ts",
  "config-site.ts",
  "config-toml.ts",
  "config-units.ts",
  "dkim/canonicalize.ts",
  "dkim/record.ts",
  "dkim/signature.ts",
  "dkim/tags.ts",
  "dns/lookup.ts",
  "dns/wire.ts",
  "domains/compare.ts",
  "domains/records.ts",
  "domains/status.ts",
  "emails/body.ts",
  "emails/prepare.ts",
  "emails/refusals.ts",
  "emails/show.ts",
  "emails/status.ts",
  "emails/text-from-html.ts",
  "emails/timeline.ts",
  "emails/tries.ts",
  "http/methods.ts",
  "http/rules.ts",
  "http/token-buckets.ts",
  "metrics/counters.ts",
  "metrics/gauges.ts",
  "metrics/recent.ts",
  "metrics/registry.ts",
  "queue/heap.ts",
  "queue/lanes.ts",
  "queue/retry.ts",
  "smtp/classify-relay.ts",
  "smtp/classify-rules.ts",
  "smtp/classify.ts",
  "smtp/content.ts",
  "smtp/providers.ts",
  "smtp/reply.ts",
];

/** Where time, chance, timers and fetch come from, each with its reason. Everybody else is handed them. */
export const SOURCES_OF_CHANGE: Record<string, string> = {
  "clock.ts": "the machine's clock",
  "random.ts": "the machine's randomness",
  "db/commit.ts": "measures how long a transaction took",
  "http/listen.ts": "a stop must end, also where a test holds the clock; measures how long an answer took",
  "metrics/loop-lag.ts": "measures the event loop, whatever the clock says",
  "threads/line.ts": "a thread that hangs must be given up, also where a test holds the clock",
  "cli/dev.ts": "asks its own instance for a workspace",
  "cli/dev-words.ts": "stamps lines for a person",
  "sandbox/page-list.ts": "runs in the browser",
  "sandbox/page-reader.ts": "runs in the browser",
};

/** Who may hand out the machine's own clock and randomness. */
export const MAY_NAME_SYSTEM_EDGES = ["cli/"];

/** Who, besides store.ts files and db/, holds SQL: each has a database of its own. */
export const OWN_DATABASES = ["sandbox/inbox.ts", "lock.ts", "cli/version.ts"];
