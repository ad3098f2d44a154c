// pombo under load, through its real API: one instance, one workspace on the plan `scale`, one
// verified domain. Phases in order: prove the signatures, warm up, accepted → delivered with
// html and text, the same with html only, then POST alone and in batches towards a domain whose MX
// refuses connections. Every wait has a deadline.

import { join } from "node:path";
import type { Zone } from "../test/support/fakes/zone.ts";
import {
  addDomain,
  createWorkspace,
  startPombo,
  type Api,
  type PomboApp,
  type TomlTable,
} from "../test/support/peers/pombo.ts";
import { mustRun, waitUntil, type Cleanup } from "../test/support/peers/process.ts";
import { startCpuMeter, type CpuUse } from "./cpu.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import { quantile } from "./load.ts";
import {
  BLOCKED_DOMAIN,
  makeContent,
  PROOF_DOMAIN,
  recipient,
  RECIPIENT_DOMAIN,
  SENDER_DOMAIN,
  SLOW_DOMAIN,
} from "./message.ts";
import { PROOF_ADDRESS, type Proof } from "./proof.ts";
import type { Sink } from "./sink.ts";

const CONNECTIONS = 32;
const WARM_UP_MESSAGES = 500;
const BATCH = 100;
const PAGE = 100;
const DELIVERY_TIMEOUT_MS = 90_000;
const RECORD_TIMEOUT_MS = 15_000;
/** Nobody listens there. */
export const REFUSING_ADDRESS = "127.0.0.2";
/** There every message takes long. */
export const SLOW_ADDRESS = "127.0.0.4";
const SLOW_SERVERS = 32;

export interface Bench {
  app: PomboApp;
  api: Api;
  sink: Sink;
  /** Number of the next recipient. */
  nextNumber: number;
}

export interface DeliveryResult {
  messages: number;
  acceptedPerSecond: number;
  /** Messages per second, from the first POST until the sink has all and pombo has the last 250. */
  deliveredPerSecond: number;
  /** From createdAt to deliveredAt. While POSTs outrun deliveries this is the length of the queue. */
  acceptToDeliveredMs: { p50: number; p99: number };
  cpu: CpuUse;
}

export interface PostResult {
  batch: number;
  emailsPerSecond: number;
  requestLatencyMs: LoadResult["latencyMs"];
  cpu: CpuUse;
  seconds: number;
}

/** The names of the run; pombo's own host name resolves too, since it doubts its DNS otherwise (R1). */
export function benchZone(): Zone {
  const zone: Zone = { [`pombo.${SENDER_DOMAIN}`]: { A: ["127.0.0.1"] } };
  const servers = {
    [RECIPIENT_DOMAIN]: "127.0.0.1",
    [BLOCKED_DOMAIN]: REFUSING_ADDRESS,
    [PROOF_DOMAIN]: PROOF_ADDRESS,
    ...Object.fromEntries(Array.from({ length: SLOW_SERVERS }, (_, n) => [`n${n}.${SLOW_DOMAIN}`, SLOW_ADDRESS])),
  };
  for (const [domain, address] of Object.entries(servers)) {
    zone[domain] = { MX: [[10, `mx.${domain}`]] };
    zone[`mx.${domain}`] = { A: [address] };
  }
  return zone;
}

