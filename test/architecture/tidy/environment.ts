// The exceptions that test/architecture/tidy.test.ts knows, each with its reason.

/** Where time, chance, timers and fetch come from, each with its reason. Everybody else is handed them. */
export const SOURCES_OF_CHANGE: Record<string, string> = {
  "platform/clock.ts": "the machine's clock",
  "main.ts": "the process must end though nobody reads its last lines",
  "platform/random.ts": "the machine's randomness",
  "platform/db/group-commit.ts": "measures how long a transaction took",
  "platform/http/listen.ts": "a stop must end, also where a test holds the clock; measures how long an answer took",
  "backup/litestream/control.ts": "asks the daemon on its socket",
  "backup/litestream/s3.ts": "asks Amazon for the region of a bucket",
  "backup/standby/lease-object.ts": "reads and writes an object of a bucket",
  "platform/metrics/event-loop-lag.ts": "measures the event loop, whatever the clock says",
  "platform/worker-threads/worker-thread.ts": "a thread that hangs must be given up, also where a test holds the clock",
  "cli/commands/webhook/listen.ts": "asks the API and posts to a developer's program",
  "cli/commands/dev/seed.ts": "asks its own instance for a workspace",
  "cli/client/instance-client.ts": "asks the running instance",
  "cli/commands/health.ts": "asks the running instance whether it is there",
  "cli/commands/update/source.ts": "brings a new executable",
  "cli/commands/dev/messages.ts": "stamps lines for a person",
};

/** Who may hand out the machine's own clock and randomness. */
export const MAY_NAME_SYSTEM_EDGES = ["cli/"];

/** Who, besides store.ts files and db/, holds SQL: each has a database of its own. */
export const OWN_DATABASES = [
  "sandbox/mx/inbox.ts",
  "platform/instance-lock.ts",
  "cli/commands/version.ts",
  "backup/litestream/record.ts",
];
