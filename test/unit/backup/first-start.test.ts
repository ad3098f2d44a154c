// What the very first start of an instance leaves when it is cut off.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../src/config/config.ts";
import type { Commit } from "../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../src/platform/db/open.ts";
import { Registry } from "../../../src/platform/metrics/registry.ts";
import { DeliveryPause } from "../../../src/platform/queue/delivery-pause.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { openThread } from "../../../src/server/start-mail-worker.ts";
import { startReplicator } from "../../../src/backup/replication.ts";
import { parseConfig } from "../../../src/config/config.ts";
import { fakeClock } from "../../support/fakes/clock.ts";

function configOf(dataDir: string): Config {
  const parsed = parseConfig(`hostname = "mail.example.com"\ndata_dir = ${JSON.stringify(dataDir)}\n`, {
    file: "pombo.toml",
    env: {},
  });
  if (parsed.kind !== "config") throw new Error(JSON.stringify(parsed.errors));
  return parsed.config;
}

test("a first start that is cut off right behind its first commit does not pause the next one", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "pombo-first-"));
  const db = openDatabase(":memory:");
  const kept = new Map<string, string>();
  const settings = {
    get: (name: string) => kept.get(name) ?? null,
    set: (name: string, value: string) => void kept.set(name, value),
  };
  const clock = fakeClock();
  const start = async (commit: Commit) => {
    const pause = new DeliveryPause({
      read: () => settings.get("delivery_paused"),
      write: (value) => settings.set("delivery_paused", value),
      commit,
      commitHere: commit,
      clock,
    });
    const log = { event: () => undefined, error: () => undefined };
    const environment = { clock, random: systemRandom, log };
    const parts = {
      config: configOf(dataDir),
      databaseFile: join(dataDir, "pombo.db"),
      environment,
      db,
      commit,
      barrier: null,
      lease: null,
      pause,
    };
    const replicator = await startReplicator({
      ...parts,
      settings,
      registry: new Registry(),
      openThread,
      choice: {},
    });
    await replicator.settle();
    return pause.isPaused;
  };
  try {
    const cutOff: Commit = (work) => {
      work();
      return Promise.reject(new Error("killed"));
    };
    await expect(start(cutOff)).rejects.toThrow("killed");
    expect(await start((work) => Promise.resolve(work()))).toBe(false);
    // One whose marker is gone is of an earlier time all the same.
    rmSync(join(dataDir, "marker"));
    expect(await start((work) => Promise.resolve(work()))).toBe(true);
  } finally {
    db.close();
    rmSync(dataDir, { recursive: true });
  }
});
