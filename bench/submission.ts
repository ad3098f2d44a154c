// SMTP submission: `script/bench submission`. Messages a second that programs hand in over TLS, accepted and synced, beside
// Postfix's smtpd with SASL, in turns, both with their queues held; from there to the sink, beside POST /emails, in turns;
// the memory while fifty clients push 20 MiB each, and that of two hundred who say nothing. Exit code 1: a bound was missed
// or something failed; 2: programs to compare with are missing.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, POSTFIX, SASL, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo } from "../test/support/peers/pombo.ts";
import {
  type Cleanup,
  freePort,
  makeFolder,
  runProgram,
  startProcess,
  waitForListener,
} from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { startCpuMeter } from "./cpu.ts";
import { startSubmissionPeer } from "./peers/postfix-submission.ts";
import { benchZone, type DeliveryResult, measureDelivery, preparePombo } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import type { SubmissionResult } from "./submission-load.ts";
import {
  countStored,
  holdQueue,
  measureIdle,
  measureLarge,
  measureSubmittedDelivery,
  runSubmissions,
  startSubmissionApp,
  submissionSettings,
  type Surroundings,
} from "./submission-pombo.ts";
import { type Figures, listBounds, listRows, type RateRound, type RateSide } from "./submission-report.ts";
import { alignRows, formatBounds, isHeld, machineLines } from "./table.ts";

const PHASES = ["rate", "delivery", "memory", "idle"];
const USAGE = `usage: script/bench submission [options]
  --seconds N      length of each part of the rate phase (6)
  --rounds N       rounds of the rate and of the delivery phase; the median counts (3)
  --sessions N     sessions that hand in small messages (10)
  --messages N     messages of each part of the delivery phase (6000)
  --phases LIST    of ${PHASES.join(",")} (all)
  --only pombo     without Postfix, and so without the ratio
  --json           print JSON instead of the table
  --keep           leave the temporary folder
`;
const RUN_LIMIT_MS = 600_000;
const MIB = 1024 * 1024;
const WARM_UP_MESSAGES = 500;
/** A message of 20 MiB has so much in base64. */
const LARGEST_BYTES = Math.floor(14.4 * MIB);
const LARGE_CLIENTS = 50;
/** Whether SIZE is declared, and whether the queue is held. */
const LARGE = [
  [true, true],
  [false, true],
  [true, false],
] as const;
const IDLE_CLIENTS = 200;

interface Options {
  seconds: number;
  rounds: number;
  sessions: number;
  messages: number;
  phases: Set<string>;
  isAlone: boolean;
  isJson: boolean;
  isKept: boolean;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([SMTP_SINK, ...(options.isAlone ? [] : [POSTFIX, SASL])]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const figures = await measure(folder, options, cleanup);
  endLimit();
  const bounds = listBounds(figures);
  const lines = [...machineLines(machine, findPombo().what), "", ...alignRows(listRows(figures)), ""];
  if (options.isJson) console.log(JSON.stringify({ machine, figures, bounds }, null, 2));
  else console.log([...lines, ...formatBounds(bounds)].join("\n"));
  return bounds.every(isHeld) ? 0 : 1;
});

/** A phase that is left out has no figure. */
async function measure(folder: string, options: Options, cleanup: Cleanup): Promise<Figures> {
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const sink = await startSink(folder, cleanup);
  const around: Surroundings = { folder, dnsPort: dns.port, zone, sink, cleanup };
  const figures: Figures = { rates: [], deliveries: [], large: [] };
  if (options.phases.has("rate")) figures.rates = await measureRates(options, around);
  if (options.phases.has("delivery")) figures.deliveries = await measureDeliveries(options, around);
  if (options.phases.has("memory")) {
    for (const [isSizeDeclared, isQueueHeld] of LARGE) {
      const how = `SIZE ${isSizeDeclared ? "" : "not "}declared, ${isQueueHeld ? "held" : "going out"}`;
      say(`pombo: ${LARGE_CLIENTS} clients push 20 MiB each, ${how} …`);
      const order = { clients: LARGE_CLIENTS, fileBytes: LARGEST_BYTES, isSizeDeclared, isHeld: isQueueHeld };
      figures.large.push(await measureLarge(order, around));
    }
  }
  if (options.phases.has("idle")) {
    say(`pombo: ${IDLE_CLIENTS} clients who say nothing …`);
    figures.idle = await measureIdle(IDLE_CLIENTS, around);
  }
  return figures;
}

interface Served {
  side: RateSide;
  account: { port: number; username: string; password: string };
  /** Absent: it keeps nothing. */
  count?: () => number;
  cpuSeconds(): number;
}

