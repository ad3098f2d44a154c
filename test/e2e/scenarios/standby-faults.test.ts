// Two machines and one lease (the long run): while the service errs, disks are full or a clock is wrong, one machine works
// or none, and nothing that was promised is lost. S3 is moto, or MinIO (script/standby).
import { expect, setDefaultTimeout, test } from "bun:test";
import type { ServiceState } from "../../support/peers/line.ts";
import { atAnotherTime, FAKETIME } from "../../support/peers/chrony.ts";
import { bringMoto, CARELESS_MOTO, startMoto } from "../../support/peers/moto.ts";
import { S3_REGION } from "../../support/peers/s3.ts";
import { ensureTools } from "../../support/peers/packages.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, runPombo, spawnPombo, within } from "./child.ts";
import type { Load } from "./load.ts";
import { findDaemon } from "./replicated.ts";
import { hasSmallDisks } from "./small-disk.ts";
import { checkArrivals } from "./standby-judge.ts";
import { createNodes, endDaemon, isShort, LEASE_MS, type Node, S3_CREDENTIALS, startS3 } from "./standby-nodes.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged } from "./world.ts";

const LIMIT_MS = 60_000;
setDefaultTimeout(4 * LIMIT_MS);
const HOUR_MS = 3_600_000;
/** MiB; the executable of the daemon takes 38. */
const DISK_MIB = 128;

const careless = isShort ? null : bringMoto(CARELESS_MOTO);
const faketime = isShort ? "" : await ensureTools([FAKETIME]);
const isMissing = isShort || startS3 === null || !(await findDaemon());

type Nodes = Awaited<ReturnType<typeof createNodes>>;

/** The first works, the other stands by. */
async function startBoth(of: Nodes): Promise<[Node, Node]> {
  const [a, b] = of.nodes as [Node, Node];
  of.start(a);
  await of.awaitWorking([a]);
  of.start(b);
  await waitForStandby(of, b);
  return [a, b];
}

async function waitForStandby(of: Nodes, node: Node): Promise<void> {
  await waitUntil("the other stands by", LIMIT_MS, async () => {
    const answer = await of.ask(node.url);
    return answer?.status === 503 && answer.text.includes("stands by");
  });
}

/** Until so many more were accepted. */
async function waitForEmails(load: Load, count: number): Promise<void> {
  const before = load.accepted.size;
  const isEnough = () => load.accepted.size > before + count;
  await within(LIMIT_MS, "emails", load.until(isEnough));
}

async function kill(node: Node): Promise<void> {
  node.child?.signal("SIGKILL");
  await node.child?.ended;
  endDaemon(node.dataDir);
}

test.skipIf(isMissing)("S3 errors shorter than the lease cause no takeover, longer ones do", async () => {
  await using of = await createNodes({ isErring: true });
  const [a, b] = await startBoth(of);
  const load = of.load();
  const line = of.proxies[0];
  const spells: [ServiceState, number][] = [
    ["lost lease", LEASE_MS / 3],
    ["slow", 2 * LEASE_MS],
    ["errors", LEASE_MS / 3],
  ];
  for (const [state, forMs] of spells) {
    line?.set(state);
    await Bun.sleep(forMs);
    line?.set("open");
    await waitForEmails(load, 50);
    expect([state, (await of.findWorking())?.name, a.child?.stderr()]).toEqual([state, "a", ""]);
    await waitForStandby(of, b);
  }
  line?.set("errors");
  expect((await within(LIMIT_MS, "its end", (a.child as Child).ended)).code).toBe(1);
  expect((await of.awaitWorking()).name).toBe("b");
  line?.set("open");
  of.start(a);
  await waitForStandby(of, a);
  await waitForEmails(load, 50);
  await load.stop();
  const twice = await checkArrivals(of, load, b);
  for (const { child } of of.nodes) expect(bugsOf(child as Child)).toEqual([]);
  console.log(`S3 errs: ${load.accepted.size} answered 202, none lost, ${twice} sent twice, all marked`);
});

test.skipIf(isMissing || careless === null)("an S3 service that ignores conditional writes is refused", async () => {
  await using service = await startMoto(careless ?? "");
  await using world = await createWorld({ mxPort: 25 });
  const config = world.writeConfig("careless.toml", {
    replication: { url: "s3://copies/pombo", endpoint: service.url, region: S3_REGION, acknowledge: "replica" },
    standby: { lease: `${LEASE_MS}ms` },
  });
  const refused = await runPombo(["serve", "--config", config], { env: S3_CREDENTIALS });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("does not honour conditional writes")]);
});

