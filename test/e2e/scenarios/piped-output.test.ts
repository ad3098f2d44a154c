// What a command puts out reaches a reader that takes its time, whole: a list that is cut off and ends with
// 0 is a backup that somebody relies on.
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findPombo } from "../../support/peers/pombo.ts";
import { startCountingMx } from "./counting-mx.ts";
import { call, createWorld } from "./world.ts";
import { runPombo } from "./child.ts";

const ADDRESSES = 4_000;

setDefaultTimeout(120_000);

test("a long list is whole for a reader that is late, and for one that is fast", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  let workspace: string;
  {
    await using served = await world.serve();
    const listed = await call(served.url, world.operatorKey, { path: "/api/v1/operator/workspaces" });
    workspace = listed.body.data[0].id;
    served.signal("SIGTERM");
    await served.ended;
  }
  const file = join(world.folder, "addresses.txt");
  writeFileSync(file, Array.from({ length: ADDRESSES }, (_, index) => `user${index}@example.com\n`).join(""));
  const config = ["--config", world.configFile];
  expect((await runPombo(["suppression", "import", workspace, file, ...config])).code).toBe(0);
  const { command } = findPombo();
  const words = [...command, "suppression", "export", workspace, ...config].map((word) => `'${word}'`).join(" ");
  for (const reader of ["(sleep 2; wc -l)", "wc -l"]) {
    const run = Bun.spawnSync(["bash", "-c", `set -o pipefail; ${words} | ${reader}`]);
    expect([reader, run.exitCode, Number(run.stdout.toString())]).toEqual([reader, 0, ADDRESSES + 1]);
  }
});
