import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../../src/platform/errors.ts";
import { type Lock, type Purpose, takeInstanceLock, takeLock } from "../../../src/platform/instance-lock.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { flicker } from "../../support/fakes/flicker.ts";

let dataDir = "";
const holders: { kill(signal: NodeJS.Signals): void; exited: Promise<number> }[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "pombo-lock-"));
});
afterEach(async () => {
  for (const holder of holders.splice(0)) {
    holder.kill("SIGKILL");
    await holder.exited;
  }
  rmSync(dataDir, { recursive: true });
});

const LOCK_MODULE = JSON.stringify(join(import.meta.dir, "../../../src/platform/instance-lock.ts"));
const PROGRAM = `
  const { takeLock } = await import(${LOCK_MODULE});
  const lock = takeLock(process.argv[1]);
  console.log(JSON.stringify({ kind: lock.kind, pid: lock.pid ?? null }));
  Bun.gc(true);
  for await (const line of console) if (line === "release") { lock.release(); console.log("released"); }
`;

/** A second process that tries to take the lock, then lives until it is killed. */
async function startProcess() {
  const child = Bun.spawn([process.execPath, "-e", PROGRAM, dataDir], {
    stdin: "pipe",
    stdout: "pipe",
  });
  holders.push(child);
  const reader = child.stdout.getReader();
  const nextLine = async () => new TextDecoder().decode((await reader.read()).value).trim();
  const outcome = JSON.parse(await nextLine()) as { kind: string; pid: number | null };
  const release = async () => {
    void child.stdin.write("release\n");
    await child.stdin.flush();
    return nextLine();
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { pid: child.pid, outcome, release, kill };
}

function kindOf(): string {
  const lock = takeLock(dataDir);
  if (lock.kind === "locked") lock.release();
  return lock.kind;
}

test("the first process gets the lock, the second is told the first one's PID", async () => {
  const first = await startProcess();
  expect(first.outcome.kind).toBe("locked");
  expect(takeLock(dataDir)).toEqual({ kind: "held", pid: first.pid });
  const third = await startProcess();
  expect(third.outcome).toEqual({ kind: "held", pid: first.pid });
});

test("a command that holds the lock is told from an instance, which will not let go of it", async () => {
  const lock = takeLock(dataDir, "command");
  expect(readFileSync(join(dataDir, "lock.pid"), "utf8")).toBe(`${process.pid} command\n`);
  expect(takeLock(dataDir)).toEqual({ kind: "held", pid: process.pid, byCommand: true });
  if (lock.kind === "locked") lock.release();
  // What a killed command left says nothing of the next holder.
  writeFileSync(join(dataDir, "lock.pid"), "2147483647 command\n");
  const holder = await startProcess();
  expect(takeLock(dataDir)).toEqual({ kind: "held", pid: holder.pid });
});

test("an instance that starts waits half a minute for a command, a second for a holder unknown, for an instance not at all", async () => {
  const clock = fakeClock();
  const waitFor = async (isOver: () => boolean) => {
    const startedAt = clock.now();
    let outcome: Lock | null = null;
    void takeInstanceLock(dataDir, clock).then((lock) => (outcome = lock));
    while (outcome === null) {
      await new Promise<void>((next) => setImmediate(next));
      if (isOver()) lock.release();
      if (clock.pending > 0) clock.advance(50);
    }
    return { waitedMs: clock.now() - startedAt, outcome: outcome as Lock };
  };
  const never = () => false;
  let lock = locked("command");
  expect(await waitFor(never)).toMatchObject({ waitedMs: 30_000, outcome: { kind: "held", pid: process.pid } });
  const startedAt = clock.now();
  const followed = await waitFor(() => clock.now() - startedAt >= 5_000);
  expect(followed).toMatchObject({ waitedMs: 5_050, outcome: { kind: "locked" } });
  if (followed.outcome.kind === "locked") followed.outcome.release();
  lock = locked("instance");
  expect(await waitFor(never)).toEqual({ waitedMs: 0, outcome: { kind: "held", pid: process.pid } });
  rmSync(join(dataDir, "lock.pid"));
  expect(await waitFor(never)).toEqual({ waitedMs: 1_000, outcome: { kind: "held", pid: null } });
  lock.release();
});

function locked(purpose: Purpose) {
  const lock = takeLock(dataDir, purpose);
  if (lock.kind === "held") throw new Error("it is held");
  return lock;
}

test("kill -9 of the holder frees the lock at once, whatever files it leaves", async () => {
  const holder = await startProcess();
  await holder.kill();
  expect(readFileSync(join(dataDir, "lock.pid"), "utf8")).toBe(`${holder.pid}\n`);
  const lock = takeLock(dataDir);
  expect(lock.kind).toBe("locked");
  expect(readFileSync(join(dataDir, "lock.pid"), "utf8")).toBe(`${process.pid}\n`);
  if (lock.kind === "locked") lock.release();
});

test("a released lock can be taken by another process", async () => {
  const holder = await startProcess();
  expect(kindOf()).toBe("held");
  expect(await holder.release()).toBe("released");
  expect(existsSync(join(dataDir, "lock.pid"))).toBe(false);
  expect(kindOf()).toBe("locked");
});

test("of processes that start together exactly one gets the lock", async () => {
  const outcomes = (await Promise.all([1, 2, 3].map(startProcess))).map(({ outcome }) => outcome.kind);
  expect(outcomes.sort()).toEqual(["held", "held", "locked"]);
});

test("a second try in the same process is refused and leaves the first lock in force", async () => {
  const lock = takeLock(dataDir);
  // Closing a second descriptor of the file would drop the first one's POSIX locks.
  expect(takeLock(dataDir)).toEqual({ kind: "held", pid: process.pid });
  const other = await startProcess();
  expect(other.outcome).toEqual({ kind: "held", pid: process.pid });
  if (lock.kind === "locked") lock.release();
});

test("a lock that nobody refers to any more is still held after garbage collection", async () => {
  (() => expect(takeLock(dataDir).kind).toBe("locked"))();
  Bun.gc(true);
  const other = await startProcess();
  expect(other.outcome.kind).toBe("held");
});

test("releasing twice does not free the next holder's lock", () => {
  const first = takeLock(dataDir);
  if (first.kind === "locked") first.release();
  const second = takeLock(dataDir);
  if (first.kind === "locked") first.release();
  expect(kindOf()).toBe("held");
  expect(existsSync(join(dataDir, "lock.pid"))).toBe(true);
  if (second.kind === "locked") second.release();
});

test("the files of the lock can be read by their owner only", () => {
  const lock = takeLock(dataDir);
  for (const name of ["lock", "lock.pid"]) expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
  if (lock.kind === "locked") lock.release();
});

test("a PID file without sense, or of a process long gone, gives no PID", async () => {
  const holder = await startProcess();
  for (const content of ["", "nonsense\n", "-1\n", "0\n", "4194305\n", "1e3\n", "9".repeat(400)]) {
    writeFileSync(join(dataDir, "lock.pid"), content);
    expect(takeLock(dataDir)).toEqual({ kind: "held", pid: null });
  }
  rmSync(join(dataDir, "lock.pid"));
  expect(takeLock(dataDir)).toEqual({ kind: "held", pid: null });
  expect(holder.outcome.kind).toBe("locked");
});

test("a data directory that does not exist is named with the cure", () => {
  expect(() => takeLock(join(dataDir, "none"))).toThrow(StartError);
  expect(() => takeLock(join(dataDir, "none"))).toThrow("create it with pombo init");
});

test("a lock file that is something else is refused, and nothing stays open", () => {
  writeFileSync(join(dataDir, "lock"), "not a database, and long enough to be looked at\n".repeat(40));
  expect(() => takeLock(dataDir)).toThrow("delete it");
  rmSync(join(dataDir, "lock"));
  expect(kindOf()).toBe("locked");
});

// Root may write everywhere.
test.skipIf(process.getuid?.() === 0)("a data directory of somebody else is refused with the cure", () => {
  chmodSync(dataDir, 0o500);
  expect(() => takeLock(dataDir)).toThrow("run pombo as the user that owns the data directory");
  chmodSync(dataDir, 0o700);
});

test("a lock file that comes and goes is told of in words", async () => {
  symlinkSync("nowhere", join(dataDir, "lock"));
  await using _flickering = await flicker(join(dataDir, "lock"));
  const others: unknown[] = [];
  for (let round = 0; round < 600; round += 1) {
    try {
      kindOf();
    } catch (error) {
      if (!(error instanceof StartError)) others.push(error);
    }
  }
  expect(others).toEqual([]);
});
