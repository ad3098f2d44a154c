// Restore drills: the replica restored for a look, each week or when it is asked for.
import { expect, test } from "bun:test";
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { openThread } from "../../../src/server/start-mail-worker.ts";
import { getDaemonVersion } from "../../../src/backup/litestream/executable.ts";
import { type Drill, drillReplica, readDrill, WeeklyDrill } from "../../../src/backup/restore-drill.ts";
import { takeLock } from "../../../src/platform/instance-lock.ts";
import { runHere } from "../../support/cli/kit.ts";
import { isId } from "../../../src/platform/uuid.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";

const hasDaemon = getDaemonVersion() !== null;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function startReplicated() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-drill-"));
  const replica = join(folder, "copies");
  const pombo = await startInstance({
    configure(config) {
      config.replication.url = replica;
      config.metrics.listen = { address: "127.0.0.1", port: 0 };
    },
  });
  // The daemon comes up behind the start.
  await waitUntil("the daemon answers", 20_000, () => existsSync(join(pombo.directory, "lite.sock")));
  return {
    ...{ folder, replica, pombo },
    drill: (environment = {}) =>
      drillReplica({ config: pombo.config, environment: { clock: systemClock, ...environment }, openThread }),
    async [Symbol.asyncDispose]() {
      await pombo[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const seenIn = async (pombo: Instance) =>
  (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data.replication.drill;

test.skipIf(!hasDaemon)(
  "a drill restores all, also what was accepted just now, and leaves only its record",
  async () => {
    await using of = await startReplicated();
    const { pombo } = of;
    expect(await seenIn(pombo)).toBeNull();
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    await pombo.enableSms(pombo.workspace);
    for (const body of ["Bom dia", "Boa tarde"])
      await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body } });
    const made = await of.drill();
    expect(made).toMatchObject({ outcome: "good", goodAt: made.at });
    expect(made.words).toBe(
      "Restored and whole: emails up to number 1, texts up to number 2, 1 workspace, 1 domain; as the database has them.",
    );
    expect(readDrill(pombo.directory)).toEqual(made);
    expect(existsSync(join(pombo.directory, "drill"))).toBe(false);
    expect(await seenIn(pombo)).toMatchObject({ outcome: "good", goodAt: new Date(made.at).toISOString() });
    const metrics = await (await fetch(pombo.app.metricsUrl ?? "")).text();
    expect(metrics).toContain("\npombo_restore_drill_success 1\n");
    expect(metrics).toMatch(/\npombo_restore_drill_last_success_timestamp_seconds \d/);
    expect(pombo.bugs).toEqual([]);
  },
);

test.skipIf(!hasDaemon)(
  "a drill finds damaged pages of the database in use, of which the replica knows nothing",
  async () => {
    await using of = await startReplicated();
    const file = join(of.pombo.directory, "pombo.db");
    expect((await of.drill()).outcome).toBe("good");
    // Into the file, so that no log stands before it.
    of.pombo.app.db.sqlite.run("PRAGMA wal_checkpoint(PASSIVE)");
    const { rootpage } = of.pombo.app.db.sqlite
      .query<{ rootpage: number }, []>("SELECT rootpage FROM sqlite_schema WHERE name = 'attempt'")
      .get() ?? { rootpage: 0 };
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, Buffer.alloc(4_096, 0xa5), 0, 4_096, 4_096 * (rootpage - 1));
    closeSync(descriptor);
    const made = await of.drill();
    expect(made).toMatchObject({
      outcome: "bad",
      words: expect.stringContaining("pages of the database in use are damaged (attempt: "),
    });
    expect((await of.pombo.operator.call("GET", "/ready", { key: null })).body.issues).toMatchObject([
      { component: "replication", reason: expect.stringContaining("pombo restore --from URL") },
    ]);
  },
);

test.skipIf(!hasDaemon)("a drill without room is skipped and says so, and forgets no good one", async () => {
  await using of = await startReplicated();
  const { goodAt } = await of.drill();
  const made = await of.drill({ readFree: () => ({ freeBytes: 1024 * 1024 * 0.5, freeInodesPercent: 100 }) });
  expect(made).toMatchObject({ outcome: "skipped", goodAt });
  expect(made.words).toMatch(/^It needs \d+ MiB of free disk, twice the database, and there are 0 MiB\.$/);
});

