// A whole pombo with the real daemon and a folder as its replica.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../../../src/server/server.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { StartError } from "../../../src/platform/errors.ts";
import { loadInstanceKey } from "../../../src/platform/keyring/key-file.ts";
import { getDaemonVersion } from "../../../src/backup/litestream/executable.ts";
import { inspectReplica, readCatalog, writeCatalog } from "../../../src/backup/litestream/catalog.ts";
import { restoreLineage } from "../../../src/backup/litestream/replica.ts";
import { openTools } from "../../../src/backup/litestream/tools.ts";
import { openOffline } from "../../../src/server/offline.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { isId, newId } from "../../../src/platform/uuid.ts";
import { databaseFile } from "../../../src/platform/db/open.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { addAccess, ALL_ACCESS, countAccess, ENDED_ACCESS } from "../../support/people/rows.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";

const hasDaemon = getDaemonVersion() !== null;
if (!hasDaemon) console.warn("SKIPPED: replication needs Litestream: script/litestream brings it.");

function replicaFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "pombo-replica-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const startReplicated = (url: string) => startInstance({ configure: (config) => void (config.replication.url = url) });

const logged = (pombo: Instance, name: string) => pombo.events.filter((each) => each.name === name);

/** Starts over the same data directory, with a choice; ended at once. */
async function startAgain(pombo: Instance, replica = {}): Promise<string> {
  const instanceKey = loadInstanceKey({ file: pombo.config.secrets.instanceKeyFile, env: {} });
  const log = { event: () => undefined, error: () => undefined };
  try {
    const environment = { clock: systemClock, random: systemRandom, log };
    const app = await startApp({ config: pombo.config, instanceKey, environment, replica });
    await app.stop(0);
    return "started";
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
}

/** What the daemon makes of the replica. */
async function restored(pombo: Instance, folder: string): Promise<string> {
  const { dataDir, replication } = pombo.config;
  const tools = await openTools(replication, { dataDir, database: join(dataDir, "pombo.db") });
  const file = join(folder, `restored-${Bun.randomUUIDv7()}.db`);
  const { replica } = await inspectReplica(tools, { limitMs: 20_000 });
  expect(replica).toMatchObject({ kind: "backup" });
  const { lineage } = replica as { lineage: string };
  expect(await restoreLineage(tools, lineage, { to: file, how: "full" })).toBeNull();
  return file;
}

function subjectsIn(file: string): string[] {
  const database = new Database(file);
  try {
    return database
      .query<{ subject: string }, []>("SELECT subject FROM email ORDER BY id")
      .all()
      .map(({ subject }) => subject);
  } finally {
    database.close();
  }
}

/** Opens the database as the operator's commands do while pombo is stopped, writes to it and closes it. */
async function runCommandOf({ config, ...pombo }: Instance): Promise<void> {
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: {} });
  const log = { event: () => undefined, error: () => undefined };
  const opened = await openOffline({
    config,
    instanceKey,
    environment: { clock: systemClock, random: systemRandom, log },
  });
  if (opened.kind !== "open") throw new Error("pombo still runs");
  const path = `http://localhost/api/v1/operator/workspaces/${pombo.workspace.id}/credits`;
  const headers = { "content-type": "application/json" };
  const request = new Request(path, { method: "POST", body: JSON.stringify({ amount: 5 }), headers });
  expect((await opened.handle(request)).status).toBeLessThan(300);
  await opened.close();
}

/** The size of each copied change, the first one being a whole copy. */
function copiedBytes(replica: string): number[] {
  const [lineage = ""] = readdirSync(replica).filter(isId);
  const folder = join(replica, lineage, "ltx", "0");
  return readdirSync(folder)
    .toSorted()
    .map((name) => statSync(join(folder, name)).size);
}

function instanceIn(file: string): string {
  const database = new Database(file);
  try {
    const query = database.query<{ value: string }, []>("SELECT value FROM instance WHERE name = 'instance_id'");
    return query.get()?.value ?? "";
  } finally {
    database.close();
  }
}

