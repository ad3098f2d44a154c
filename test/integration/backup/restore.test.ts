// `pombo restore` over real replicas: what comes back, how it waits, and every refusal.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../../../src/server/server.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Config } from "../../../src/config/config.ts";
import { loadInstanceKey } from "../../../src/platform/keyring/key-file.ts";
import { getDaemonVersion } from "../../../src/backup/litestream/executable.ts";
import { openTools } from "../../../src/backup/litestream/tools.ts";
import { takeLock } from "../../../src/platform/instance-lock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { runHere } from "../../support/cli/kit.ts";
import { addAccess, countAccess, ENDED_ACCESS } from "../../support/people/rows.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";

const hasDaemon = getDaemonVersion() !== null;
const HOST = ["--hostname", "mail.pombo.test"];

interface Elsewhere {
  /** The replica; what it is a replica of has ended. */
  replica: string;
  pombo: Instance;
  /** The recovery key, in a file. */
  keyFile: string;
  /** A folder where nothing is. */
  folder: string;
  /** Restores into `data` of that folder, with a new configuration. */
  restore(...args: string[]): ReturnType<typeof runHere>;
  dataDir: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startElsewhere(subjects: string[] = []): Promise<Elsewhere> {
  const folder = mkdtempSync(join(tmpdir(), "pombo-restore-"));
  const replica = join(folder, "replica");
  const pombo = await startInstance({ configure: (config) => void (config.replication.url = replica) });
  await pombo.app.pause.hold("nothing is to go out yet.");
  for (const subject of subjects) {
    const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject }) });
    expect(status).toBe(202);
  }
  addAccess(pombo.app.db.sqlite);
  await pombo.app.stop(0);
  const keyFile = join(folder, "recovery.key");
  writeFileSync(keyFile, readFileSync(pombo.config.secrets.instanceKeyFile, "utf8"), { mode: 0o600 });
  const dataDir = join(folder, "data");
  const place = ["--config", join(folder, "pombo.toml"), "--data-dir", dataDir, ...HOST];
  return {
    ...{ replica, pombo, keyFile, folder, dataDir },
    restore: (...args) => runHere(["restore", ...place, ...args], {}),
    async [Symbol.asyncDispose]() {
      await pombo[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Nothing that could be taken for an instance. */
function expectNothingThere({ dataDir, folder }: Elsewhere): void {
  const left = existsSync(dataDir) ? readdirSync(dataDir) : [];
  expect(left.filter((name) => !["lock", "litestream"].includes(name))).toEqual([]);
  expect(existsSync(join(folder, "pombo.toml"))).toBe(false);
}

/** Runs what was restored, as the instance it was: its world is the first one's. */
async function startRestored({ pombo, dataDir }: Elsewhere, changes: Partial<Config> = {}) {
  const events: { name: string; fields: Record<string, unknown> }[] = [];
  const log = {
    event: (name: string, fields = {}) => void events.push({ name, fields }),
    error: (_: string, error: unknown) => {
      throw error;
    },
  };
  const instanceKeyFile = join(dataDir, "instance.key");
  const config = { ...pombo.config, dataDir, secrets: { instanceKeyFile }, ...changes };
  const instanceKey = loadInstanceKey({ file: instanceKeyFile, env: {} });
  const app = await startApp({ config, instanceKey, environment: { clock: systemClock, random: systemRandom, log } });
  return { app, events, [Symbol.asyncDispose]: () => app.stop(0) };
}

const subjectsAt = ({ pombo }: Elsewhere) =>
  pombo.mx.messages.map(({ content }) => /^Subject: (.*)\r$/m.exec(String(content))?.[1] ?? "").toSorted();

test.skipIf(!hasDaemon)("with the URL and the recovery key all comes back, and waits for the operator", async () => {
  await using of = await startElsewhere(["One", "Two"]);
  // What an update of another database has left says nothing of this one.
  mkdirSync(of.dataDir, { mode: 0o700 });
  writeFileSync(join(of.dataDir, "put-back"), "");
  const { code, out, err } = await of.restore("--from", of.replica, "--key-file", of.keyFile);
  expect([code, err]).toEqual([0, expect.stringMatching(/^Restoring from/)]);
  expect(out).toContain("2 emails and 0 SMS of 1 workspace.");
  expect(out).toContain("pombo queue drop --queued-before restore-point");
  // Its daemon has ended in order, and said so.
  expect(out).not.toContain("Make sure that it never runs");
  expect(readFileSync(join(of.folder, "pombo.toml"), "utf8")).toContain(`\nurl = "${of.replica}"\n`);
  expect(readFileSync(join(of.dataDir, "instance.key"), "utf8").trim()).toBe(readFileSync(of.keyFile, "utf8").trim());
  for (const name of ["pombo.db", "instance.key", "marker"])
    expect([name, statSync(join(of.dataDir, name)).mode & 0o777]).toEqual([name, 0o600]);
  expect(readdirSync(of.dataDir).filter((name) => /^restoring-|^put-back$/.test(name))).toEqual([]);
  await using restored = await startRestored(of);
  const { pause, worker, url, db } = restored.app;
  expect(countAccess(db.sqlite)).toEqual(ENDED_ACCESS);
  expect(out).toContain("Everybody was signed out of the dashboard");
  expect(pause.pause?.reason).toContain("the database was restored as it was at 2");
  await worker.idle();
  expect(of.pombo.mx.messages).toEqual([]);
  const headers = { "x-api-key": of.pombo.workspace.key, "content-type": "application/json" };
  const body = JSON.stringify(of.pombo.email({ subject: "Three" }));
  expect((await fetch(`${url}/api/v1/emails`, { method: "POST", headers, body })).status).toBe(202);
  await worker.idle();
  expect(of.pombo.mx.messages).toEqual([]);
  // They may have been sent since.
  const { data } = (await (await fetch(`${url}/api/v1/emails`, { headers })).json()) as { data: { id: string }[] };
  const doubts = data.map(async ({ id }) => {
    const found = (await (await fetch(`${url}/api/v1/emails/${id}`, { headers })).json()) as {
      data: { subject: string; possibleDuplicate: boolean };
    };
    return [found.data.subject, found.data.possibleDuplicate];
  });
  expect((await Promise.all(doubts)).toSorted()).toEqual([
    ["One", true],
    ["Three", false],
    ["Two", true],
  ]);
  // What it waited for is told by the restore point: all of the backup, and nothing of afterwards.
  const dropped = await runHere([
    "queue",
    "drop",
    "--data-dir",
    of.dataDir,
    "--yes",
    "--queued-before",
    "restore point",
  ]);
  expect(dropped).toEqual({ code: 0, out: "2 emails dropped.\n", err: "" });
  expect((await runHere(["queue", "resume", "--data-dir", of.dataDir])).out).toBe("Delivery is resumed.\n");
  await worker.idle();
  expect(subjectsAt(of)).toEqual(["Three"]);
  // It goes on with the replica, which is whole.
  expect(restored.events.filter(({ name }) => name === "replication.output")).toEqual([]);
  await restored.app.stop(0);
  rmSync(of.dataDir, { recursive: true });
  rmSync(join(of.folder, "pombo.toml"));
  const again = await of.restore("--from", `file://${of.replica}`, "--key-file", of.keyFile);
  expect(again.out).toContain("3 emails and 0 SMS of 1 workspace.");
});

test.skipIf(!hasDaemon)("of an instance that only texts the texts are told", async () => {
  await using of = await startElsewhere();
  const { pombo } = of;
  await pombo.restart();
  await pombo.enableSms(pombo.workspace);
  await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "Bom dia" } });
  await pombo.app.stop(0);
  const { out } = await of.restore("--from", of.replica, "--key-file", of.keyFile);
  expect(out).toContain(": 0 emails and 1 SMS of 1 workspace.");
});

