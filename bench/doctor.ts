// What the doctor takes: the time of a full run for one domain and for many, and what it costs deliveries, which go in turns
// without it and beside runs that follow each other at once. What a run costs is much smaller than how a machine's rate
// varies, so CPU is compared, of pairs, with an interval. DNS answers on this machine, so that the time is pombo's own.

import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { type Api, findPombo } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, type Cleanup } from "../test/support/peers/process.ts";
import { publish, type DnsRecord } from "../test/support/peers/zone.ts";
import { startSandboxDns } from "../src/sandbox/dns/server.ts";
import { answerFromZone, type Zone } from "../test/support/fakes/zone.ts";
import { quantile } from "./load.ts";
import { RECIPIENT_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { type Bench, benchZone, type DeliveryResult, measureDelivery, preparePombo } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { alignRows, type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench doctor [options]
  --messages N   deliveries of a phase, a few seconds (6000)
  --pairs N      phases without and beside the doctor, in turns (10), at least 6; 0: only the time of runs
  --domains N    sending domains of the long run (500)
`;
const RUN_LIMIT_MS = 900_000;
const ONE_DOMAIN_S = 15;
const MANY_DOMAINS_S = 60;
/** The doctor runs once an hour; here once while so many are delivered, some ten seconds. */
const RUN_EVERY = 16_000;
const MOST_CPU_PERCENT = 1;
const CERTAINTY = 0.95;
/** Fewer leave it uncertain, whatever they are. */
const MIN_PAIRS = 6;
const AT_ONCE = 8;
const CPU_RUNS = 10;
const HOUR_S = 3600;
const LISTS = { block_lists: ["list.bench.test"], name_lists: ["names.bench.test"] };

interface Options {
  messages: number;
  pairs: number;
  domains: number;
}

interface Pair {
  without: DeliveryResult;
  beside: DeliveryResult;
  /** Of the doctor; half of the last one is counted. */
  runs: number;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([SMTP_SINK]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const stopLimit = limitRun(RUN_LIMIT_MS);
  const isHeldThere = await measure(options, cleanup);
  stopLimit();
  return isHeldThere ? 0 : 1;
});

async function measure(options: Options, cleanup: Cleanup): Promise<boolean> {
  const folder = makeFolder("bench", cleanup);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);
  const zone = doctorZone();
  const dns = await startSandboxDns({ answer: (name, type) => answerFromZone(zone, name, type) });
  cleanup.add(() => dns.close());
  const doctor = { every: "0s", ...LISTS, probes: [RECIPIENT_DOMAIN], time_server: "" };
  const bench = await preparePombo({ folder, dnsPort: dns.port, zone, sink, proof, settings: { doctor }, cleanup });

  const oneMs = await median(5, () => examine(bench));
  const pairs = await measurePairs(bench, options);
  const runCpuS = await measureCpu(bench);
  console.error(`pombo: ${options.domains} domains are made …`);
  await addDomains(bench.api, zone, options.domains);
  const manyMs = await median(3, () => examine(bench));

  const bounds: Bound[] = [
    { name: "a full run for one domain", value: oneMs / 1000, must: "be at most", limit: ONE_DOMAIN_S, unit: " s" },
    {
      name: `a full run for ${options.domains} domains`,
      value: manyMs / 1000,
      must: "be at most",
      limit: MANY_DOMAINS_S,
      unit: " s",
    },
  ];
  bounds.push({
    name: "CPU of one run an hour, of one core",
    value: (100 * runCpuS) / HOUR_S,
    must: "be at most",
    limit: 1,
    unit: " %",
  });
  const cost = pairs.length === 0 ? null : compare(pairs);
  if (cost !== null)
    bounds.push({
      name: `CPU of one run, of that of ${whole(RUN_EVERY)} messages, upper end`,
      value: (100 * cost.messagesOfRun.upper) / RUN_EVERY,
      must: "be at most",
      limit: MOST_CPU_PERCENT,
      unit: " %",
    });
  const lines = [...machineLines(machine, findPombo().what), "", ...formatPairs(pairs)];
  if (cost !== null) lines.push(describeCost(pairs, cost));
  lines.push(`one run takes ${(1000 * runCpuS).toFixed(0)} ms of CPU`, ...formatBounds(bounds));
  console.log(lines.join("\n"));
  return bounds.every(isHeld);
}

/** The names of the run, and lists that work. */
function doctorZone(): Zone {
  const zone = benchZone();
  zone["2.0.0.127.list.bench.test"] = { A: ["127.0.0.2"] };
  zone["test.names.bench.test"] = { A: ["127.0.1.2"] };
  zone[SENDER_DOMAIN] = { MX: [[10, `mx.${RECIPIENT_DOMAIN}`]] };
  return zone;
}

/** @returns how long the run took, in ms */
async function examine({ app }: Bench): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${app.port}/api/v1/operator/doctor`, {
    method: "POST",
    headers: { "X-API-Key": app.operatorKey },
    signal: AbortSignal.timeout(2 * MANY_DOMAINS_S * 1000),
  });
  const { data } = (await answer.json()) as { data: { tookMs: number; findings: { id: string; seen: string }[] } };
  const late = data.findings.filter(({ seen }) => seen.includes("time of this run was over"));
  if (late.length > 0) throw new Error(`the run was over before ${late.length} findings`);
  return data.tookMs;
}

/** CPU seconds of one run, with what was delivered before to be counted. */
async function measureCpu(bench: Bench): Promise<number> {
  const before = bench.app.cpuSeconds();
  for (let run = 0; run < CPU_RUNS; run++) await examine(bench);
  return (bench.app.cpuSeconds() - before) / CPU_RUNS;
}

