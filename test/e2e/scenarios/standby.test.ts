// Two machines and one lease: whatever ends the one that works, the other takes over by itself, with all that was
// promised; nothing is sent twice but what nobody can know, and that is marked. S3 is moto, or MinIO (script/standby).
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Receiver, startReceiver } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, runPombo, within } from "./child.ts";
import {
  buildSmsSettings,
  grantSmsRights,
  checkSmsInvariants,
  countUnfinishedSms,
  sendSms,
  startSlowSmsc,
  buildInboundSms,
} from "./sms-crash.ts";
import { findDaemon } from "./replicated.ts";
import { checkArrivals } from "./standby-judge.ts";
import {
  createNodes,
  endDaemon,
  findDaemonPid,
  isShort,
  S3_CREDENTIALS,
  LEASE_MS,
  type Node,
  startS3,
} from "./standby-nodes.ts";
import { readEmails } from "./stored.ts";
import { bugsOf, call, emailTo, hasLogged, HOSTNAME } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
/** Four in CI, twenty in the soak; script/standby says how many. */
const TAKEOVERS = Number(process.env["TAKEOVERS"] ?? Math.ceil((2 * ROUNDS) / 3));
const LIMIT_MS = 60_000;
setDefaultTimeout((TAKEOVERS + 3) * LIMIT_MS);

if (startS3 === null) console.warn("SKIPPED: a standby needs python3 with venv and pip, which bring moto.");
const hasDaemon = await findDaemon();

/** Each accepted email is told of, and each event has one id, by as many calls as it takes. */
async function checkCalls(receiver: Receiver, ids: readonly string[]): Promise<{ all: number; again: number }> {
  const told = new Map<string, Set<string>>();
  let read = 0;
  const isWhole = () => {
    for (const { event, headers } of receiver.calls.slice(read)) {
      const name = `${event.type} ${event.data.id}`;
      told.set(name, (told.get(name) ?? new Set()).add(headers["webhook-id"] ?? ""));
    }
    read = receiver.calls.length;
    return ids.every((id) => told.has(`email.queued ${id}`) && told.has(`email.delivered ${id}`));
  };
  await within(LIMIT_MS, "every event", receiver.until(isWhole));
  expect([...told].filter(([, each]) => each.size > 1)).toEqual([]);
  return { all: receiver.calls.length, again: receiver.calls.length - told.size };
}

type Fault = "kill both" | "kill pombo" | "stop both" | "hand over" | "cut" | "no answers";
const FAULTS: readonly Fault[] = ["kill both", "stop both", "hand over", "kill pombo", "cut", "no answers"];

/** Twice the lease, and in long runs a minute. */
const STOPS_MS = [2 * LEASE_MS, 20 * LEASE_MS, 2 * LEASE_MS];
/** Nobody takes over from a machine that stood still so briefly. */
const HICCUP_MS = LEASE_MS / 6;

async function stopBoth({ child, dataDir }: Node, forMs: number): Promise<void> {
  const pids = [findDaemonPid(dataDir), child?.pid ?? null].filter((pid) => pid !== null);
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // A daemon that has just ended; another follows.
      }
    }
  };
  signal("SIGSTOP");
  await Bun.sleep(forMs);
  signal("SIGCONT");
}

/** What happens to the machine that works. Resolves when its process is gone, or goes on. */
async function strike(fault: Fault, node: Node, round: number): Promise<void> {
  const { child, dataDir } = node;
  if (child === null) throw new Error("it does not run");
  const daemon = findDaemonPid(dataDir);
  if (fault === "hand over") {
    const ran = await runPombo(["standby", "hand-over", "--config", node.config], { env: S3_CREDENTIALS });
    expect({ code: ran.code, err: ran.stderr }).toEqual({ code: 0, err: "" });
    expect(await child.ended).toEqual({ code: 0, signal: null });
    return;
  }
  if (fault === "cut" || fault === "no answers") {
    node.line.set(fault);
    // It cannot renew the lease, and ends by itself. What its daemon has left to say goes to a lineage that nobody reads.
    expect((await within(LIMIT_MS, "its end", child.ended)).code).toBe(1);
    expect(child.stderr()).toContain("pombo ends here");
    node.line.set("open");
    return;
  }
  if (fault === "stop both") {
    await stopBoth(node, STOPS_MS[round % STOPS_MS.length] ?? 0);
    // It has found that it may not go on, and ends.
    expect((await within(LIMIT_MS, "its end", child.ended)).code).toBe(1);
    expect(child.stderr()).toContain("pombo ends here");
    return;
  }
  if (fault === "kill both" && daemon !== null) process.kill(daemon, "SIGKILL");
  child.signal("SIGKILL");
  await child.ended;
}