test.skipIf(!hasDaemon)(
  "an earlier time is restored, goes on with the same replica, and is the later one then",
  async () => {
    await using of = await startElsewhere(["Early"]);
    // What there is now was copied two hours ago.
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    for (const name of readdirSync(of.replica, { recursive: true, encoding: "utf8" }))
      utimesSync(join(of.replica, name), hoursAgo(2), hoursAgo(2));
    const between = hoursAgo(1).toISOString();
    await of.pombo.restart();
    await of.pombo.workspace.call("POST", "/api/v1/emails", { body: of.pombo.email({ subject: "Late" }) });
    await of.pombo.app.stop(0);
    const { out } = await of.restore("--from", of.replica, "--key-file", of.keyFile, "--at", between);
    expect(out).toContain("1 email and 0 SMS of 1 workspace.");
    {
      await using restored = await startRestored(of);
      await restored.app.pause.resume();
      await restored.app.worker.idle();
      expect(subjectsAt(of)).toEqual(["Early"]);
    }
    rmSync(of.dataDir, { recursive: true });
    rmSync(join(of.folder, "pombo.toml"));
    const again = await of.restore("--from", of.replica, "--key-file", of.keyFile, "--json");
    expect(JSON.parse(again.out)).toMatchObject({ emails: 1, waiting: { emails: 0 } });
  },
);