async function measureRates(options: Options, around: Surroundings): Promise<RateRound[]> {
  const cleanup = around.cleanup.part();
  const app = await startSubmissionApp("rate", options.sessions, { ...around, cleanup });
  await holdQueue(app);
  const pombo = { side: "pombo" as const, ...app, count: () => countStored(app), cpuSeconds: app.app.cpuSeconds };
  const sides: Served[] = [await startNullServer(around.folder, cleanup), pombo];
  if (!options.isAlone) sides.push({ side: "Postfix", ...(await startSubmissionPeer(around.folder, cleanup)) });
  const rounds: RateRound[] = [];
  let firstNumber = 0;
  const run = async ({ side, account, count, cpuSeconds }: Served, isPipelined: boolean, until: RateUntil) => {
    const before = count?.() ?? 0;
    const readCpu = startCpuMeter({ [side]: cpuSeconds });
    const { sessions } = options;
    const result = await runSubmissions({ ...account, sessions, firstNumber, kind: "rate", isPipelined, until });
    const cpu = readCpu({ load: result.cpuSeconds });
    firstNumber += result.accepted + sessions;
    requireAll(result, side, count === undefined ? null : count() - before);
    return { result, cpu };
  };
  for (const served of sides) await run(served, true, { messages: WARM_UP_MESSAGES });
  for (let round = 1; round <= options.rounds; round++) {
    say(`rate: round ${round} of ${options.rounds}, ${options.seconds} s a part …`);
    for (const isPipelined of [true, false]) {
      for (const served of sides) {
        // What it can do is known after one round.
        if (served.side === "nobody" && round > 1) continue;
        const { result, cpu } = await run(served, isPipelined, { ms: options.seconds * 1_000 });
        rounds.push({ side: served.side, isPipelined, ...toRate(result), cpu });
      }
    }
  }
  await cleanup.close();
  return rounds;
}

type RateUntil = { ms: number } | { messages: number };

function toRate({ accepted, elapsedMs, latencyMs }: SubmissionResult) {
  return { messages: accepted, perSecond: (accepted * 1_000) / elapsedMs, latencyMs };
}

/** `kept`: that it has more than before; null: it keeps nothing. */
function requireAll({ accepted, ends }: SubmissionResult, side: RateSide, kept: number | null): void {
  if (Object.keys(ends).some((code) => code !== "250")) throw new Error(`${side}: refused ${JSON.stringify(ends)}`);
  if (kept !== null && kept !== accepted) throw new Error(`${side}: accepted ${accepted}, but keeps ${kept}`);
}

async function startNullServer(folder: string, cleanup: Cleanup): Promise<Served> {
  const port = await freePort();
  const server = startProcess({
    command: [process.execPath, join(import.meta.dir, "submission-null.ts"), String(port)],
    logFile: join(folder, "null.log"),
  });
  cleanup.add(() => server.stop());
  await waitForListener(port);
  return { side: "nobody", account: { port, username: "a", password: "b" }, cpuSeconds: () => 0 };
}

async function measureDeliveries(options: Options, around: Surroundings): Promise<Figures["deliveries"]> {
  const { folder, sink } = around;
  const port = await freePort();
  const cleanup = around.cleanup.part();
  const proof = startProof(folder, sink.port, cleanup);
  const settings = submissionSettings(folder, port, options.sessions);
  const bench = await preparePombo({ ...around, proof, settings, cleanup });
  const account = { port, username: "pombo", password: bench.api.key };
  const submit = async (messages: number): Promise<DeliveryResult> => {
    const { sessions } = options;
    const { nextNumber: firstNumber } = bench;
    bench.nextNumber += messages;
    const until = { messages };
    const order = { ...account, sessions, firstNumber, kind: "rate" as const, isPipelined: true, until };
    return measureSubmittedDelivery(bench, order, messages);
  };
  await submit(WARM_UP_MESSAGES);
  const rounds: Figures["deliveries"] = [];
  for (let round = 1; round <= options.rounds; round++) {
    say(`delivery: round ${round} of ${options.rounds}, ${options.messages} messages a part …`);
    const posted = await measureDelivery(bench, options.messages, "html+text");
    rounds.push({ posted, submitted: await submit(options.messages) });
  }
  await cleanup.close();
  return rounds;
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seconds: { type: "string", default: "6" },
        rounds: { type: "string", default: "3" },
        sessions: { type: "string", default: "10" },
        messages: { type: "string", default: "6000" },
        phases: { type: "string", default: PHASES.join(",") },
        only: { type: "string" },
        json: { type: "boolean" },
        keep: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
    const [sessions, messages] = [Number(values.sessions), Number(values.messages)];
    const phases = new Set(values.phases.split(","));
    const isUsable =
      values.help !== true &&
      [seconds, rounds, sessions, messages].every((number) => number >= 1) &&
      [...phases].every((phase) => PHASES.includes(phase)) &&
      [undefined, "pombo"].includes(values.only);
    const isAlone = values.only === "pombo" || !phases.has("rate");
    const [isJson, isKept] = [values.json === true, values.keep === true];
    return isUsable ? { seconds, rounds, sessions, messages, phases, isAlone, isJson, isKept } : null;
  } catch {
    return null;
  }
}

/** Progress goes to standard error, so that standard output is the report. */
function say(line: string): void {
  console.error(line);
}
