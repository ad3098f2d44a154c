// pombo as `script/bench submission` has it, and what is measured of it.

import { Database } from "bun:sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RELAY_CERTIFICATE } from "../test/support/fakes/certificates.ts";
import type { Zone } from "../test/support/fakes/zone.ts";
import {
  addDomain,
  createWorkspace,
  operatorApi,
  type PomboApp,
  startPombo,
  type TomlTable,
} from "../test/support/peers/pombo.ts";
import { type Cleanup, freePort, mustRun, startProcess, waitUntil } from "../test/support/peers/process.ts";
import { type CpuUse, startCpuMeter } from "./cpu.ts";
import { quantile } from "./load.ts";
import { readResident } from "./memory.ts";
import { SENDER_DOMAIN } from "./message.ts";
import { type Bench, type DeliveryResult, readDeliveries } from "./pombo.ts";
import type { Sink } from "./sink.ts";
import type { SubmissionOrder, SubmissionResult } from "./submission-load.ts";
import type { Account } from "./submission-session.ts";

const DELIVERY_TIMEOUT_MS = 90_000;
const LOAD_FILE = join(import.meta.dir, "submission-load.ts");
const OPEN_TIMEOUT_MS = 60_000;
/** Time for what a start, and a handshake, leave to the collector of garbage. */
const IDLE_MS = 15_000;

export interface Surroundings {
  folder: string;
  dnsPort: number;
  zone: Zone;
  sink: Sink;
  cleanup: Cleanup;
}

export interface SubmissionApp {
  app: PomboApp;
  account: Account;
}

/** The tables with the port, the certificate of both sides, and places for so many clients of this machine. */
export function submissionSettings(folder: string, port: number, clients: number): TomlTable {
  const [certFile, keyFile] = [join(folder, "submission.crt"), join(folder, "submission.key")];
  writeFileSync(certFile, RELAY_CERTIFICATE.cert);
  writeFileSync(keyFile, RELAY_CERTIFICATE.key, { mode: 0o600 });
  return {
    tls: { certificate_file: certFile, key_file: keyFile },
    submission: { listen: [`127.0.0.1:${port}`], max_clients_per_address: clients },
  };
}

/** A new one, in a folder of its own. */
export async function startSubmissionApp(name: string, clients: number, around: Surroundings): Promise<SubmissionApp> {
  const folder = join(around.folder, name);
  mkdirSync(folder);
  const port = await freePort();
  const app = await startPombo({
    folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup: around.cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${around.dnsPort}`] },
      email: { destination_port: around.sink.port, allow_private_ranges: ["127.0.0.0/8"] },
      ...submissionSettings(folder, port, clients),
    },
  });
  const api = await createWorkspace(app, "bench");
  await addDomain(api, SENDER_DOMAIN, around.zone);
  return { app, account: { port, username: "pombo", password: api.key } };
}

/** What is accepted stays in the queue. */
export async function holdQueue({ app }: SubmissionApp): Promise<void> {
  await operatorApi(app).expect(200, "POST", "/api/v1/operator/queue/pause", { reason: "benchmark" });
}

/** Emails that its file holds. */
export function countStored({ app }: SubmissionApp): number {
  using database = new Database(join(app.dataFolder, "pombo.db"), { readonly: true });
  return (database.query("SELECT count(*) AS count FROM email").get() as { count: number }).count;
}

export async function runSubmissions(order: SubmissionOrder): Promise<SubmissionResult> {
  return JSON.parse(await mustRun([process.execPath, LOAD_FILE, JSON.stringify(order)])) as SubmissionResult;
}

/** As measureDelivery, by SMTP. */
export async function measureSubmittedDelivery(
  { app, api, sink }: Bench,
  order: Extract<SubmissionOrder, { kind: "rate" }>,
  messages: number,
): Promise<DeliveryResult> {
  const sinkBefore = sink.count();
  const readCpu = startCpuMeter({ pombo: app.cpuSeconds, sink: sink.cpuSeconds });
  const load = await runSubmissions({ ...order, until: { messages } });
  if (load.accepted !== messages)
    throw new Error(`accepted ${load.accepted} of ${messages}: ${JSON.stringify(load.ends)}`);
  const sinkHasAllAt = performance.timeOrigin + (await sink.waitFor(sinkBefore + messages, DELIVERY_TIMEOUT_MS));
  const cpu = readCpu({ load: load.cpuSeconds });
  const { lastAt, delaysMs } = await readDeliveries(api, messages);
  return {
    messages,
    acceptedPerSecond: messages / (load.elapsedMs / 1000),
    deliveredPerSecond: messages / ((Math.max(sinkHasAllAt, lastAt) - load.startedAt) / 1000),
    acceptToDeliveredMs: { p50: quantile(delaysMs, 0.5), p99: quantile(delaysMs, 0.99) },
    cpu,
  };
}

export interface LargeOrder {
  clients: number;
  fileBytes: number;
  isSizeDeclared: boolean;
  /** What is accepted stays in the queue; else it goes out meanwhile. */
  isHeld: boolean;
}

export interface LargeResult extends LargeOrder {
  /** The most that the process held. */
  residentBytes: number;
  result: SubmissionResult;
  cpu: CpuUse;
}

/** So many clients push a message of their own at once. */
export async function measureLarge(order: LargeOrder, around: Surroundings): Promise<LargeResult> {
  const { clients: sessions, fileBytes, isSizeDeclared, isHeld } = order;
  const name = `large-${isSizeDeclared ? "declared" : "undeclared"}-${isHeld ? "held" : "outgoing"}`;
  const started = await startSubmissionApp(name, sessions, around);
  if (isHeld) await holdQueue(started);
  const { app, account } = started;
  const readCpu = startCpuMeter({ pombo: app.cpuSeconds, sink: around.sink.cpuSeconds });
  const large = { kind: "large" as const, fileBytes, isSizeDeclared };
  const result = await runSubmissions({ ...account, sessions, firstNumber: 0, ...large });
  const cpu = readCpu({ load: result.cpuSeconds });
  const { peak } = readResident(app.process.pid);
  const stored = countStored(started);
  if (stored !== result.accepted) throw new Error(`${result.accepted} were accepted, ${stored} are stored`);
  await app.process.stop();
  return { ...order, residentBytes: peak, result, cpu };
}

export interface IdleResult {
  clients: number;
  withoutBytes: number;
  withBytes: number;
}

/** Clients that have authenticated, and say nothing more. */
export async function measureIdle(clients: number, around: Surroundings): Promise<IdleResult> {
  const { app, account } = await startSubmissionApp("idle", clients, around);
  await Bun.sleep(IDLE_MS);
  const withoutBytes = readResident(app.process.pid).now;
  const order: SubmissionOrder = { ...account, sessions: clients, firstNumber: 0, kind: "idle" };
  const load = startProcess({
    command: [process.execPath, LOAD_FILE, JSON.stringify(order)],
    logFile: join(around.folder, "idle.log"),
  });
  around.cleanup.add(() => load.stop());
  await waitUntil("the idle clients", OPEN_TIMEOUT_MS, () => {
    if (!load.isAlive()) throw new Error(`the idle clients ended:\n${load.output()}`);
    return load.output().includes("ready");
  });
  await Bun.sleep(IDLE_MS);
  const withBytes = readResident(app.process.pid).now;
  if (!load.isAlive()) throw new Error(`the idle clients ended:\n${load.output()}`);
  await load.stop();
  await app.process.stop();
  return { clients, withoutBytes, withBytes };
}
