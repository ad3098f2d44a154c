// `pombo restore --drill` is a process of its own: it waits for its end, says what came of it and writes it down, while
// the instance runs and after it has stopped.
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readDrill } from "../../../src/backup/restore-drill.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { findDaemon, lastStep, stopInOrder } from "./replicated.ts";
import { call, createWorld, emailTo } from "./world.ts";

const LIMIT_MS = 60_000;

setDefaultTimeout(2 * LIMIT_MS);

const hasDaemon = await findDaemon();

test.skipIf(!hasDaemon)("a drill by hand ends with a word, an exit code and drill.json", async () => {
  const place = mkdtempSync("/tmp/pombo-drill-");
  await using _gone = { [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }) };
  const replica = join(place, "copies");
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port, settings: { replication: { url: replica } } });
  const drill = async (...more: string[]) => {
    const before = Date.now();
    const ran = await runPombo(["restore", "--drill", "--config", world.configFile, ...more]);
    const written = readDrill(world.dataDir);
    expect(written === null ? null : written.at >= before).toBe(true);
    return { ...ran, written };
  };
  {
    await using served = await world.serve();
    for (let index = 0; index < 20; index += 1) {
      const body = emailTo("maria@one.test", `Email ${index}`);
      const sent = await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body });
      expect(sent.status).toBe(202);
    }
    await waitUntil("a copy", LIMIT_MS, () => lastStep(replica, 0) > 1);
    const running = await drill();
    expect([running.code, running.stderr]).toEqual([0, ""]);
    expect(running.stdout).toMatch(/^good: .* It took [\d.,]+ s\.\n$/);
    expect(running.written).toMatchObject({ outcome: "good", goodAt: running.written?.at });
    await stopInOrder(served);
  }
  const stopped = await drill("--json");
  expect([stopped.code, stopped.stderr]).toEqual([0, ""]);
  expect(JSON.parse(stopped.stdout)).toMatchObject({ outcome: "good" });
  // What was restored is removed.
  expect(
    readdirSync(world.dataDir)
      .filter((name) => name.includes("drill"))
      .toSorted(),
  ).toEqual(["drill.json", "drill.lock"]);

  rmSync(replica, { recursive: true });
  const without = await drill();
  expect([existsSync(replica), without.code]).toEqual([false, 1]);
  expect(without.written).toMatchObject({ outcome: expect.not.stringMatching("good"), goodAt: stopped.written?.at });
});