test.skipIf(startS3 === null || !hasDaemon)(
  "whatever ends the machine that works, another takes over, with all that was promised",
  async () => {
    await using receiver = startReceiver();
    const webhooks = { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] };
    await using of = await createNodes({ settings: { webhooks }, count: TAKEOVERS > FAULTS.length ? 3 : 2 });
    const { nodes, world } = of;
    const [first, ...others] = nodes as [Node, Node];
    of.start(first);
    expect(await of.awaitWorking()).toBe(first);
    const hook = { url: receiver.url, events: ["email.queued", "email.delivered"] };
    const made = await call(first.url, world.key, { method: "POST", path: "/api/v1/webhooks", body: hook });
    expect(made.status).toBe(201);
    for (const node of others) {
      of.start(node);
      await waitUntil("the other stands by", LIMIT_MS, async () => {
        const answer = await of.ask(node.url);
        return answer?.status === 503 && answer.text.includes("stands by");
      });
    }
    // As a service manager does; a start may also fail because the bucket does not answer in time.
    const startEnded = () => {
      for (const node of nodes) {
        if (node.child?.isAlive !== false) continue;
        expect(bugsOf(node.child)).toEqual([]);
        of.start(node);
      }
    };
    const load = of.load();
    const absences: number[] = [];
    let [working, before] = [first, 0];
    for (let round = 0; round < TAKEOVERS; round += 1) {
      before = load.accepted.size;
      await within(
        LIMIT_MS,
        "enough emails",
        load.until(() => load.accepted.size > before + 60 + 17 * (round % 7)),
      );
      const fault = FAULTS[round % FAULTS.length] ?? "kill both";
      const struck = working;
      if (!isShort) {
        // From neither does anybody take over.
        if (round % 2 === 0) await stopBoth(struck, HICCUP_MS);
        else endDaemon(struck.dataDir);
        const sent = load.accepted.size;
        await within(
          LIMIT_MS,
          "emails after a hiccup",
          load.until(() => load.accepted.size > sent + 10),
        );
        expect((await of.awaitWorking()).name).toBe(struck.name);
      }
      const startedAt = performance.now();
      const struckOut = strike(fault, struck, Math.floor(round / FAULTS.length));
      working = await of.awaitWorking(nodes.filter((node) => node !== struck));
      absences.push(performance.now() - startedAt);
      await struckOut;
      startEnded();
    }
    await load.stop();
    const twice = await checkArrivals(of, load, working);
    const calls = await checkCalls(receiver, [...load.accepted.values()]);
    for (const node of nodes) if (node.child !== null) expect(bugsOf(node.child)).toEqual([]);
    console.log(
      `takeovers: ${TAKEOVERS}; ${load.accepted.size} answered 202, none lost; ${twice} sent twice, all marked; ${calls.all} webhook calls, ${calls.again} again; ` +
        `absent for ${absences.map((ms) => (ms / 1_000).toFixed(1)).join(", ")} s`,
    );
    // The last one was started just now.
    await waitUntil("each stood by", LIMIT_MS, () => {
      startEnded();
      return nodes.every(({ child }) => child !== null && hasLogged(child, "standby.waits"));
    });
  },
);

