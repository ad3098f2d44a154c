// Texts a second: `script/bench sms`.

import { parseArgs } from "node:util";
import { findPombo } from "../test/peers/pombo.ts";
import { type Cleanup, makeFolder, runProgram } from "../test/peers/process.ts";
import { formatCpu } from "./cpu.ts";
import { megabytes } from "./memory.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { measurePhase, Numbers, type PhaseOrder, type PhaseResult } from "./sms-phase.ts";
import { startPomboSide } from "./sms-pombo.ts";
import { alignRows, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench sms [options]
`;
const RUN_LIMIT_MS = 240_000;

await runProgram(async (cleanup: Cleanup) => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      messages: { type: "string" },
      rounds: { type: "string" },
      link: { type: "string" },
      rtt: { type: "string" },
      rate: { type: "string" },
      keep: { type: "boolean" },
      unfollowed: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.error(USAGE);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, values.keep === true);
  const machine = describeMachine(folder);
  console.log(machineLines(machine, findPombo().what).join("\n"));
  const numbers = new Numbers();
  const side = await startPomboSide(folder, values.unfollowed !== true, cleanup);
  const order: PhaseOrder = {
    link: (values.link ?? "w50") as PhaseOrder["link"],
    count: Number(values.messages ?? 20_000),
    rttMs: Number(values.rtt ?? 0),
    perSecond: Number(values.rate ?? 0),
  };
  await measurePhase(side, { ...order, count: 1000 }, { folder, numbers });
  const rows: string[][] = [
    ["what", "msgs/s", "accepted/s", "→resp p50", "p99", "→receipt p50", "p99", "CPU ms", "others", "RSS MB"],
  ];
  const results: PhaseResult[] = [];
  for (let round = 0; round < Number(values.rounds ?? 3); round += 1) {
    const result = await measurePhase(side, order, { folder, numbers });
    results.push(result);
    rows.push([
      `${order.link} rtt ${order.rttMs}`,
      whole(result.messagesPerSecond),
      whole(result.acceptedPerSecond),
      `${result.toAnswer.p50}`,
      `${result.toAnswer.p99}`,
      `${result.toReceipt?.p50 ?? ""}`,
      `${result.toReceipt?.p99 ?? ""}`,
      result.cpuMs.toFixed(3),
      result.othersMs.toFixed(3),
      megabytes(result.resident).toFixed(0),
      formatCpu(result.cpu),
    ]);
  }
  console.log(alignRows(rows).join("\n"));
  endLimit();
  return 0;
});