test.skipIf(!hasDaemon)("an ordered stop leaves nothing that is not in the replica, and no daemon", async () => {
  using replica = replicaFolder();
  await using pombo = await startReplicated(replica.path);
  const subjects = Array.from({ length: 40 }, (_, at) => `Email ${at}`);
  for (const subject of subjects) {
    const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject }) });
    expect(status).toBe(202);
  }
  const { pid } = pombo.app.replicator?.status() ?? {};
  await pombo.app.stop(0);
  expect(logged(pombo, "replication.stopped")[0]?.fields).toMatchObject({ isComplete: true });
  expect(existsSync(`/proc/${pid}`)).toBe(false);
  expect(subjectsIn(await restored(pombo, replica.path))).toEqual(subjects);
  // Neither its own closing nor a command of the operator's has cost a new whole copy.
  await runCommandOf(pombo);
  expect(await startAgain(pombo)).toBe("started");
  await runCommandOf(pombo);
  await pombo.restart();
  await pombo.app.stop(0);
  const [first = 0, ...later] = copiedBytes(replica.path);
  expect(Math.max(...later)).toBeLessThan(first);
  await pombo.restart();
  expect(logged(pombo, "replication.output")).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test.skipIf(!hasDaemon)(
  "a stop that cannot note its end copies everything all the same, and ends the daemon",
  async () => {
    using replica = replicaFolder();
    await using pombo = await startReplicated(replica.path);
    const { pid } = pombo.app.replicator?.status() ?? {};
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject: "Last" }) });
    // What stands there now takes no row, as a full disk would not.
    const file = join(pombo.config.dataDir, "litestream/owner.db");
    const owner = new Database(file);
    owner.run("DROP TABLE record");
    owner.run("CREATE VIEW record AS SELECT 1 AS id, '' AS value");
    owner.close();
    await pombo.app.stop(0);
    expect(logged(pombo, "replication.owner_unwritten")).toHaveLength(1);
    expect(logged(pombo, "replication.stopped")[0]?.fields).toMatchObject({ isComplete: true });
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(subjectsIn(await restored(pombo, replica.path))).toEqual(["Last"]);
  },
);

test.skipIf(!hasDaemon)(
  "a replica on the disk of the database is told at the start and in the status, not as trouble",
  async () => {
    await using pombo = await startInstance({
      configure: (config) => void (config.replication.url = join(config.dataDir, "replica")),
    });
    const [told] = logged(pombo, "replication.same_disk");
    expect(told?.fields["words"]).toContain("is on the same disk as the database");
    const { body } = await pombo.operator.call("GET", "/api/v1/operator/status");
    expect(body).toMatchObject({ data: { issues: [], replication: { reason: told?.fields["words"] } } });
  },
);

test.skipIf(!hasDaemon)("a replica that holds a backup is not begun over by an empty data directory", async () => {
  using replica = replicaFolder();
  await using first = await startReplicated(replica.path);
  await first.app.stop(0);
  await using second = await startInstance();
  await second.app.stop(0);
  // Made and never started.
  for (const name of ["pombo.db", "pombo.db-wal", "pombo.db-shm", "marker"])
    rmSync(join(second.directory, name), { force: true });
  second.config.replication.url = replica.path;
  const words = await startAgain(second);
  expect(words).toContain("holds a backup of 2");
  expect(words).toContain("pombo restore");
  expect(words).toContain("pombo serve --ignore-existing-backup");
  // A file in the way of the folder.
  second.config.replication.url = join(second.directory, "instance.key", "copies");
  expect(await startAgain(second)).toContain("cannot be seen");
  second.config.replication.url = join(replica.path, "elsewhere");
  expect(await startAgain(second)).toContain("run pombo init first");
});

test.skipIf(!hasDaemon)("another instance's replica is refused, unless it is taken over", async () => {
  using replica = replicaFolder();
  await using first = await startReplicated(replica.path);
  await first.app.stop(0);
  await using second = await startInstance();
  await second.app.stop(0);
  second.config.replication.url = replica.path;
  const words = await startAgain(second);
  expect(words).toContain("belongs to another instance of pombo");
  expect(await startAgain(second, { takeOver: true })).toBe("started");
  expect(instanceIn(await restored(second, replica.path))).toBe(instanceIn(join(second.directory, "pombo.db")));
  expect(await startAgain(first)).toContain("belongs to another instance of pombo");
});

