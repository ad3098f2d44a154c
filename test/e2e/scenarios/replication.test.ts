// The database replicated while it is written to: the daemon killed again and again under load, pombo killed
// with it, the replica away and full for a while. Mail never waits for it, and an ordered stop leaves nothing
// that is not in the replica.
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PINNED_VERSION } from "../../../src/backup/litestream/executable.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { type CountingMx, startCountingMx } from "./counting-mx.ts";
import { type Load, startLoad } from "./load.ts";
import { canUnshare } from "./namespace.ts";
import {
  daemonPid,
  expectAllInReplica,
  findDaemon,
  isDaemon,
  lastStep,
  lineagesIn,
  stopInOrder,
} from "./replicated.ts";
import { bugsOf, createWorld, hasLogged, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const LIMIT_MS = 30_000;
/** Where pombo brings the log in itself, and what five seconds may add. The daemon killed all the time hardly comes to it. */
const WAL_LIMIT_BYTES = 320 * 1024 * 1024;

setDefaultTimeout((ROUNDS + 6) * LIMIT_MS);

const hasDaemon = await findDaemon();

interface Replicated {
  world: World;
  mx: CountingMx;
  replica: string;
  load(serving: () => Promise<Served>): Load;
  [Symbol.asyncDispose](): Promise<void>;
}

async function createReplicated(): Promise<Replicated> {
  const mx = await startCountingMx();
  const replica = mkdtempSync("/tmp/pombo-replica-");
  const world = await createWorld({ mxPort: mx.port, settings: { replication: { url: join(replica, "copies") } } });
  return {
    world,
    mx,
    replica,
    load: (serving) =>
      startLoad({
        key: world.key,
        customers: 4,
        url: async () => (await serving()).url,
        delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
      }),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await mx[Symbol.asyncDispose]();
      rmSync(replica, { recursive: true, force: true });
    },
  };
}

test.skipIf(!hasDaemon)(
  "the daemon is killed under load again and again, and pombo with it: all is in the replica at last",
  async () => {
    await using of = await createReplicated();
    const { world } = of;
    let serving = Promise.withResolvers<Served>();
    const load = of.load(() => serving.promise);
    const seen = new Set<number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      await using process = await world.serve();
      serving.resolve(process);
      await waitUntil("a daemon of its own", LIMIT_MS, () => isDaemon(daemonPid(world)));
      for (let kill = 0; kill < 2; kill += 1) {
        const pid = daemonPid(world);
        seen.add(pid);
        const before = load.accepted.size;
        await within(
          LIMIT_MS,
          "answers",
          load.until(() => load.accepted.size > before + 100),
        );
        globalThis.process.kill(pid, "SIGKILL");
        await waitUntil("another daemon", LIMIT_MS, () => daemonPid(world) !== pid && isDaemon(daemonPid(world)));
      }
      const orphan = daemonPid(world);
      serving = Promise.withResolvers<Served>();
      process.signal("SIGKILL");
      await process.ended;
      expect(bugsOf(process)).toEqual([]);
      // Whatever was killed, its steps lead on from what is in the replica: no new lineage is needed.
      expect(lineagesIn(join(of.replica, "copies"))).toHaveLength(1);
      // It lives on without its pombo, until the next one ends it.
      expect(isDaemon(orphan)).toBe(true);
      seen.add(orphan);
    }
    await using last = await world.serve();
    serving.resolve(last);
    expect(hasLogged(last, "replication.orphan")).toBe(true);
    const before = load.accepted.size;
    await within(
      LIMIT_MS,
      "more answers",
      load.until(() => load.accepted.size > before + 100),
    );
    expect([...seen].filter(isDaemon)).toEqual([]);
    await waitUntil("the last daemon", LIMIT_MS, () => isDaemon(daemonPid(world)));
    await load.stop();
    expect(statSync(join(world.dataDir, "pombo.db-wal")).size).toBeLessThan(WAL_LIMIT_BYTES);
    const own = daemonPid(world);
    await stopInOrder(last);
    expect(last.stdout()).toContain('"isComplete":true');
    expect(isDaemon(own)).toBe(false);
    expect(hasLogged(last, "delivery.paused")).toBe(false);
    expectAllInReplica(of.world, load);
    console.log(`replication: ${load.accepted.size} emails, ${ROUNDS * 2} daemons killed, ${ROUNDS} pombos`);
  },
);

