import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { runToEnd } from "../../src/litestream/run.ts";

const LIMIT = { env: {}, limitMs: 10_000 };
/** proc_pid_stat(5), behind the name: state, parent, group, session, terminal. */
const sessionOf = (stat: string) => stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];

test("a command of the daemon has a session of its own, and so no terminal", async () => {
  const { code, out } = await runToEnd(["/bin/cat", "/proc/self/stat"], LIMIT);
  expect(code).toBe(0);
  const [pid] = out.split(" ");
  expect(sessionOf(out)).toBe(pid ?? "");
  expect(sessionOf(out)).not.toBe(sessionOf(readFileSync("/proc/self/stat", "utf8")));
});

test("it is ended when its time is up or it is wanted no more, and what cannot be started is told", async () => {
  expect((await runToEnd(["/bin/sleep", "60"], { ...LIMIT, limitMs: 50 })).code).toBeNull();
  expect((await runToEnd(["/bin/sleep", "60"], { ...LIMIT, signal: AbortSignal.timeout(50) })).code).toBeNull();
  expect(runToEnd(["/nonexistent/litestream"], LIMIT)).rejects.toThrow();
});

test("what ends pombo ends it", async () => {
  const { pathname } = new URL("../../src/litestream/run.ts", import.meta.url);
  const program = `import { runToEnd } from ${JSON.stringify(pathname)};
    await runToEnd(["/bin/sleep", "60"], { env: {}, limitMs: 60_000 });`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "ignore", stderr: "ignore" });
  const sleeps = () => childrenOf(child.pid).length;
  while (sleeps() === 0) await Bun.sleep(10);
  const [sleeper = 0] = childrenOf(child.pid);
  child.kill("SIGINT");
  await child.exited;
  expect(child.signalCode).toBe("SIGINT");
  while (isAlive(sleeper)) await Bun.sleep(10);
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

function isAlive(pid: number): boolean {
  try {
    // Of one that has ended and that nobody has asked about nothing but its name is left.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