test.skipIf(!hasDaemon)("what cannot be restored is refused with what to do, and nothing is put in place", async () => {
  await using of = await startElsewhere(["One"]);
  const refused = async (words: string[], args: string[]) => {
    const { code, out, err } = await of.restore(...args);
    expect([args, code, out]).toEqual([args, code === 2 ? 2 : 1, ""]);
    for (const word of words) expect(err).toContain(word);
    expectNothingThere(of);
  };
  const key = ["--key-file", of.keyFile];
  const other = join(of.folder, "other.key");
  const { recoveryKey } = JSON.parse(
    (
      await runHere([
        "init",
        "--json",
        "--config",
        join(of.folder, "x.toml"),
        "--data-dir",
        join(of.folder, "x"),
        ...HOST,
      ])
    ).out,
  );
  writeFileSync(other, recoveryKey, { mode: 0o600 });
  await refused(["is not the one of this backup", "--new-key"], ["--from", of.replica, "--key-file", other]);
  await refused(["There is no file", "--new-key"], ["--from", of.replica, "--key-file", `${other}s`]);
  await refused(["The recovery key is required", "--key-file"], ["--from", of.replica]);
  await refused(["Give only one of"], ["--from", of.replica, ...key, "--new-key"]);
  writeFileSync(other, "pombo-key-1-x", { mode: 0o600 });
  await refused(["is none", "compare it"], ["--from", of.replica, "--key-file", other]);
  await refused(["holds no backup", "to its last letter"], ["--from", join(of.folder, "empty"), ...key]);
  await refused(["cannot be read", "reachable"], ["--from", join(of.keyFile, "copies"), ...key]);
  await refused(["--from must be s3://"], ["--from", "ftp://x", ...key]);
  await refused(["name one with --config FILE, or the replica with --from"], key);
  await refused(["does not go back as far as 2020"], ["--from", of.replica, ...key, "--at", "2020-01-01"]);
  await refused(["--at must be a time"], ["--from", of.replica, ...key, "--at", "yesterday"]);
});

test.skipIf(!hasDaemon)("a data directory in use, or with another key in it, is left as it is", async () => {
  await using of = await startElsewhere();
  const words = ["--from", of.replica, "--key-file", of.keyFile];
  mkdirSync(of.dataDir);
  writeFileSync(join(of.dataDir, "pombo.db"), "mine");
  const { code, err } = await of.restore(...words);
  expect([code, err]).toEqual([1, expect.stringContaining("holds a database already (pombo.db), and a restore never")]);
  expect(readFileSync(join(of.dataDir, "pombo.db"), "utf8")).toBe("mine");
  rmSync(join(of.dataDir, "pombo.db"));
  writeFileSync(join(of.dataDir, "instance.key"), "another", { mode: 0o600 });
  expect((await of.restore(...words)).err).toContain("holds no usable instance key");
  expect((await of.restore("--from", of.replica, "--new-key")).err).toContain("another instance key, which is never");
  rmSync(join(of.dataDir, "instance.key"));
  const lock = takeLock(of.dataDir);
  expect((await of.restore(...words)).err).toContain("is running on");
  if (lock.kind === "locked") lock.release();
  expect((await of.restore(...words)).code).toBe(0);
});

test.skipIf(!hasDaemon)("the backup of a newer pombo is left to that one", async () => {
  await using of = await startElsewhere();
  const newer = new Database(join(of.pombo.directory, "pombo.db"));
  newer.run("PRAGMA user_version = 99");
  newer.run("PRAGMA wal_autocheckpoint = 0");
  newer.close();
  // The daemon copies that, as it would for the newer pombo.
  const { dataDir, replication } = of.pombo.config;
  const tools = await openTools(replication, { dataDir, database: join(dataDir, "pombo.db") });
  const config = readFileSync(tools.places.config, "utf8");
  await tools.run(["replicate", "-once"], [], { config, limitMs: 10_000 });
  const { code, err } = await of.restore("--from", of.replica, "--key-file", of.keyFile);
  expect([code, err]).toEqual([1, expect.stringContaining("by a newer pombo (schema 99; this one knows 1)")]);
  expectNothingThere(of);
});

