// The machine is gone: pombo and its daemon killed by -9 under load, the data directory lost. With nothing but the
// replica and the recovery key it comes back elsewhere, delivers nothing until it may, and is the same to the world.
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { verifyMessage } from "../../../src/protocols/dkim/verify.ts";
import { startMx } from "../../support/fakes/mx.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { daemonPid, findDaemon, lastStep, stopInOrder } from "./replicated.ts";
import { returnTo } from "./returning.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, emailTo, type Served, type World } from "./world.ts";

const EMAILS = 2_000;
const LIMIT_MS = 60_000;
/** What was accepted in the last seconds before the end may be missing. */
const LOST_MS = 5_000;
/** A scheduled email is due so long after it was accepted, and after its instance has ended. */
const DUE_IN_MS = 5_000;
/** A step is a second's. */
const SECONDS = 4;

setDefaultTimeout(4 * LIMIT_MS);

const hasDaemon = await findDaemon();

/** UUIDv7 begins with its time. */
const acceptedAt = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

async function operatorCommand(config: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPombo([...words, "--config", config]);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

async function accept(served: Served, world: World, subject: string): Promise<string> {
  const request = { method: "POST", path: "/api/v1/emails", body: emailTo("maria@one.test", subject) };
  const { status, body } = await call(served.url, world.key, request);
  expect(status).toBe(202);
  return body.data.id;
}

/** By the records that were published when the domain was registered. */
async function dkimOf(world: World, content: Buffer): Promise<string[]> {
  const verdicts = await verifyMessage(content, (name) => {
    const { TXT: records = [] } = world.dns.zone[name] as { TXT?: string[] };
    return Promise.resolve({ kind: "found", records, ttlS: 60, server: "" });
  });
  return verdicts.map(({ algorithm, result }) => `${algorithm} ${result}`);
}

test.skipIf(!hasDaemon)(
  "restored elsewhere it lacks the last seconds at most, and waits for the operator",
  async () => {
    const place = mkdtempSync("/tmp/pombo-lost-");
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }) };
    const replica = join(place, "copies");
    await using before = await startCountingMx();
    await using world = await createWorld({ mxPort: before.port, settings: { replication: { url: replica } } });
    cpSync(join(world.dataDir, "instance.key"), join(place, "recovery.key"));
    let isGone = false;
    await using first = await world.serve();
    const load = startLoad({
      key: world.key,
      customers: 8,
      url: () => (isGone ? Promise.reject(new Error("the machine is gone")) : Promise.resolve(first.url)),
      delivered: { count: () => before.distinct, until: (isTrue) => before.until(isTrue) },
    });
    await within(
      LIMIT_MS,
      "the load",
      load.until(() => load.accepted.size >= EMAILS),
    );
    // Longer than it takes the replica to have anything.
    await waitUntil("some seconds' steps", LIMIT_MS, () => lastStep(replica, 0) >= SECONDS);
    isGone = true;
    const killedAt = Date.now();
    process.kill(daemonPid(world), "SIGKILL");
    first.signal("SIGKILL");
    await first.ended;
    await load.stop().catch(() => undefined);
    rmSync(world.dataDir, { recursive: true });

    const sink = await startMx({});
    await using _closing = { [Symbol.asyncDispose]: () => sink.close() };
    const dataDir = join(place, "data");
    const config = world.writeConfig("other.toml", {
      "": { data_dir: dataDir },
      email: { destination_port: sink.port },
    });
    const startedAt = performance.now();
    const words = ["--from", replica, "--key-file", join(place, "recovery.key"), "--config", config];
    const { code, stdout } = await runPombo(["restore", ...words]);
    const tookMs = Math.round(performance.now() - startedAt);
    expect(code).toBe(0);
    expect(stdout).toContain("Make sure that it never runs again");
    const back = readEmails(dataDir);
    expect(stdout).toContain(`: ${back.size.toLocaleString("en")} emails and 0 SMS of 1 workspace.`);
    const missing = [...load.accepted.values()].filter((id) => !back.has(id));
    const oldestMs = killedAt - Math.min(killedAt, ...missing.map(acceptedAt));
    expect(oldestMs).toBeLessThan(LOST_MS);
    const waiting = [...back.values()].filter(({ queue }) => queue !== null).length;

    let mine: string;
    {
      await using restored = await world.serve({ config });
      mine = await accept(restored, world, "While paused");
      expect(await operatorCommand(config, "queue", "--json")).toContain(`"waiting":${waiting + 1},"running":0`);
      restored.signal("SIGKILL");
      await restored.ended;
      expect(bugsOf(restored)).toEqual([]);
    }
    await using restored = await world.serve({ config });
    const asked = await call(restored.url, world.key, { path: "/ready" });
    expect([asked.status, asked.body.issues]).toEqual([200, [expect.objectContaining({ component: "delivery" })]]);
    expect(sink.messages).toHaveLength(0);
    expect(await operatorCommand(config, "queue", "resume")).toBe("Delivery is resumed.\n");
    await waitUntil("all of it goes out", LIMIT_MS, () => sink.messages.length >= waiting + 1);
    expect(sink.messages).toHaveLength(waiting + 1);
    const repeated = sink.messages.filter(({ content }) => {
      const id = /^Message-ID: <(.*)>/im.exec(content.toString("latin1"))?.[1];
      return before.arrivals.some(({ messageId }) => messageId === id);
    });
    for (const message of [sink.messages[0], sink.messages.at(-1)])
      expect(await dkimOf(world, message?.content ?? Buffer.alloc(0))).toContain("rsa-sha256 pass");

    // A bounce of what the old machine delivered, to its return path.
    const old = before.arrivals.find(({ subject }) => back.get(load.accepted.get(subject) ?? "")?.queue === null);
    expect(old === undefined ? "" : await returnTo(restored.inboundPort, old)).toStartWith("250 ");
    const bounced = await call(restored.url, world.key, {
      path: `/api/v1/emails/${load.accepted.get(old?.subject ?? "")}`,
    });
    expect(bounced.body.data.status).toBe("bounced");
    await waitUntil("it is delivered", LIMIT_MS, async () => {
      const { body } = await call(restored.url, world.key, { path: `/api/v1/emails/${mine}` });
      return body.data.status === "delivered";
    });
    // It has gone on with the same replica, from which it could be restored once more.
    await stopInOrder(restored);
    const third = world.writeConfig("third.toml", { "": { data_dir: join(place, "third") } });
    const key = join(place, "recovery.key");
    expect(await runPombo(["restore", "--key-file", key, "--config", third])).toMatchObject({ code: 0 });
    expect(readEmails(join(place, "third"))).toEqual(readEmails(dataDir));
    console.log(
      `restore: of ${load.accepted.size} accepted ${missing.length} are missing, the oldest ${oldestMs} ms before the kill; ` +
        `${waiting} waited, ${repeated.length} of them had arrived; ${tookMs} ms`,
    );
  },
);

