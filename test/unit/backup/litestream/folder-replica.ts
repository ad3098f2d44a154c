/** Data directories that are replicated to one folder, with the real daemon's commands. */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspectReplica, readCatalog } from "../../../../src/backup/litestream/catalog.ts";
import { findLocalLineage, Lineages } from "../../../../src/backup/litestream/lineages.ts";
import { restoreLineage } from "../../../../src/backup/litestream/replica.ts";
import { openTools } from "../../../../src/backup/litestream/tools.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

export const LIMIT_MS = 30_000;
export const HOUR_MS = 3_600_000;
export const RETENTION_MS = 72 * HOUR_MS;

export async function makeReplicated() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-lineages-"));
  const url = join(folder, "copies");
  const clock = fakeClock();
  const steady = fakeClock();
  let isOver = false;
  const events: { name: string; fields: Record<string, unknown> }[] = [];
  const log = {
    event: (name: string, fields = {}) => void events.push({ name, fields }),
    error: (_: string, error: unknown) => {
      if (!isOver) throw error;
    },
  };
  const open = async (name: string) => {
    const dataDir = join(folder, name);
    mkdirSync(dataDir);
    const replication = {
      url,
      endpoint: null,
      region: "",
      sftpKeyFile: null,
      sftpHostKey: null,
      acknowledge: "disk" as const,
    };
    const times = { syncIntervalMs: 100, snapshotIntervalMs: HOUR_MS, retentionMs: RETENTION_MS };
    const keys = { accessKeyId: null, secretAccessKeyFile: null };
    const database = join(dataDir, "pombo.db");
    const tools = await openTools({ ...replication, ...times, ...keys }, { dataDir, database });
    for (const file of [tools.places.database, tools.places.owner]) {
      using made = new Database(file);
      made.run("PRAGMA journal_mode = WAL");
      made.run("CREATE TABLE t (v TEXT)");
    }
    const deps = { tools, instance: "i", boot: name, limitMs: LIMIT_MS, clock, steady, random: systemRandom, log };
    const lineages = new Lineages(deps);
    return {
      tools,
      dataDir,
      lineages,
      /** One change, copied as the daemon does it. */
      async copy(value: string) {
        using file = new Database(tools.places.database);
        file.run("PRAGMA wal_autocheckpoint = 0");
        file.run("INSERT INTO t VALUES (?)", [value]);
        const config = await Bun.file(tools.places.config).text();
        const { code, err } = await tools.run(["replicate", "-once"], [], { config, limitMs: LIMIT_MS });
        expect({ code, err }).toMatchObject({ code: 0 });
      },
      /** Begins a new lineage, long after the one before. */
      renew() {
        steady.advance(1_000 * HOUR_MS);
        return lineages.prepare("for the test");
      },
      /** As the check each minute does, here with the current lineage whole. */
      async settle() {
        await lineages.inspect();
        await lineages.settle(findLocalLineage(tools.places) ?? "");
      },
      async catalog() {
        const catalog = await readCatalog(tools, LIMIT_MS);
        return catalog.kind === "read" ? catalog.lineages : [];
      },
      /** What a restore brings back. */
      async restored(): Promise<string[] | string> {
        const { replica } = await inspectReplica(tools, { limitMs: LIMIT_MS });
        if (replica.kind !== "backup") return replica.kind;
        const to = join(folder, `${Bun.randomUUIDv7()}.db`);
        expect(await restoreLineage(tools, replica.lineage, { to, how: "full" })).toBeNull();
        using file = new Database(to);
        return file
          .query<{ v: string }, []>("SELECT v FROM t")
          .all()
          .map(({ v }) => v);
      },
    };
  };
  return {
    url,
    clock,
    steady,
    events,
    open,
    [Symbol.dispose]() {
      // What is cleaned beside the turn may still be at it.
      isOver = true;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
