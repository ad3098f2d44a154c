// What open dashboards cost deliveries: `script/bench dashboards`. One instance delivers in turns while nobody looks and
// while twenty people have the home of its workspace open. Exit code 1: a bound was missed or something failed.

import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo, operatorApi } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { quantile } from "./load.ts";
import type { Asked, OpenOrder } from "./open-dashboards.ts";
import { benchZone, type DeliveryResult, measureDelivery, preparePombo, type Bench } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine, type Report } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { alignRows, type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench dashboards [options]
  --open N        dashboards (20)
  --messages N    messages delivered in each round (4000)
  --rounds N      rounds without and with them, in turns; the median of the ratios counts (9)
  --keep          leave the temporary folder
`;
const RUN_LIMIT_MS = 420_000;
const RATE_FLOOR = 0.98;
/** Live streams that a person may have. */
const STREAMS_OF_PERSON = 4;

interface Options {
  open: number;
  messages: number;
  rounds: number;
  isKept: boolean;
}

interface Round {
  without: DeliveryResult;
  beside: DeliveryResult;
  requestsPerSecond: number;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([SMTP_SINK]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const rounds = await measure(folder, options, cleanup);
  endLimit();
  const bounds = judge(rounds);
  console.log(format(machine, options, rounds, bounds));
  return bounds.every(isHeld) ? 0 : 1;
});

async function measure(folder: string, options: Options, cleanup: Cleanup): Promise<Round[]> {
  const sink = await startSink(folder, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const proof = startProof(folder, sink.port, cleanup);
  console.error("pombo: starting …");
  const bench = await preparePombo({ folder, dnsPort: dns.port, zone, sink, proof, cleanup });
  const people = await signUp(bench, Math.ceil(options.open / STREAMS_OF_PERSON));
  const workspaceId: string = (await bench.api.expect(200, "GET", "/api/v1/workspace")).data.id;
  const cookies = Array.from({ length: options.open }, (_, index) => people[index % people.length] ?? "");
  const order: OpenOrder = { port: bench.app.port, workspaceId, cookies };
  const rounds: Round[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`${options.messages} messages without, then with dashboards: round ${round} of ${options.rounds} …`);
    const deliver = () => measureDelivery(bench, options.messages, "html+text");
    const look = () => measureBeside(bench, order, options.messages, cleanup);
    // In turns, since the machine's pace and the database change from one to the next.
    if (round % 2 === 1) rounds.push({ without: await deliver(), ...(await look()) });
    else {
      const seen = await look();
      rounds.push({ without: await deliver(), ...seen });
    }
  }
  return rounds;
}

/** Operators, who may read every workspace; the Cookie header of each. */
async function signUp({ app }: Bench, count: number): Promise<string[]> {
  const origin = `http://127.0.0.1:${app.port}`;
  const cookies: string[] = [];
  for (let number = 1; number <= count; number++) {
    const { data } = await operatorApi(app).expect(201, "POST", "/api/v1/operator/dashboard-link");
    const answer = await fetch(`${origin}/api/v1/auth/links/use`, {
      method: "POST",
      headers: { origin, "sec-fetch-site": "same-origin", "content-type": "application/json" },
      body: JSON.stringify({
        token: new URL(data.url as string).hash.slice(1),
        email: `ana${number}@example.com`,
        name: `Ana ${number}`,
        password: "quatro pombos no telhado",
      }),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (!answer.ok || cookie === undefined) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
    cookies.push(cookie.split(";")[0] ?? "");
  }
  return cookies;
}

async function measureBeside(bench: Bench, order: OpenOrder, messages: number, cleanup: Cleanup) {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/open-dashboards.ts`, JSON.stringify(order)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  cleanup.add(() => child.kill());
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const readLine = async () => (await output.read()).value?.trim() ?? "";
  if ((await readLine()) !== "open") throw new Error("the dashboards did not open");
  const startedAt = performance.now();
  const beside = await measureDelivery(bench, messages, "html+text");
  const seconds = (performance.now() - startedAt) / 1000;
  child.kill("SIGTERM");
  const { requests, failed } = JSON.parse(await readLine()) as Asked;
  await child.exited;
  if (failed > 0) throw new Error(`${failed} requests of dashboards were not answered`);
  return { beside, requestsPerSecond: requests / seconds };
}

function judge(rounds: Round[]): Bound[] {
  const ratios = rounds.map(({ without, beside }) => beside.deliveredPerSecond / without.deliveredPerSecond);
  return [
    {
      name: "delivery rate with / without",
      value: quantile(ratios, 0.5),
      must: "be at least",
      limit: RATE_FLOOR,
      unit: "",
    },
  ];
}

function format(machine: Report["machine"], { open }: Options, rounds: Round[], bounds: Bound[]): string {
  const rate = ({ deliveredPerSecond }: DeliveryResult) => whole(deliveredPerSecond);
  const processor = ({ cpu, messages }: DeliveryResult) => `${((1000 * (cpu["pombo"] ?? 0)) / messages).toFixed(2)} ms`;
  return [
    ...machineLines(machine, findPombo().what),
    "",
    ...alignRows([
      [`delivered a second`, "without", `with ${open}`, "CPU a message", "with", "requests a second"],
      ...rounds.map(({ without, beside, requestsPerSecond }, index) => [
        `round ${index + 1}`,
        rate(without),
        rate(beside),
        processor(without),
        processor(beside),
        whole(requestsPerSecond),
      ]),
    ]),
    "",
    ...formatBounds(bounds),
  ].join("\n");
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        open: { type: "string" },
        messages: { type: "string" },
        rounds: { type: "string" },
        keep: { type: "boolean" },
      },
    });
    const options: Options = {
      open: Number(values.open ?? 20),
      messages: Number(values.messages ?? 4000),
      rounds: Number(values.rounds ?? 9),
      isKept: values.keep === true,
    };
    return [options.open, options.messages, options.rounds].every((number) => number >= 1) ? options : null;
  } catch {
    return null;
  }
}
