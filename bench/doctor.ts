// What the doctor takes: the time of a full run for one domain and for many, and what it costs deliveries, which go in turns
// without it and beside it. DNS answers on this machine, so that the time is pombo's own.

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
  --messages N   deliveries of a phase (16000)
  --rounds N     phases without and beside the doctor, in turns (7); 0: only the time of runs
  --domains N    sending domains of the long run (500)
`;
const RUN_LIMIT_MS = 900_000;
const ONE_DOMAIN_S = 15;
const MANY_DOMAINS_S = 60;
/** Of the rate of deliveries. */
const RATE_FLOOR = 0.99;
/** The doctor runs once an hour; here once while so many are delivered. */
const HEAD_START_MS = 500;
const AT_ONCE = 8;
const CPU_RUNS = 10;
const HOUR_S = 3600;
const MOST_NOISE = 0.1;
const LISTS = { block_lists: ["list.bench.test"], name_lists: ["names.bench.test"] };

interface Options {
  messages: number;
  rounds: number;
  domains: number;
}

interface Round {
  without: DeliveryResult;
  beside: DeliveryResult;
  tookMs: number;
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
  const rounds = await measureRounds(bench, options);
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
  const ratios = rounds.map(({ without, beside }) => beside.deliveredPerSecond / without.deliveredPerSecond);
  if (rounds.length > 0)
    bounds.push({
      name: `delivery rate beside / without a run, median of ${rounds.length} rounds`,
      value: quantile(ratios, 0.5, 3),
      must: "be at least",
      limit: RATE_FLOOR,
      unit: "",
    });
  const lines = [...machineLines(machine, findPombo().what), "", ...formatRounds(rounds)];
  lines.push(
    `one run takes ${(1000 * runCpuS).toFixed(0)} ms of CPU`,
    ...formatBounds(bounds),
    ...describeNoise(rounds),
  );
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

/** Of a machine that others keep busy no ratio says anything, whichever it is. */
function describeNoise(rounds: Round[]): string[] {
  const rates = rounds.map(({ without }) => without.deliveredPerSecond);
  const spread = (Math.max(...rates) - Math.min(...rates)) / quantile(rates, 0.5, 3);
  if (rounds.length === 0 || spread <= MOST_NOISE) return [];
  return [
    `The rate without the doctor alone varies by ${whole(100 * spread)} % between rounds: the ratio of this run tells nothing.`,
  ];
}

async function median(times: number, work: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let time = 0; time < times; time++) values.push(await work());
  return quantile(values, 0.5);
}

async function measureRounds(bench: Bench, { messages, rounds }: Options): Promise<Round[]> {
  const measured: Round[] = [];
  const deliver = () => measureDelivery(bench, messages, "html+text");
  const look = async () => {
    const run = Bun.sleep(HEAD_START_MS).then(() => examine(bench));
    const [beside, tookMs] = await Promise.all([deliver(), run]);
    return { beside, tookMs };
  };
  for (let round = 1; round <= rounds; round++) {
    console.error(`pombo: ${messages} messages without and beside a run of the doctor, round ${round} of ${rounds} …`);
    // In turns, since the machine's pace and the database change from one to the next.
    if (round % 2 === 1) measured.push({ without: await deliver(), ...(await look()) });
    else {
      const seen = await look();
      measured.push({ without: await deliver(), ...seen });
    }
  }
  return measured;
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

function formatRounds(rounds: Round[]): string[] {
  if (rounds.length === 0) return [];
  const processor = ({ cpu, messages }: DeliveryResult) => `${((1000 * (cpu["pombo"] ?? 0)) / messages).toFixed(2)} ms`;
  return [
    ...alignRows([
      ["delivered a second", "without", "beside", "ratio", "CPU a message", "beside", "the run took"],
      ...rounds.map(({ without, beside, tookMs }, index) => [
        `round ${index + 1}`,
        whole(without.deliveredPerSecond),
        whole(beside.deliveredPerSecond),
        (beside.deliveredPerSecond / without.deliveredPerSecond).toFixed(3),
        processor(without),
        processor(beside),
        `${whole(tookMs)} ms`,
      ]),
    ]),
    "",
  ];
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: { messages: { type: "string" }, rounds: { type: "string" }, domains: { type: "string" } },
    });
    const options = {
      messages: Number(values.messages ?? 16_000),
      rounds: Number(values.rounds ?? 7),
      domains: Number(values.domains ?? 500),
    };
    return options.messages >= 1 && options.rounds >= 0 && options.domains >= 1 ? options : null;
  } catch {
    return null;
  }
}