test.skipIf(isMissing)("a stop ends a takeover that brings the database", async () => {
  await using of = await createNodes();
  const [a, b] = await startBoth(of);
  const child = b.child as Child;
  await kill(a);
  await child.until("the lease is taken", () => hasLogged(child, "standby.took_over"));
  // The database does not come.
  b.line.set("cut");
  await Bun.sleep(LEASE_MS / 6);
  child.signal("SIGTERM");
  expect(await within(LIMIT_MS / 6, "its end", child.ended)).toEqual({ code: 0, signal: null });
  expect(hasLogged(child, "standby.database")).toBe(false);
  b.line.set("open");
  of.start(b);
  expect((await of.awaitWorking()).name).toBe("b");
});

test.skipIf(isMissing || !hasSmallDisks)(
  "full disks: the machine hands over all the same, and one without room for the database takes nothing",
  async () => {
    await using of = await createNodes({ diskMiB: DISK_MIB });
    const [a, b] = await startBoth(of);
    const load = of.load();
    const accept = (count: number) => waitForEmails(load, count);
    const post = async ({ url }: Node) => {
      const body = emailTo("a@one.test", "full");
      return (await call(url, of.world.key, { method: "POST", path: "/api/v1/emails", body })).status;
    };
    await accept(100);
    a.disk?.fill();
    // Room inside the files may still serve a few.
    await waitUntil("a refusal", LIMIT_MS, async () => (await post(a)) === 503);
    // The daemon can copy nothing either, and is waited for; what was answered is in the replica already.
    await using handing = spawnPombo(["standby", "hand-over", "--config", a.config], {
      env: S3_CREDENTIALS,
      through: a.disk?.enter ?? [],
    });
    expect([(await within(2 * LIMIT_MS, "the hand-over", handing.ended)).code, handing.stderr()]).toEqual([0, ""]);
    expect(await (a.child as Child).ended).toEqual({ code: 0, signal: null });
    expect((await of.awaitWorking()).name).toBe("b");
    await accept(100);

    // The one with the full disk stands by again, and the other is lost: what it cannot keep it does not take.
    of.start(a);
    await kill(b);
    const ended = await within(LIMIT_MS, "its end", (a.child as Child).ended);
    expect([ended.code, a.child?.stderr()]).toEqual([1, expect.stringContaining("no space left")]);
    of.start(b);
    expect((await of.awaitWorking()).name).toBe("b");
    await accept(100);

    // With room it takes over.
    a.disk?.clear();
    of.start(a);
    await waitForStandby(of, a);
    await kill(b);
    expect((await of.awaitWorking()).name).toBe("a");
    await accept(100);
    await load.stop();
    const twice = await checkArrivals(of, load, a);
    console.log(`full disks: ${load.accepted.size} answered 202, none lost, ${twice} sent twice, all marked`);
  },
);

test.skipIf(isMissing || faketime !== null)(
  "a clock an hour ahead: the lease works where S3 takes the requests, else the start is refused",
  async () => {
    await using of = await createNodes();
    const [a, b] = of.nodes as [Node, Node];
    of.start(a);
    await of.awaitWorking([a]);
    of.start(b, ["env", ...Object.entries(atAnotherTime("+1h")).map((each) => each.join("="))]);
    if (process.env["S3_SERVICE"] === "minio") {
      // It takes no request of another time.
      expect((await within(LIMIT_MS, "its refusal", (b.child as Child).ended)).code).toBe(1);
      expect(b.child?.stderr()).toContain("clock");
      return;
    }
    await waitForStandby(of, b);
    const [, seen = ""] = /"time":"([^"]+)"/.exec(b.child?.stdout() ?? "") ?? [];
    expect(Date.parse(seen) - Date.now()).toBeGreaterThan(HOUR_MS / 2);
    const load = of.load();
    const accept = (count: number) => waitForEmails(load, count);
    await accept(50);
    // Twice as long as it would wait for a machine that is lost.
    await Bun.sleep(3 * LEASE_MS);
    expect((await of.findWorking())?.name).toBe("a");
    await kill(a);
    expect((await of.awaitWorking()).name).toBe("b");
    await accept(50);
    of.start(a);
    await waitForStandby(of, a);
    await kill(b);
    expect((await of.awaitWorking()).name).toBe("a");
    await accept(50);
    await load.stop();
    const twice = await checkArrivals(of, load, a);
    for (const { child } of of.nodes) expect(bugsOf(child as Child)).toEqual([]);
    console.log(`an hour ahead: ${load.accepted.size} answered 202, none lost, ${twice} sent twice, all marked`);
  },
);
