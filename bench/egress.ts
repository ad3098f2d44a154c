// What it costs to leave by a proxy: `script/bench egress`. Two instances side by side send to the same sink, one directly
// and one by an [[egress]] through Dante, in turns. Exit code 1: the floor is missed.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo, type TomlTable } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, type Cleanup } from "../test/support/peers/process.ts";
import { DANTE, startDante } from "../test/support/peers/socks5.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { quantile } from "./load.ts";
import { type Bench, benchZone, measureDelivery, preparePombo } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench egress [options]
  --messages N   deliveries of a round (8000)
  --rounds N     rounds of each (4)
`;
const RUN_LIMIT_MS = 600_000;
const SHARE_FLOOR = 0.95;

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([SMTP_SINK, DANTE]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const isWell = await measure(options, cleanup);
  endLimit();
  return isWell ? 0 : 1;
});

async function measure({ messages, rounds }: { messages: number; rounds: number }, cleanup: Cleanup) {
  const folder = makeFolder("bench", cleanup);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const dante = await startDante({ folder, from: "127.0.0.1", cleanup });
  const prepare = (name: string, settings: TomlTable) => {
    const place = join(folder, name);
    mkdirSync(place);
    return preparePombo({ folder: place, dnsPort: dns.port, zone, sink, proof, settings, cleanup });
  };
  const by = { name: "dante", address: "127.0.0.1", hostname: "mail2.bench.test" };
  const ways: { name: string; bench: Bench; rates: number[]; cpuMs: number[] }[] = [
    { name: "directly", bench: await prepare("direct", {}), rates: [], cpuMs: [] },
    {
      name: "by the egress",
      bench: await prepare("egress", { egress: [{ ...by, proxy: `socks5://127.0.0.1:${dante.port}` }] }),
      rates: [],
      cpuMs: [],
    },
  ];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, bench, rates, cpuMs } of ways) {
      console.error(`pombo, ${name}: ${messages} messages, round ${round} of ${rounds} …`);
      const { deliveredPerSecond, cpu } = await measureDelivery(bench, messages, "html+text");
      rates.push(deliveredPerSecond);
      cpuMs.push(((cpu["pombo"] ?? 0) / messages) * 1_000);
    }
  }
  const [direct = 0, egress = 0] = ways.map(({ rates }) => quantile(rates, 0.5, Math.min(3, rounds)));
  const bounds: Bound[] = [
    {
      name: "delivered/s by the egress, of directly",
      value: egress / direct,
      must: "be at least",
      limit: SHARE_FLOOR,
      unit: "",
    },
  ];
  console.log(
    [
      ...machineLines(machine, findPombo().what),
      "Dante shares the cores with the rest: the time of pombo itself is what stays where it has a machine of its own.",
      ...ways.map(
        ({ name, rates, cpuMs }) =>
          `delivered/s ${name}: ${rates.map(whole).join(", ")}; CPU of pombo a message: ${cpuMs.map((ms) => ms.toFixed(2)).join(", ")} ms`,
      ),
      ...formatBounds(bounds),
    ].join("\n"),
  );
  return bounds.every(isHeld);
}

function readOptions(args: string[]): { messages: number; rounds: number } | null {
  const count = { type: "string" } as const;
  try {
    const { values } = parseArgs({ args, options: { messages: count, rounds: count } });
    const [messages, rounds] = [Number(values.messages ?? 8_000), Number(values.rounds ?? 4)];
    return messages >= 1 && rounds >= 1 ? { messages, rounds } : null;
  } catch {
    return null;
  }
}