test.skipIf(!hasDaemon)("a database of an earlier time starts with delivery paused, until it is resumed", async () => {
  using replica = replicaFolder();
  await using pombo = await startReplicated(replica.path);
  await pombo.app.stop(0);
  const names = ["pombo.db", "pombo.db-wal", "marker"];
  const earlier = mkdtempSync(join(replica.path, "earlier-"));
  for (const name of names) cpSync(join(pombo.directory, name), join(earlier, name));
  await pombo.restart();
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject: "First" }) });
  await pombo.app.worker.idle();
  await pombo.app.stop(0);
  // The whole disk of an earlier time, marker and all: the replica knows better.
  for (const name of [...names, "pombo.db-shm", "litestream"])
    rmSync(join(pombo.directory, name), { recursive: true, force: true });
  for (const name of names) cpSync(join(earlier, name), join(pombo.directory, name));
  await pombo.restart();
  expect(logged(pombo, "delivery.paused")[0]?.fields["reason"]).toContain("the replica holds more");
  await expectPaused(pombo);
});

test.skipIf(!hasDaemon)("a machine put back is recognized when its lineage has long left the replica", async () => {
  using replica = replicaFolder();
  await using pombo = await startReplicated(replica.path);
  await waitUntil("a lineage", 30_000, () => readdirSync(replica.path).some(isId));
  await pombo.app.stop(0);
  const [old = ""] = readdirSync(replica.path).filter(isId);
  const { config } = pombo;
  const tools = await openTools(config.replication, {
    dataDir: config.dataDir,
    database: databaseFile(config.dataDir),
  });
  const catalog = await readCatalog(tools, 30_000);
  const [first] = catalog.kind === "read" ? catalog.lineages : [];
  // The same start has begun another since, and the first is past the retention. The disk is as it was before that.
  const newer = newId(Date.now(), systemRandom);
  renameSync(join(replica.path, old), join(replica.path, newer));
  expect(await writeCatalog(tools, [{ ...first!, id: newer, wholeAt: Date.now() }], 30_000)).toBeNull();
  await pombo.restart();
  expect(logged(pombo, "delivery.paused")[0]?.fields["reason"]).toContain("the replica holds more");
});

test("sessions, links and open invitations last over a restart, and end in a database that was put back", async () => {
  await using pombo = await startInstance();
  const access = () => countAccess(pombo.app.db.sqlite);
  addAccess(pombo.app.db.sqlite);
  await pombo.restart();
  expect(access()).toEqual(ALL_ACCESS);
  // As after putting back a backup.
  await pombo.restart(() => rmSync(join(pombo.directory, "marker")));
  expect(access()).toEqual(ENDED_ACCESS);
});

test("a database put back without its marker, or behind it, starts with delivery paused", async () => {
  await using pombo = await startInstance();
  await pombo.app.stop(0);
  rmSync(join(pombo.directory, "marker"));
  await pombo.restart();
  await expectPaused(pombo);
  await pombo.restart();
  expect(logged(pombo, "delivery.paused")).toHaveLength(1);
  cpSync(join(pombo.directory, "pombo.db"), join(pombo.directory, "old.db"));
  await pombo.app.stop(0);
  cpSync(join(pombo.directory, "pombo.db"), join(pombo.directory, "old.db"));
  await pombo.restart();
  await pombo.app.stop(0);
  rmSync(join(pombo.directory, "pombo.db-wal"), { force: true });
  cpSync(join(pombo.directory, "old.db"), join(pombo.directory, "pombo.db"));
  await pombo.restart();
  expect(logged(pombo, "delivery.paused")[1]?.fields["reason"]).toContain("older than the file marker");
});

/** What is accepted waits, over a restart too, and is told of; then it goes on. */
async function expectPaused(pombo: Instance): Promise<void> {
  const subject = `While paused ${Bun.randomUUIDv7()}`;
  const arrived = () => pombo.mx.messages.filter(({ content }) => content.includes(subject)).length;
  const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject }) });
  expect(status).toBe(202);
  await pombo.app.worker.idle();
  await pombo.restart();
  await pombo.app.worker.idle();
  expect(arrived()).toBe(0);
  const ready = await pombo.workspace.call("GET", "/ready");
  expect(ready.status).toBe(200);
  expect(ready.body.issues).toMatchObject([{ component: "delivery" }]);
  await pombo.app.pause.resume();
  await pombo.app.worker.idle();
  expect(arrived()).toBe(1);
  expect((await pombo.workspace.call("GET", "/ready")).body.issues).toEqual([]);
}
