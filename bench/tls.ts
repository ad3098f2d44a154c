// What https costs: `script/bench tls`. An instance with a certificate of Pebble's: posts over it beside posts without,
// new connections, ten changes of the certificate under a thousand requests a second, and the memory at rest beside one
// without. Exit code 1: a bound was missed; 2: Pebble cannot be built here.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findPebble, startPebble } from "../test/support/peers/pebble.ts";
import {
  addDomain,
  type Api,
  createWorkspace,
  operatorApi,
  type PomboApp,
  servePombo,
  startPombo,
} from "../test/support/peers/pombo.ts";
import { type Cleanup, freePort, makeFolder, mustRun, runProgram, waitUntil } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import { megabytes, readResident } from "./memory.ts";
import { BLOCKED_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { benchZone } from "./pombo.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { alignRows, type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";
import type { ClientOrder, ClientResult } from "./tls-client.ts";

const RUN_LIMIT_MS = 300_000;
const NAME = `pombo.${SENDER_DOMAIN}`;
const ROUNDS = 3;
const POST_MS = 4_000;
const POST_CONNECTIONS = 64;
const CONNECTIONS = 16;
const HANDSHAKE_MS = 6_000;
const CHANGES = 10;
const CHANGE_MS = 15_000;
const PER_SECOND = 1_000;
const IDLE_MS = 15_000;
const ISSUE_LIMIT_MS = 60_000;

await runProgram(async (cleanup) => {
  const program = findPebble();
  if (program === null) return 2;
  const endLimit = limitRun(RUN_LIMIT_MS);
  const machine = describeMachine(makeFolder("bench", cleanup));
  const { app, api, ca, tlsPort } = await startSecure(program, cleanup);
  const posts = await measurePosts({ app, api, ca, tlsPort });
  const connections = await measureConnections({ app, ca, tlsPort });
  const changes = await measureChanges({ app, ca, tlsPort });
  await app.process.stop();
  const idleSecure = await measureIdle(app, cleanup);
  const idle = await measureIdle(withoutTls(app), cleanup);
  endLimit();
  const bounds: Bound[] = [
    {
      name: "posts over TLS, of those without",
      value: posts.tls / posts.plain,
      must: "be at least",
      limit: 0.7,
      unit: "",
    },
    {
      name: "new connections a second of a core",
      value: connections.perCore,
      must: "be at least",
      limit: 500,
      unit: "",
    },
    { name: "requests answered wrong", value: changes.wrong, must: "be at most", limit: 0, unit: "" },
    { name: "handshakes reset, of a change", value: changes.reset / CHANGES, must: "be at most", limit: 1, unit: "" },
    { name: "memory at rest", value: idleSecure - idle, must: "be at most", limit: 10.5, unit: " MB" },
  ];
  const rows = [
    ["emails accepted a second, one a post", whole(posts.plain), whole(posts.tls)],
    ["MB at rest (RSS)", idle.toFixed(0), idleSecure.toFixed(0)],
    ["new connections a second", "", whole(connections.perSecond)],
    [`of ${whole(changes.answered)} requests in ${CHANGES} changes cut off`, "", String(changes.cut)],
  ];
  console.log(
    [...machineLines(machine, NAME), ...alignRows([["", "http", "https"], ...rows]), "", ...formatBounds(bounds)].join(
      "\n",
    ),
  );
  return bounds.every(isHeld) ? 0 : 1;
});

/** Of an installation that has ended, with what it holds. */
async function measureIdle(stopped: PomboApp, cleanup: Cleanup): Promise<number> {
  const app = await servePombo(stopped, cleanup);
  await Bun.sleep(IDLE_MS);
  const { now } = readResident(app.process.pid);
  await app.process.stop();
  return megabytes(now);
}

/** The same database, with a configuration that ends before its last table. */
function withoutTls(app: PomboApp): PomboApp {
  const text = readFileSync(app.configFile, "utf8");
  const configFile = `${app.configFile}.plain`;
  writeFileSync(configFile, text.slice(0, text.indexOf("[tls]")));
  return { ...app, configFile };
}

interface Secure {
  app: PomboApp;
  api: Api;
  /** PEM. */
  ca: string;
  tlsPort: number;
}

async function startSecure(program: string, cleanup: Cleanup): Promise<Secure> {
  const folder = makeFolder("bench-tls", cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const dnsServer = `127.0.0.1:${dns.port}`;
  const pebble = await startPebble(program, { folder, dnsServer, nonceRejects: 0 });
  cleanup.add(async () => pebble[Symbol.asyncDispose]());
  const tlsPort = await freePort();
  const app = await startPombo({
    folder,
    hostname: NAME,
    cleanup,
    settings: {
      dns: { servers: [dnsServer] },
      email: { allow_private_ranges: ["127.0.0.0/8"] },
      rate_limits: { sends_per_second: 0, writes_per_second: 0 },
      tls: {
        listen: [`127.0.0.1:${tlsPort}`],
        acme: pebble.directory,
        acme_ca_file: pebble.caFile,
        challenge_listen: [`127.0.0.1:${pebble.challengePort}`],
      },
    },
  });
  const operator = operatorApi(app);
  await waitUntil("the certificate", ISSUE_LIMIT_MS, async () => {
    const { body } = await operator.call("GET", "/api/v1/operator/tls");
    return body.data.certificate.isSelfMade === false;
  });
  const api = await createWorkspace(app, "Bench");
  await addDomain(api, SENDER_DOMAIN, zone);
  return { app, api, ca: await pebble.root(), tlsPort };
}

/** Emails a second, the median round of each, in turns. */
async function measurePosts({ app, api, ca, tlsPort }: Secure): Promise<{ plain: number; tls: number }> {
  const found: { plain: number[]; tls: number[] } = { plain: [], tls: [] };
  let firstNumber = 0;
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const isTls = round % 2 === 1;
    const order: LoadOrder = {
      port: isTls ? tlsPort : app.port,
      ...(isTls ? { ca } : {}),
      apiKey: api.key,
      connections: POST_CONNECTIONS,
      batch: 1,
      parts: "html",
      recipientDomain: BLOCKED_DOMAIN,
      firstNumber,
      until: { ms: POST_MS },
    };
    const { accepted, elapsedMs, refused } = await run<LoadResult>("load.ts", order);
    if (accepted === 0) throw new Error(`nothing was accepted: ${JSON.stringify(refused)}`);
    firstNumber += accepted;
    found[isTls ? "tls" : "plain"].push((accepted * 1_000) / elapsedMs);
  }
  const middle = (figures: number[]) => figures.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0;
  return { plain: middle(found.plain), tls: middle(found.tls) };
}

async function measureConnections({ app, ca, tlsPort }: Omit<Secure, "api">) {
  const before = app.cpuSeconds();
  const order = {
    kind: "connect",
    port: tlsPort,
    ca,
    serverName: NAME,
    lanes: CONNECTIONS,
    ms: HANDSHAKE_MS,
    perSecond: 0,
  };
  const { handshakes, elapsedMs } = await run<ClientResult>("tls-client.ts", order);
  return { perSecond: (handshakes * 1_000) / elapsedMs, perCore: handshakes / (app.cpuSeconds() - before) };
}

async function measureChanges({ app, ca, tlsPort }: Omit<Secure, "api">): Promise<ClientResult> {
  const order: ClientOrder = {
    ...{ kind: "ask", port: tlsPort, ca, serverName: NAME, lanes: 2 * CONNECTIONS },
    ms: CHANGE_MS,
    perSecond: PER_SECOND,
  };
  const asked = run<ClientResult>("tls-client.ts", order);
  const operator = operatorApi(app);
  for (let change = 0; change < CHANGES; change++) {
    await operator.expect(202, "POST", "/api/v1/operator/tls/renew");
    await waitUntil("a change", ISSUE_LIMIT_MS, async () => {
      return (await operator.call("GET", "/api/v1/operator/tls")).body.data.isRenewing === false;
    });
  }
  return asked;
}

async function run<T>(file: string, order: unknown): Promise<T> {
  return JSON.parse(await mustRun([process.execPath, join(import.meta.dir, file), JSON.stringify(order)])) as T;
}
