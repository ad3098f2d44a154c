// What answers that wait for the replica cost: `script/bench standby`. The bucket is moto, or with S3_SERVICE=minio MinIO,
// behind a line of 30 ms there and back. Deliveries a second, in turns with an instance that has no replica; then how long an
// answer takes at 100 emails a second. Exit code 1: a floor or ceiling is missed.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDelayProxy } from "../test/support/peers/delay-proxy.ts";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo } from "../test/support/peers/pombo.ts";
import { bringS3, S3_KEY, S3_REGION, type S3Service } from "../test/support/peers/s3.ts";
import { makeFolder, runProgram, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { formatCpu } from "./cpu.ts";
import { quantile } from "./load.ts";
import { BLOCKED_DOMAIN, makeContent, recipient, SENDER_DOMAIN } from "./message.ts";
import { type Bench, benchZone, type DeliveryResult, measureDelivery, preparePombo } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench standby [options]
  --messages N   deliveries of a round (8000)
  --rounds N     rounds (3)
  --rtt MS       of the line to the bucket, there and back (30)
  --lease TIME   a lease beside it, renewed over the same line (15s); 0s: none
`;
const RUN_LIMIT_MS = 900_000;
/** Clients that each wait for their answer. */
const CONNECTIONS = 200;
const RATE = 100;
const RATE_SECONDS = 20;
const DELIVERED_FLOOR = 1_000;
const P50_MS = 80;
const P99_MS = 500;

type Settings = NonNullable<Parameters<typeof preparePombo>[0]["settings"]>;

interface Options {
  messages: number;
  rounds: number;
  rttMs: number;
  lease: string;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const start = bringS3();
  const trouble = start === null ? "moto needs python3 with venv and pip" : await ensureTools([SMTP_SINK]);
  if (start === null || trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const isWell = await measure(start, options, cleanup);
  endLimit();
  return isWell ? 0 : 1;
});

async function measure(start: () => Promise<S3Service>, { messages, rounds, rttMs, lease }: Options, cleanup: Cleanup) {
  const folder = makeFolder("bench", cleanup);
  const machine = describeMachine(folder);
  const service = await start();
  cleanup.add(() => service[Symbol.asyncDispose]());
  const line = await startDelayProxy({
    ...{ port: Number(new URL(service.url).port), delayMs: rttMs / 2 },
    ...{ lossShare: 0, retransmitMs: 0, chance: () => 1 },
  });
  cleanup.add(() => line[Symbol.asyncDispose]());
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const secret = join(folder, "s3.key");
  writeFileSync(secret, `${S3_KEY.secret}\n`, { mode: 0o600 });
  const replication = {
    url: "s3://copies/pombo",
    endpoint: `http://127.0.0.1:${line.port}`,
    region: S3_REGION,
    access_key_id: S3_KEY.id,
    secret_access_key_file: secret,
    acknowledge: "replica",
  };
  // Each session waits for the replica before its dot: as many as clients, as with many destinations.
  const email = {
    ...{ destination_port: sink.port, allow_private_ranges: ["127.0.0.0/8"] },
    sessions_per_destination: CONNECTIONS,
  };
  const prepare = (name: string, more: Settings) => {
    const place = join(folder, name);
    mkdirSync(place);
    const settings = { ...more, email };
    return preparePombo({ folder: place, dnsPort: dns.port, zone, sink, proof, settings, cleanup });
  };
  const off = await prepare("off", {});
  const bench = await prepare("kept", { replication, standby: { lease } });
  const delivered: DeliveryResult[] = [];
  const without: DeliveryResult[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    console.error(`pombo: ${messages} messages without a replica, then each kept by it, round ${round} of ${rounds} …`);
    for (const [each, results] of [
      [off, without],
      [bench, delivered],
    ] as const)
      results.push(await measureDelivery(each, messages, "html+text", { connections: CONNECTIONS }));
  }
  console.error(`pombo: ${RATE} emails a second for ${RATE_SECONDS} s …`);
  const answers = await measureAnswers(bench);
  const rate = quantile(
    delivered.map(({ deliveredPerSecond }) => deliveredPerSecond),
    0.5,
    Math.min(3, rounds),
  );
  const bounds: Bound[] = [
    {
      name: `delivered/s, median of ${rounds} rounds`,
      value: rate,
      must: "be at least",
      limit: DELIVERED_FLOOR,
      unit: "",
    },
    { name: `answer at ${RATE}/s, p50`, value: quantile(answers, 0.5), must: "be at most", limit: P50_MS, unit: " ms" },
    {
      name: `answer at ${RATE}/s, p99`,
      value: quantile(answers, 0.99),
      must: "be at most",
      limit: P99_MS,
      unit: " ms",
    },
  ];
  console.log(
    [
      ...machineLines(machine, findPombo().what),
      `S3: ${process.env["S3_SERVICE"] ?? "moto"}, ${rttMs} ms there and back, lease ${lease}; ${CONNECTIONS} clients`,
      ...describeRounds("kept by the replica", delivered),
      ...describeRounds("without a replica", without),
      ...formatBounds(bounds),
    ].join("\n"),
  );
  return bounds.every(isHeld);
}

/** "others" has the bucket's service and the line to it. */
function describeRounds(what: string, results: readonly DeliveryResult[]): string[] {
  return results.map(
    ({ deliveredPerSecond, cpu }) => `${what}: delivered/s ${whole(deliveredPerSecond)}; CPU seconds ${formatCpu(cpu)}`,
  );
}

/** One email every hundredth of a second, whether or not the ones before were answered; how long each answer took, ms. */
async function measureAnswers({ app, api }: Bench): Promise<number[]> {
  const took: number[] = [];
  const running: Promise<void>[] = [];
  const content = makeContent(0, "html+text");
  const post = async (number: number) => {
    const body = { from: `Loja Bench <loja@${SENDER_DOMAIN}>`, to: recipient(number, BLOCKED_DOMAIN), ...content };
    const startedAt = performance.now();
    const answer = await fetch(`http://127.0.0.1:${app.port}/api/v1/emails`, {
      method: "POST",
      headers: { "X-API-Key": api.key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    await answer.text();
    if (answer.status !== 202) throw new Error(`answered ${answer.status}`);
    took.push(performance.now() - startedAt);
  };
  const startedAt = performance.now();
  for (let number = 0; number < RATE * RATE_SECONDS; number += 1) {
    await Bun.sleep(Math.max(0, startedAt + (1_000 * number) / RATE - performance.now()));
    running.push(post(number));
  }
  await Promise.all(running);
  return took;
}

function readOptions(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: "string" },
      rounds: { type: "string" },
      rtt: { type: "string" },
      lease: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  return {
    messages: Number(values.messages ?? 8_000),
    rounds: Number(values.rounds ?? 3),
    rttMs: Number(values.rtt ?? 30),
    lease: values.lease ?? "15s",
  };
}
