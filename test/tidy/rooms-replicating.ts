// A part of the map (rooms.ts): the database kept a second time, and brought back.

export const REPLICATING: Record<string, readonly string[]> = {
  // The replicating part of the composition root.
  "replicator.ts": [
    "type app.ts",
    "drill.ts",
    "db",
    "litestream",
    "metrics",
    "type queue/pause.ts",
    "type workspaces/store.ts",
    "update",
  ],
  // What comes before there is a database.
  "opening.ts": ["type app.ts", "ground.ts", "lock.ts", "page-check.ts", "replicator.ts", "db", "litestream", "update"],
  // Damaged pages, looked for on a thread of its own.
  "open-thread.ts": ["type threads/line.ts"],
  "page-check.ts": ["open-thread.ts", "threads"],
  // The replica restored for a look.
  "drill.ts": ["type app.ts", "ground.ts", "lock.ts", "page-check.ts", "db", "litestream"],
  // The database brought back; and a new key where the old one is lost.
  "restore.ts": [
    "app.ts",
    "ground.ts",
    "lock.ts",
    "rekey.ts",
    "update/settle.ts",
    "db",
    "dkim",
    "domains",
    "keyring",
    "litestream",
    "queue",
    "webhooks",
    "workspaces",
  ],
  "rekey.ts": [
    "type db/open.ts",
    "type dkim/keys.ts",
    "domains",
    "domains/keychain.ts",
    "domains/records.ts",
    "domains/status.ts",
    "type keyring/seal.ts",
    "webhooks",
    "webhooks/secrets.ts",
    "webhooks/sign.ts",
  ],
};