test.skipIf(!hasDaemon)("a replica that is away for a while holds up no mail, and has it all afterwards", async () => {
  await using of = await createReplicated();
  const { world, mx, replica } = of;
  const first = lastStep(join(replica, "copies"), 0);
  await using process = await world.serve();
  const load = of.load(() => Promise.resolve(process));
  await within(
    LIMIT_MS,
    "answers",
    load.until(() => load.accepted.size > 50),
  );
  await waitUntil("the daemon copies", LIMIT_MS, () => lastStep(join(replica, "copies"), 0) > first);
  renameSync(join(replica, "copies"), join(replica, "away"));
  writeFileSync(join(replica, "copies"), "in the way");
  await waitUntil("the daemon says so", LIMIT_MS, () => hasLogged(process, "replication.output"));
  const [accepted, arrived] = [load.accepted.size, mx.distinct];
  await within(
    LIMIT_MS,
    "answers meanwhile",
    load.until(() => load.accepted.size > accepted + 100),
  );
  await within(
    LIMIT_MS,
    "mail meanwhile",
    mx.until(() => mx.distinct > arrived + 50),
  );
  await load.stop();
  // A stop does not wait for it for long, and a start does not either.
  await stopInOrder(process);
  expect(process.stdout()).toContain('"isComplete":false');
  // A daemon that a power cut left half-written is unpacked anew.
  const unpacked = join(world.dataDir, "litestream", `litestream-${PINNED_VERSION}`);
  if (existsSync(unpacked)) writeFileSync(unpacked, "half of it");
  await using again = await world.serve();
  expect(hasLogged(again, "replication.unreachable")).toBe(true);
  rmSync(join(replica, "copies"));
  renameSync(join(replica, "away"), join(replica, "copies"));
  await stopInOrder(again);
  expect(again.stdout()).toContain('"isComplete":true');
  expectAllInReplica(of.world, load);
});

const namespace = canUnshare();
if (namespace === null)
  console.warn("SKIPPED: the full replica needs a mount namespace, which this machine does not permit.");

test.skipIf(!hasDaemon || namespace === null)(
  "a replica that is full holds up no mail, and goes on when it has room",
  async () => {
    await using of = await createReplicated();
    const { world, replica } = of;
    // A small file system of its own, which only the processes inside see.
    const mount = `mount -t tmpfs -o size=3m tmpfs ${replica} && dd if=/dev/zero of=${replica}/filler bs=1M count=2 status=none`;
    await using process = await world.serve({
      through: [...(namespace ?? []), "sh", "-c", `${mount} && exec "$@"`, "sh"],
    });
    const load = of.load(() => Promise.resolve(process));
    await waitUntil("the daemon says so", LIMIT_MS * 2, () => /no space left/.test(process.stdout()));
    const accepted = load.accepted.size;
    await within(
      LIMIT_MS,
      "answers meanwhile",
      load.until(() => load.accepted.size > accepted + 50),
    );
    await load.stop();
    const inside = `/proc/${process.pid}/root${replica}`;
    expect(existsSync(join(inside, "copies"))).toBe(true);
    Bun.spawnSync(["nsenter", `--mount=/proc/${process.pid}/ns/mnt`, "mount", "-o", "remount,size=500m", replica]);
    await stopIntoReplica(process, of, load);
  },
);

/** Its file system is gone with its last process: looked at while a shell stays in it. */
async function stopIntoReplica(process: Served, of: Replicated, load: Load): Promise<void> {
  const keeper = Bun.spawn(["nsenter", `--mount=/proc/${process.pid}/ns/mnt`, "sleep", "120"]);
  try {
    await stopInOrder(process);
    expect(process.stdout()).toContain('"isComplete":true');
    rmSync(join(of.replica, "copies"), { recursive: true }); // from before the mount
    Bun.spawnSync(["cp", "-a", `/proc/${keeper.pid}/root${of.replica}/copies`, join(of.replica, "copies")]);
    expectAllInReplica(of.world, load);
  } finally {
    keeper.kill();
    await keeper.exited;
  }
}
