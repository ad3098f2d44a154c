// What runs on the machine of the namespace: the world's servers, pombo, and the cases one after the other.

import { makeFolder, runProgram } from "../../../support/peers/process.ts";
import { checkCases } from "./cases.ts";
import type { Order } from "./kit.ts";
import { startServers } from "./world.ts";

await runProgram(async (cleanup) => {
  const { isSmoke, chrony, exim } = JSON.parse(process.argv[2] ?? "{}") as Order;
  const folder = makeFolder("doctor", cleanup);
  const startedAt = performance.now();
  const servers = await startServers(folder, { chrony, exim }, cleanup);
  await checkCases({ folder, servers, hasTime: chrony !== null, hasExim: exim !== null, isSmoke, cleanup });
  console.error(`doctor: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return 0;
});
