import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startTexting } from "../../support/texting/world.ts";

/** Whether this process has the lock that a connection holds on its database for as long as it is open. */
function isLocked(directory: string): boolean {
  const { ino } = statSync(join(directory, "pombo.db"));
  const lines = readFileSync("/proc/locks", "utf8").split("\n");
  // SQLite's shared bytes: those behind the first two of 2^30.
  return lines.some((line) => {
    const [, kind, , , pid, file = "", start] = line.trim().split(/\s+/);
    return kind === "POSIX" && pid === String(process.pid) && file.endsWith(`:${ino}`) && start === "1073741826";
  });
}

test.skipIf(process.platform !== "linux")(
  "nothing that is asked of an instance takes its lock off the database",
  async () => {
    await using world = await startTexting({
      configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
    });
    const { instance } = world;
    expect(isLocked(instance.directory)).toBe(true);
    const id = await world.text();
    await world.until(id, ({ status }) => status === "delivered");
    for (const path of ["/ready", "/health", "/metrics"]) await instance.operator.call("GET", path);
    for (const path of [
      "status",
      "queue",
      "queue/overview",
      "workspaces",
      "sms/links",
      "domains",
      "suppressions",
      "trace",
    ])
      await instance.operator.call("GET", `/api/v1/operator/${path}`);
    await instance.app.sms.sweep();
    expect(isLocked(instance.directory)).toBe(true);
    await instance.restart();
    expect(isLocked(instance.directory)).toBe(true);
  },
);
