// pombo under load, through its real API: one instance, one workspace on the plan `scale`, one
// verified domain. Phases in order: prove the signatures, warm up, accepted → delivered with
// html and text, the same with html only, then POST alone and in batches towards a domain whose MX
// refuses connections. Every wait has a deadline.

import { join } from "node:path";
import type { Zone } from "../test/fakes/zone.ts";
import { addDomain, createWorkspace, startPombo, type Api, type PomboApp } from "../test/peers/pombo.ts";
import { waitUntil, type Cleanup } from "../test/peers/process.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import { quantile } from "./load.ts";
import { BLOCKED_DOMAIN, makeContent, PROOF_DOMAIN, recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { PROOF_ADDRESS, type Proof } from "./proof.ts";
import type { Sink } from "./sink.ts";

const CONNECTIONS = 32;
const WARM_UP_MESSAGES = 500;
const BATCH = 100;
const PAGE = 100;
/** Enough for a p99 without reading all of a long run through the API. */
const SAMPLED_PAGES = 50;
const DELIVERY_TIMEOUT_MS = 90_000;
const REFUSING_ADDRESS = "127.0.0.2";

export interface Bench {
  app: PomboApp;
  api: Api;
  sink: Sink;
  /** Number of the next recipient. */
  nextNumber: number;
  delivered: number;
}

export interface DeliveryResult {
  messages: number;
  acceptedPerSecond: number;
  /** Messages per second, first POST until the sink has all and the API says that all are delivered. */
  deliveredPerSecond: number;
  /** POST answered → 250 recorded, from createdAt and deliveredAt of a sample. */
  acceptToDeliveredMs: { p50: number; p99: number };
  cpu: { pombo: number; load: number; sink: number };
}

export interface PostResult {
  batch: number;
  emailsPerSecond: number;
  requestLatencyMs: LoadResult["latencyMs"];
  cpu: { pombo: number; load: number };
  seconds: number;
}

/** The names of the run; pombo's own host name resolves too, since it doubts its DNS otherwise (R1). */
export function benchZone(): Zone {
  const zone: Zone = { [`pombo.${SENDER_DOMAIN}`]: { A: ["127.0.0.1"] } };
  const servers = { [RECIPIENT_DOMAIN]: "127.0.0.1", [BLOCKED_DOMAIN]: REFUSING_ADDRESS, [PROOF_DOMAIN]: PROOF_ADDRESS };
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
  cleanup: Cleanup;
}): Promise<Bench> {
  const app = await startPombo({
    folder: options.folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup: options.cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${options.dnsPort}`] },
      email: { destination_port: options.sink.port, allow_addresses: ["127.0.0.0/8"] },
    },
  });
  const api = await createWorkspace(app, "bench");
  await addDomain(api, SENDER_DOMAIN, options.zone);
  const bench: Bench = { app, api, sink: options.sink, nextNumber: 0, delivered: 0 };

  const { subject, html, text } = makeContent(0, "html+text");
  const from = `Loja Bench <loja@${SENDER_DOMAIN}>`;
  await api.expect(202, "POST", "/api/v1/emails", { from, to: recipient(0, PROOF_DOMAIN), subject, html, text });
  await options.proof.expectSigned(["rsa-sha256", "ed25519-sha256"], options.zone);
  bench.delivered = 1;
  await waitForDelivered(bench);
  await measureDelivery(bench, WARM_UP_MESSAGES, "html+text");
  return bench;
}

export async function measureDelivery(bench: Bench, messages: number, parts: LoadOrder["parts"]): Promise<DeliveryResult> {
  const { app, sink } = bench;
  const sinkBefore = sink.count();
  const cpuBefore = { pombo: app.cpuSeconds(), sink: sink.cpuSeconds() };
  const order = { batch: 1, parts, recipientDomain: RECIPIENT_DOMAIN, until: { emails: messages } };
  const load = await runLoad(bench, order);
  if (load.accepted !== messages) throw new Error(`accepted ${load.accepted} of ${messages}: ${JSON.stringify(load.refused)}`);
  await sink.waitFor(sinkBefore + messages, DELIVERY_TIMEOUT_MS);
  bench.delivered += messages;
  await waitForDelivered(bench);
  const elapsedS = (performance.timeOrigin + performance.now() - load.startedAt) / 1000;
  const cpu = {
    pombo: app.cpuSeconds() - cpuBefore.pombo,
    load: load.cpuSeconds,
    sink: sink.cpuSeconds() - cpuBefore.sink,
  };
  const received = sink.count() - sinkBefore;
  if (received !== messages) throw new Error(`the sink got ${received} messages for ${messages} emails`);
  return {
    messages,
    acceptedPerSecond: messages / (load.elapsedMs / 1000),
    deliveredPerSecond: messages / elapsedS,
    acceptToDeliveredMs: await readDelays(bench.api, Math.ceil(messages / PAGE)),
    cpu,
  };
}

/** POSTs for `seconds` to a domain whose MX refuses connections, so that only acceptance works. */
export async function measurePosts(bench: Bench, batch: 1 | typeof BATCH, seconds: number): Promise<PostResult> {
  const cpuBefore = bench.app.cpuSeconds();
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
    cpu: { pombo: bench.app.cpuSeconds() - cpuBefore, load: load.cpuSeconds },
    seconds: load.elapsedMs / 1000,
  };
}

/** The sink has a message before pombo has recorded its 250; a run ends with the record. */
async function waitForDelivered(bench: Bench): Promise<void> {
  let total = 0;
  const path = "/api/v1/emails?status=delivered&limit=1";
  await waitUntil(`${bench.delivered} delivered emails`, DELIVERY_TIMEOUT_MS, async () => {
    total = (await bench.api.expect(200, "GET", path)).meta.total;
    return total >= bench.delivered;
  });
  if (total !== bench.delivered) throw new Error(`${total} emails are delivered, ${bench.delivered} were sent`);
}

/** The newest `pages` pages are this run's; of many, evenly spread ones are read. */
async function readDelays(api: Api, pages: number): Promise<{ p50: number; p99: number }> {
  const delays: number[] = [];
  const step = Math.ceil(pages / SAMPLED_PAGES);
  for (let page = 1; page <= pages; page += step) {
    const list = await api.expect(200, "GET", `/api/v1/emails?status=delivered&limit=${PAGE}&page=${page}`);
    for (const email of list.data) delays.push(Date.parse(email.deliveredAt) - Date.parse(email.createdAt));
  }
  return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
}

async function runLoad(bench: Bench, rest: Omit<LoadOrder, "port" | "apiKey" | "connections" | "firstNumber">): Promise<LoadResult> {
  const order: LoadOrder = {
    port: bench.app.port,
    apiKey: bench.api.key,
    connections: CONNECTIONS,
    firstNumber: bench.nextNumber,
    ...rest,
  };
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "load.ts"), JSON.stringify(order)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the load generator failed");
  const result = JSON.parse(output) as LoadResult;
  bench.nextNumber += result.accepted;
  return result;
}