test.skipIf(!hasDaemon)(
  "without the recovery key it goes on under a new one, and says what must be published",
  async () => {
    await using of = await startElsewhere(["One"]);
    const shown = await of.restore("--from", of.replica, "--new-key", "--json");
    const { newKey } = JSON.parse(shown.out);
    expect(newKey).toEqual({
      recoveryKey: expect.stringMatching(/^pombo-key-1-/),
      domains: ["loja.test"],
      webhooks: 0,
      authenticators: 1,
    });
    expect(readFileSync(join(of.dataDir, "instance.key"), "utf8").trim()).toBe(newKey.recoveryKey);
    await using restored = await startRestored(of);
    const people = restored.app.db.sqlite.query("SELECT password_hash, totp_secret, totp_confirmed_at FROM user").all();
    expect(people).toEqual([{ password_hash: "x", totp_secret: null, totp_confirmed_at: null }]);
    const headers = { "x-api-key": of.pombo.workspace.key };
    const { data } = (await (await fetch(`${restored.app.url}/api/v1/domains`, { headers })).json()) as {
      data: { id: string; status: string }[];
    };
    expect(data).toMatchObject([{ domain: "loja.test", status: "pending" }]);
    // With the new record it is verified again, and what waited goes out, signed with the new key.
    const one = (await (await fetch(`${restored.app.url}/api/v1/domains/${data[0]?.id}`, { headers })).json()) as {
      data: { dns: { dkim: { name: string; value: string }[] } };
    };
    for (const { name, value } of one.data.dns.dkim) {
      expect(of.pombo.dns.zone[name]).not.toEqual({ TXT: [value] });
      of.pombo.dns.zone[name] = { TXT: [value] };
    }
    const check = `${restored.app.url}/api/v1/domains/${data[0]?.id}/verification-checks`;
    expect((await fetch(check, { method: "POST", headers })).status).toBe(200);
    expect(await (await fetch(`${restored.app.url}/api/v1/domains`, { headers })).text()).toContain('"verified"');
    await restored.app.pause.resume();
    await restored.app.worker.idle();
    expect(subjectsAt(of)).toEqual(["One"]);
  },
);

test.skipIf(!hasDaemon)("what still runs elsewhere and writes to the replica is told of", async () => {
  await using of = await startElsewhere();
  await of.pombo.restart();
  let isOver = false;
  const writing = (async () => {
    for (let index = 0; !isOver; index += 1)
      await of.pombo.workspace.call("POST", "/api/v1/emails", { body: of.pombo.email({ subject: `Email ${index}` }) });
  })();
  await waitUntil("it is replicated", 20_000, () => (of.pombo.app.replicator?.status()?.lastSyncAt ?? null) !== null);
  let out = "";
  for (let tries = 0; tries < 20 && !out.includes("IT IS RUNNING"); tries += 1) {
    rmSync(of.dataDir, { recursive: true, force: true });
    rmSync(join(of.folder, "pombo.toml"), { force: true });
    out = (await of.restore("--from", of.replica, "--key-file", of.keyFile)).out;
  }
  isOver = true;
  await writing;
  expect(out).toContain("has not recorded a stop: IT IS RUNNING, and wrote to it just now.");
});

test.skipIf(!hasDaemon)(
  "a clock that was set back loses nothing, and all that waits is before the restore point",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pombo-restore-"));
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
    const replica = join(folder, "copies");
    let offsetMs = 0;
    const clock = { now: () => systemClock.now() + offsetMs, after: systemClock.after };
    await using pombo = await startInstance({ clock, configure: (config) => void (config.replication.url = replica) });
    await pombo.app.pause.hold("nothing is to go out yet.");
    const send = async (subject: string) =>
      expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ subject }) })).status).toBe(
        202,
      );
    await send("Before");
    offsetMs = -86_400_000;
    await send("A day back");
    await pombo.restart();
    await send("Started a day back");
    await pombo.app.stop(0);
    expect(pombo.bugs).toEqual([]);
    const dataDir = join(folder, "data");
    const place = ["--config", join(folder, "pombo.toml"), "--data-dir", dataDir, ...HOST];
    const keyFile = pombo.config.secrets.instanceKeyFile;
    const { out } = await runHere(["restore", "--from", replica, "--key-file", keyFile, ...place]);
    expect(out).toContain("3 emails and 0 SMS of 1 workspace.");
    const drop = ["queue", "drop", "--yes", "--queued-before", "restore-point", "--config", join(folder, "pombo.toml")];
    expect((await runHere(drop)).out).toBe("3 emails dropped.\n");
  },
);

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn("SKIPPED: giving a folder to another user takes root.");