test.skipIf(startS3 === null || !hasDaemon)(
  "a machine that comes back goes on with its own database, unless that is of an earlier time",
  async () => {
    await using of = await createNodes();
    const [node, other] = of.nodes as [Node, Node];
    const post = (subject: string) => {
      const body = emailTo("a@one.test", subject);
      return call(node.url, of.world.key, { method: "POST", path: "/api/v1/emails", body });
    };
    const countStored = async () => {
      const { body } = await call(node.url, of.world.key, { path: "/api/v1/emails" });
      return body.meta.total as number;
    };
    const origins = () =>
      [...(node.child?.stdout() ?? "").matchAll(/"standby.database","from":"(\w+)"/g)].map(([, from]) => from);
    const comeBack = async () => {
      of.start(node);
      await of.awaitWorking();
      return origins();
    };
    const kill = async () => {
      endDaemon(node.dataDir);
      node.child?.signal("SIGKILL");
      await node.child?.ended;
      endDaemon(node.dataDir);
    };
    expect(await comeBack()).toEqual(["first"]);
    expect((await post("first")).status).toBe(202);
    await kill();
    const image = join(of.world.folder, "image");
    cpSync(node.dataDir, image, { recursive: true, filter: (file) => !file.endsWith(".sock") });
    // Nobody has taken over: it does not wait for the lease to end.
    const startedAt = performance.now();
    expect(await comeBack()).toEqual(["here"]);
    expect(performance.now() - startedAt).toBeLessThan(LEASE_MS);
    expect((await post("second")).status).toBe(202);
    await kill();
    rmSync(node.dataDir, { recursive: true });
    renameSync(image, node.dataDir);
    expect(await comeBack()).toEqual(["replica"]);
    expect(await countStored()).toBe(2);
    // What is set aside is what was here.
    expect([...readEmails(join(node.dataDir, "set-aside")).values()].map(({ subject }) => subject)).toEqual(["first"]);
    // Another key could not open what this one has sealed.
    const key = await runPombo([
      "init",
      "--config",
      join(of.world.folder, "x.toml"),
      "--data-dir",
      join(of.world.folder, "x"),
      "--hostname",
      HOSTNAME,
    ]);
    expect(key.code).toBe(0);
    copyFileSync(join(of.world.folder, "x/instance.key"), join(other.dataDir, "instance.key"));
    const refused = await runPombo(["serve", "--config", other.config], { env: S3_CREDENTIALS });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("The instance key here is not that of"),
    ]);
  },
);

test.skipIf(startS3 === null || !hasDaemon || isShort)(
  "texts (the long run): what was answered outlives the machine, and what may have come twice is marked",
  async () => {
    const kills = Math.ceil(TAKEOVERS / 2);
    await using smsc = await startSlowSmsc();
    await using of = await createNodes({ settings: buildSmsSettings(smsc.port) });
    const { nodes, world } = of;
    await grantSmsRights(world);
    const accepted = new Map<string, string>();
    for (const node of nodes) {
      of.start(node);
      await of.awaitWorking(nodes.slice(0, 1));
    }
    let working = await of.awaitWorking();
    for (let round = 0; round < kills; round += 1) {
      const { url } = working;
      const isOver = { value: false };
      const senders = [0, 1, 2].map((index) => sendSms({ url, world, isOver, index, round, accepted }));
      const { submits } = (await smsc.state()).counters;
      await smsc.deliver("loja", ...buildInboundSms(round));
      await within(LIMIT_MS, "submits", smsc.until({ submits: submits + 30 + Math.floor(Math.random() * 200) }));
      const struck = working;
      await strike("kill both", struck, round);
      isOver.value = true;
      await Promise.all(senders);
      expect(bugsOf(struck.child as Child)).toEqual([]);
      working = await of.awaitWorking(nodes.filter((node) => node !== struck));
      of.start(struck);
    }
    const { dataDir, child } = working;
    await waitUntil("all texts have an end", 2 * LIMIT_MS, () => countUnfinishedSms(dataDir) === 0);
    await smsc.untilAtMost({ waiting: 0, unacknowledged: 0 });
    child?.signal("SIGTERM");
    expect(await child?.ended).toEqual({ code: 0, signal: null });
    await checkSmsInvariants({ smsc, dataDir, accepted }, kills);
  },
);