export async function preparePombo(options: {
  folder: string;
  dnsPort: number;
  zone: Zone;
  sink: Sink;
  proof: Proof;
  /** Further tables of its configuration. */
  settings?: TomlTable;
  cleanup: Cleanup;
}): Promise<Bench> {
  const app = await startPombo({
    folder: options.folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup: options.cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${options.dnsPort}`] },
      email: { destination_port: options.sink.port, allow_private_ranges: ["127.0.0.0/8"] },
      ...options.settings,
    },
  });
  const api = await createWorkspace(app, "bench");
  await addDomain(api, SENDER_DOMAIN, options.zone);
  const bench: Bench = { app, api, sink: options.sink, nextNumber: 0 };

  const { subject, html, text } = makeContent(0, "html+text");
  const from = `Loja Bench <loja@${SENDER_DOMAIN}>`;
  await api.expect(202, "POST", "/api/v1/emails", { from, to: recipient(0, PROOF_DOMAIN), subject, html, text });
  await options.proof.expectSigned(["rsa-sha256", "ed25519-sha256"], options.zone);
  await readDeliveries(api, 1);
  await measureDelivery(bench, WARM_UP_MESSAGES, "html+text");
  return bench;
}

export async function measureDelivery(
  bench: Bench,
  messages: number,
  parts: LoadOrder["parts"],
  { attachmentBytes, connections = CONNECTIONS }: { attachmentBytes?: number; connections?: number } = {},
): Promise<DeliveryResult> {
  const { app, sink } = bench;
  const sinkBefore = sink.count();
  const readCpu = startCpuMeter({ pombo: app.cpuSeconds, sink: sink.cpuSeconds });
  const attached = attachmentBytes === undefined ? {} : { attachmentBytes };
  const order = {
    batch: 1,
    parts,
    recipientDomain: RECIPIENT_DOMAIN,
    connections,
    ...attached,
    until: { emails: messages },
  };
  const load = await runLoad(bench, order);
  if (load.accepted !== messages)
    throw new Error(`accepted ${load.accepted} of ${messages}: ${JSON.stringify(load.refused)}`);
  const sinkHasAllAt = performance.timeOrigin + (await sink.waitFor(sinkBefore + messages, DELIVERY_TIMEOUT_MS));
  const cpu = readCpu({ load: load.cpuSeconds });
  const { lastAt, delaysMs } = await readDeliveries(bench.api, messages);
  const elapsedS = (Math.max(sinkHasAllAt, lastAt) - load.startedAt) / 1000;
  const received = sink.count() - sinkBefore;
  if (received !== messages) throw new Error(`the sink got ${received} messages for ${messages} emails`);
  return {
    messages,
    acceptedPerSecond: messages / (load.elapsedMs / 1000),
    deliveredPerSecond: messages / elapsedS,
    acceptToDeliveredMs: { p50: quantile(delaysMs, 0.5), p99: quantile(delaysMs, 0.99) },
    cpu,
  };
}

/** POSTs for `seconds` to a domain whose MX refuses connections, so that only acceptance works. */
export async function measurePosts(bench: Bench, batch: 1 | typeof BATCH, seconds: number): Promise<PostResult> {
  const readCpu = startCpuMeter({ pombo: bench.app.cpuSeconds });
  const order: Omit<LoadOrder, "port" | "apiKey" | "connections" | "firstNumber"> = {
    batch,
    parts: "html+text",
    recipientDomain: BLOCKED_DOMAIN,
    until: { ms: seconds * 1000 },
  };
  const load = await runLoad(bench, order);
  const refused = Object.entries(load.refused);
  if (refused.length > 0) throw new Error(`refused: ${JSON.stringify(refused)}`);
  return {
    batch,
    emailsPerSecond: load.accepted / (load.elapsedMs / 1000),
    requestLatencyMs: load.latencyMs,
    cpu: readCpu({ load: load.cpuSeconds }),
    seconds: load.elapsedMs / 1000,
  };
}

interface Deliveries {
  /** Unix ms of the last 250 that pombo has recorded. */
  lastAt: number;
  delaysMs: number[];
}

/** Reads the newest `count` emails through the API, waiting for each until its delivery is recorded. */
export async function readDeliveries(api: Api, count: number): Promise<Deliveries> {
  const found: Deliveries = { lastAt: 0, delaysMs: [] };
  for (let page = 1; found.delaysMs.length < count; page++) {
    const path = `/api/v1/emails?limit=${PAGE}&page=${page}`;
    const wanted = Math.min(PAGE, count - found.delaysMs.length);
    let emails: { createdAt: string; deliveredAt: string | null }[] = [];
    // The sink has a message a moment before pombo has committed its 250.
    await waitUntil(`page ${page} of delivered emails`, RECORD_TIMEOUT_MS, async () => {
      emails = (await api.expect(200, "GET", path)).data.slice(0, wanted);
      return emails.length === wanted && emails.every((email) => email.deliveredAt !== null);
    });
    for (const { createdAt, deliveredAt } of emails) {
      const at = Date.parse(deliveredAt ?? "");
      found.delaysMs.push(at - Date.parse(createdAt));
      found.lastAt = Math.max(found.lastAt, at);
    }
  }
  return found;
}

async function runLoad(
  bench: Bench,
  rest: Omit<LoadOrder, "port" | "apiKey" | "connections" | "firstNumber"> & Partial<Pick<LoadOrder, "connections">>,
): Promise<LoadResult> {
  const order: LoadOrder = {
    port: bench.app.port,
    apiKey: bench.api.key,
    connections: CONNECTIONS,
    firstNumber: bench.nextNumber,
    ...rest,
  };
  const output = await mustRun([process.execPath, join(import.meta.dir, "load.ts"), JSON.stringify(order)]);
  const result = JSON.parse(output) as LoadResult;
  bench.nextNumber += result.accepted;
  return result;
}