async function median(times: number, work: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let time = 0; time < times; time++) values.push(await work());
  return quantile(values, 0.5);
}

async function measurePairs(bench: Bench, { messages, pairs }: Options): Promise<Pair[]> {
  const measured: Pair[] = [];
  const deliver = () => measureDelivery(bench, messages, "html+text");
  for (let pair = 1; pair <= pairs; pair++) {
    console.error(`pombo: ${messages} messages without and beside the doctor, pair ${pair} of ${pairs} …`);
    // In turns, since the machine's pace and the database change from one to the next.
    if (pair % 2 === 1) measured.push({ without: await deliver(), ...(await deliverBeside(bench, deliver)) });
    else {
      const seen = await deliverBeside(bench, deliver);
      measured.push({ without: await deliver(), ...seen });
    }
  }
  return measured;
}

async function deliverBeside(bench: Bench, deliver: () => Promise<DeliveryResult>): Promise<Omit<Pair, "without">> {
  let isOver = false;
  let ended = 0;
  const examineOn = async () => {
    while (!isOver) {
      await examine(bench);
      if (!isOver) ended += 1;
    }
  };
  const running = examineOn();
  try {
    const beside = await deliver();
    return { beside, runs: ended + 0.5 };
  } finally {
    isOver = true;
    await running;
  }
}

interface Interval {
  median: number;
  lower: number;
  upper: number;
}

interface Cost {
  /** CPU a message, beside the doctor / without. */
  ratio: Interval;
  /** The CPU of a run, in messages. */
  messagesOfRun: Interval;
}

function cpuOf({ cpu, messages }: DeliveryResult): number {
  return (cpu["pombo"] ?? 0) / messages;
}

function ratioOf({ without, beside }: Pair): number {
  return cpuOf(beside) / cpuOf(without);
}

function compare(pairs: readonly Pair[]): Cost {
  return {
    ratio: findInterval(pairs.map(ratioOf)),
    messagesOfRun: findInterval(pairs.map((pair) => ((ratioOf(pair) - 1) * pair.beside.messages) / pair.runs)),
  };
}

/** The median lies between the k-th smallest and the k-th largest value as surely as a coin thrown n times shows k to n - k heads. */
function findInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let skipped = 0;
  let chance = 0.5 ** count;
  let below = chance;
  while (2 * below < 1 - CERTAINTY) {
    skipped += 1;
    chance *= (count - skipped + 1) / skipped;
    below += chance;
  }
  const from = Math.max(0, skipped - 1);
  return { median: quantile(sorted, 0.5, 3), lower: sorted[from] ?? NaN, upper: sorted[count - 1 - from] ?? NaN };
}

/** One line for the whole comparison. */
function describeCost(pairs: readonly Pair[], { ratio, messagesOfRun }: Cost): string {
  const runs = pairs.reduce((sum, pair) => sum + pair.runs, 0);
  const show = ({ median: middle, lower, upper }: Interval, digits: number) =>
    `${middle.toFixed(digits)} [${lower.toFixed(digits)}, ${upper.toFixed(digits)}]`;
  const share = (messages: number) => 1 + messages / RUN_EVERY;
  const rare = {
    median: share(messagesOfRun.median),
    lower: share(messagesOfRun.lower),
    upper: share(messagesOfRun.upper),
  };
  return `CPU a message beside the doctor / without, median [95 %] of ${pairs.length} pairs: ${show(ratio, 3)} with ${whole(runs)} runs one after the other; a run costs as ${show(messagesOfRun, 0)} messages; with one run in ${whole(RUN_EVERY)}: ${show(rare, 4)}`;
}

async function addDomains(api: Api, zone: Zone, count: number): Promise<void> {
  const numbers = Array.from({ length: count - 1 }, (_, index) => index).values();
  const worker = async () => {
    for (const number of numbers) {
      const domain = `loja${number}.test`;
      const created = await api.expect(201, "POST", "/api/v1/domains", { domain });
      const { dkim, spf, dmarc } = created.data.dns as { dkim: DnsRecord[]; spf: DnsRecord; dmarc: DnsRecord };
      publish(zone, [...dkim, spf, dmarc]);
      zone[domain] = { MX: [[10, `mx.${RECIPIENT_DOMAIN}`]] };
      const checked = await api.expect(200, "POST", `/api/v1/domains/${created.data.id}/verification-checks`);
      if (checked.data.verifiedAt === null) throw new Error(`${domain} was not verified`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function formatPairs(pairs: readonly Pair[]): string[] {
  if (pairs.length === 0) return [];
  const show = (result: DeliveryResult) => `${(1000 * cpuOf(result)).toFixed(3)} ms`;
  return [
    ...alignRows([
      ["CPU a message", "without", "beside", "ratio", "runs", "delivered a second", "beside"],
      ...pairs.map((pair, index) => [
        `pair ${index + 1}`,
        show(pair.without),
        show(pair.beside),
        ratioOf(pair).toFixed(3),
        pair.runs.toFixed(1),
        whole(pair.without.deliveredPerSecond),
        whole(pair.beside.deliveredPerSecond),
      ]),
    ]),
    "",
  ];
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: { messages: { type: "string" }, pairs: { type: "string" }, domains: { type: "string" } },
    });
    const options = {
      messages: Number(values.messages ?? 6_000),
      pairs: Number(values.pairs ?? 10),
      domains: Number(values.domains ?? 500),
    };
    return options.messages >= 1 && (options.pairs === 0 || options.pairs >= MIN_PAIRS) && options.domains >= 1
      ? options
      : null;
  } catch {
    return null;
  }
}