test.skipIf(!hasDaemon)(
  "a restore that is killed at any moment leaves no database, or a whole one that is paused",
  async () => {
    const place = mkdtempSync("/tmp/pombo-cut-");
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }) };
    const replica = join(place, "copies");
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port, settings: { replication: { url: replica } } });
    let dueAt: number;
    {
      await using first = await world.serve();
      for (let index = 0; index < 20; index += 1) await accept(first, world, `Email ${index}`);
      // And recorded: a copy that is behind would send it once more.
      await waitUntil("all are delivered", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
      dueAt = Date.now() + DUE_IN_MS;
      const body = { ...emailTo("maria@one.test", "Scheduled"), sendAt: new Date(dueAt).toISOString() };
      const sent = await call(first.url, world.key, { method: "POST", path: "/api/v1/emails", body });
      expect([sent.status, sent.body.data?.status]).toEqual([202, "scheduled"]);
      first.signal("SIGTERM");
      await first.ended;
    }
    const arrived = mx.arrivals.length;
    const dataDir = join(place, "data");
    const config = world.writeConfig("other.toml", {
      "": { data_dir: dataDir },
      replication: { url: join(place, "x") },
    });
    const words = ["restore", "--from", replica, "--key-file", join(world.dataDir, "instance.key"), "--config", config];
    const startedAt = performance.now();
    await using whole = spawnPombo(words);
    expect(await whole.ended).toEqual({ code: 0, signal: null });
    const tookMs = performance.now() - startedAt;
    rmSync(dataDir, { recursive: true });
    let cut = 0;
    const ROUNDS = Number(process.env["ROUNDS"] ?? 12);
    for (let round = 0; round < ROUNDS; round += 1) {
      await using child = spawnPombo(words);
      await Promise.race([Bun.sleep((tookMs * (round + 0.5)) / ROUNDS), child.ended]);
      child.signal("SIGKILL");
      await child.ended;
      if (!existsSync(join(dataDir, "pombo.db"))) {
        cut += 1;
        continue;
      }
      expect(JSON.parse(await operatorCommand(config, "queue", "--json")).paused.restorePoint).toBeString();
      rmSync(dataDir, { recursive: true });
    }
    // What the cut ones left is in nobody's way.
    if (!existsSync(join(dataDir, "pombo.db"))) expect((await runPombo(words)).code).toBe(0);
    expect(readdirSync(dataDir).filter((name) => name.startsWith("restoring-"))).toEqual([]);
    expect([readEmails(dataDir).size, mx.arrivals.length]).toEqual([21, arrived]);
    // An email that fell due meanwhile waits with all others.
    await Bun.sleep(Math.max(0, dueAt - Date.now()));
    await using restored = await world.serve({ config });
    // Nothing tells that a paused queue sends nothing. A queue that was not paused sends it within this time.
    await Bun.sleep(500);
    expect(await operatorCommand(config, "queue", "--json")).toContain(`"waiting":1,"running":0`);
    expect(mx.arrivals).toHaveLength(arrived);
    await operatorCommand(config, "queue", "resume");
    await within(
      LIMIT_MS,
      "the scheduled email",
      mx.until(() => mx.arrivals.length > arrived),
    );
    expect(mx.arrivals.slice(arrived).map(({ subject }) => subject)).toEqual(["Scheduled"]);
    await stopInOrder(restored);
    console.log(`restore: ${cut} of ${ROUNDS} were cut off before the last step`);
  },
);