test.skipIf(!hasDaemon)("a replica that is damaged, gone or behind fails the drill, and is trouble", async () => {
  await using of = await startReplicated();
  const { pombo } = of;
  await pombo.app.stop(0);
  const [lineage = ""] = readdirSync(of.replica).filter(isId);
  const level = join(of.replica, lineage, "ltx", "0");
  const last = readdirSync(level).toSorted().at(-1) ?? "";
  writeFileSync(join(level, last), "damaged");
  const damaged = await of.drill();
  expect(damaged).toMatchObject({ outcome: "bad", goodAt: null });
  expect(damaged.words).toStartWith("The replica could not be restored: ");
  await pombo.restart();
  const { issues, ready } = (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data;
  expect([ready, issues[0]?.component, issues[0]?.reason]).toEqual([
    true,
    "replication",
    expect.stringContaining("The last restore drill failed"),
  ]);
  await pombo.app.stop(0);
  rmSync(of.replica, { recursive: true });
  expect((await of.drill()).words).toContain("holds no whole copy");
});

test.skipIf(!hasDaemon)("pombo restore --drill ends with 0 when all is well, and one at a time is enough", async () => {
  await using of = await startReplicated();
  const { directory } = of.pombo;
  const config = join(of.folder, "pombo.toml");
  const write = (url: string) =>
    writeFileSync(
      config,
      `hostname = "mail.pombo.test"\ndata_dir = "${directory}"\n[replication]\nurl = ${JSON.stringify(url)}\n`,
    );
  write(of.replica);
  const drill = (...more: string[]) => runHere(["restore", "--drill", "--config", config, ...more]);
  const { code, out } = await drill();
  expect([code, out]).toEqual([0, expect.stringMatching(/^good: Restored and whole: .* It took [\d.]+ s\.\n$/)]);
  expect((await drill("--at", "2h")).err).toContain("--at cannot be combined with --drill");
  const lock = takeLock(directory, "command", "drill.lock");
  expect((await drill()).err).toContain("is under way already");
  if (lock.kind === "locked") lock.release();
  write(join(of.folder, "nothing"));
  expect(await drill("--json")).toMatchObject({ code: 1, out: expect.stringContaining('"outcome":"bad"') });
  write("");
  expect(await drill()).toMatchObject({ code: 1, err: "Replication is not set up: there is no [replication] url.\n" });
});

function startWeekly(outcomes: Drill["outcome"][]) {
  const clock = fakeClock();
  const made: number[] = [];
  const events: string[] = [];
  let last: Drill | null = null;
  const startedAt = clock.now();
  const drills = new WeeklyDrill({
    last: () => last,
    run() {
      const outcome = outcomes.shift() ?? "good";
      made.push((clock.now() - startedAt) / HOUR_MS);
      last = { at: clock.now(), outcome, words: "So it was.", tookMs: 1, goodAt: null };
      return Promise.resolve(last);
    },
    clock,
    log: { event: (name) => void events.push(name), error: (_, error) => void events.push(String(error)) },
  });
  drills.start();
  const pass = async (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) {
      clock.advance(HOUR_MS);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  };
  /** Moves the time of the last one. */
  const shift = (ms: number) => void (last = last === null ? null : { ...last, at: last.at + ms });
  return { clock, drills, made, events, pass, shift };
}

test("a drill is made an hour after the first start, then weekly, and the day after one that was not good", async () => {
  const of = startWeekly(["good", "skipped", "bad", "good"]);
  await of.pass(24 * 18);
  expect(of.made).toEqual([1, 1 + 7 * 24, 1 + 8 * 24, 1 + 9 * 24, 1 + 16 * 24]);
  expect(of.events).toEqual(["drill.good", "drill.skipped", "drill.bad", "drill.good", "drill.good"]);
  await of.drills.stop();
  await of.pass(24 * 8);
  expect(of.made).toHaveLength(5);
});

test("a clock that is set back does not put the next drill off, and a bad one is trouble until then", async () => {
  const of = startWeekly(["bad"]);
  await of.pass(1);
  expect(of.drills.issue).toMatchObject({ component: "replication", isAdvisory: true });
  of.shift(365 * DAY_MS);
  await of.pass(1);
  expect(of.made).toEqual([1, 2]);
  expect(of.drills.issue).toBeNull();
  await of.drills.stop();
});
