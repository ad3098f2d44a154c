import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../../src/backup/litestream/run.ts";
import { temporaryFolder } from "../../support/db/temporary.ts";

const LIMIT = { env: {}, limitMs: 10_000 };
/** proc_pid_stat(5), behind the name: state, parent, group, session, terminal. */
const sessionOf = (stat: string) => stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];

test("a command of the daemon has a session of its own, and so no terminal", async () => {
  const { code, out } = await runCommand(["/bin/cat", "/proc/self/stat"], LIMIT);
  expect(code).toBe(0);
  const [pid] = out.split(" ");
  expect(sessionOf(out)).toBe(pid ?? "");
  expect(sessionOf(out)).not.toBe(sessionOf(readFileSync("/proc/self/stat", "utf8")));
});

test("it is ended when its time is up or it is wanted no more, and what cannot be started is told", async () => {
  expect((await runCommand(["/bin/sleep", "60"], { ...LIMIT, limitMs: 50 })).code).toBeNull();
  expect((await runCommand(["/bin/sleep", "60"], { ...LIMIT, signal: AbortSignal.timeout(50) })).code).toBeNull();
  await expect(runCommand(["/nonexistent/litestream"], LIMIT)).rejects.toThrow();
});

test("what ends pombo ends it", async () => {
  using folder = temporaryFolder();
  // Its other end is open as long as the command lives.
  const pipe = join(folder.path, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const words = ["/bin/sh", "-c", `exec 3>${pipe}; echo lives >&3; exec sleep 60`];
  const program = `import { runCommand } from ${JSON.stringify(join(import.meta.dir, "../../../src/backup/litestream/run.ts"))};
    await runCommand(${JSON.stringify(words)}, { env: { PATH: "/usr/bin:/bin" }, limitMs: 60_000 });`;
  const pombo = Bun.spawn([process.execPath, "-e", program], { stdout: "ignore", stderr: "ignore" });
  const heard: string[] = [];
  for await (const chunk of Bun.spawn(["cat", pipe]).stdout) {
    heard.push(Buffer.from(chunk).toString());
    pombo.kill("SIGINT");
  }
  await pombo.exited;
  expect([heard, pombo.signalCode]).toEqual([["lives\n"], "SIGINT"]);
});
