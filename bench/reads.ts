// How fast a full instance answers questions: `script/bench reads`. A million emails, of twenty
// domains, with bodies and attempts, half of them waiting, and as many SMS are written into the stopped instance;
// then GETs are measured over one connection and over eight, from a process of their own. Exit code
// 1: a bound was missed or something failed.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startMx } from "../test/support/fakes/mx.ts";
import {
  addDomain,
  createWorkspace,
  findPombo,
  servePombo,
  startPombo,
  type Api,
} from "../test/support/peers/pombo.ts";
import { makeFolder, mustRun, runProgram, waitUntil, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import type { ReadOrder, ReadResult } from "./get-load.ts";
import { readResident } from "./memory.ts";
import { makeContent, recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { benchZone } from "./pombo.ts";
import { formatReads, judgeReads, type Reading, type ReadsFigures } from "./reads-report.ts";
import { type Kind, kindsOf } from "./reads-kinds.ts";
import { sampleIds, writeEmails } from "./reads-rows.ts";
import { readSuppressions, writeSuppressions } from "./reads-suppressions.ts";
import { writeSms } from "./reads-sms.ts";
import { writeWebhook } from "./reads-webhooks.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { isHeld, whole } from "./table.ts";

const USAGE = `usage: script/bench reads [options]
  --rows N        emails in the database (1000000)
  --requests N    GETs of each kind, over one connection and again over eight (3000)
  --keep          leave the temporary folder
`;
const RUN_LIMIT_MS = 480_000;
const DOMAINS = 20;
const CONNECTIONS = [1, 8];
const SAMPLE = 5000;
const WARM_UP_REQUESTS = 300;
const DELIVERY_TIMEOUT_MS = 15_000;

interface Options {
  rows: number;
  requests: number;
  isKept: boolean;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const figures = await measure(options, cleanup);
  endLimit();
  console.log(formatReads(figures));
  return judgeReads(figures).every(isHeld) ? 0 : 1;
});

async function measure(options: Options, cleanup: Cleanup): Promise<ReadsFigures> {
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const mx = await startMx();
  cleanup.add(() => mx.close());
  const stopped = await startPombo({
    folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      email: { destination_port: mx.port, allow_private_ranges: ["127.0.0.0/8"] },
    },
  });
  const api = await createWorkspace(stopped, "bench");
  const domainId = await addDomain(api, SENDER_DOMAIN, zone);
  let smallId = domainId;
  for (let number = 1; number < DOMAINS; number++)
    smallId = (await api.expect(201, "POST", "/api/v1/domains", { domain: `shop${number}.${SENDER_DOMAIN}` })).data.id;
  const keyOf = async (id: string): Promise<string> =>
    (await api.expect(201, "POST", "/api/v1/auth/keys", { name: "one domain", domainId: id })).data.key;
  const keys = { workspace: api.key, domain: await keyOf(domainId), smallDomain: await keyOf(smallId) };
  const uid = await deliverOne(api);
  await stopped.process.stop();

  say(`writing ${options.rows} emails …`);
  const filled = await writeEmails(stopped.dataFolder, { uid, rows: options.rows, domains: DOMAINS });
  const ids = sampleIds(stopped.dataFolder, SAMPLE);
  const suppressed = await writeSuppressions(
    stopped.dataFolder,
    options.rows,
    Math.min(2 * options.requests, options.rows),
  );
  const webhook = writeWebhook(stopped.dataFolder, Math.ceil(options.rows / 10));
  const sms = await writeSms(stopped.dataFolder, options.rows);
  say(`${filled.rows} in ${filled.seconds.toFixed(0)} s; starting again …`);
  const startedAt = performance.now();
  const app = await servePombo(stopped, cleanup);
  const startMs = performance.now() - startedAt;

  const ask = (kind: Pick<Kind, "key" | "paths">, connections: number, requests: number): Promise<ReadResult> =>
    read(folder, { port: app.port, apiKey: kind.key, method: "GET", connections, paths: kind.paths, requests });
  const kinds = kindsOf(keys, ids, { rows: options.rows, webhook, sms });
  await Promise.all(kinds.slice(0, 2).map((kind) => ask(kind, 1, WARM_UP_REQUESTS)));
  const readings: Reading[] = [];
  for (const kind of kinds) {
    const { name, share, hasBound, isPage = false } = kind;
    const listed = await countListed(app.port, kind);
    for (const connections of CONNECTIONS) {
      say(`${name}, ${connections} at once …`);
      const result = await ask(kind, connections, Math.ceil(options.requests / share));
      // Of several at once each waits for the others': that is the rate, told in the table.
      readings.push({ name, listed, connections, result, hasBound: hasBound && connections === 1, isPage });
    }
  }
  say("suppressions …");
  const own = { port: app.port, apiKey: api.key };
  readings.push(
    ...(await readSuppressions(suppressed, options.requests, (order) => read(folder, { ...own, ...order }))),
  );
  const resident = readResident(app.process.pid);
  return { machine, app: findPombo().what, filled, startMs, resident, readings };
}

/** The total that a list tells; null: the answer is no list. */
async function countListed(port: number, { key, paths }: Kind): Promise<string | null> {
  const answer = await fetch(`http://127.0.0.1:${port}${paths[0] ?? ""}`, { headers: { "X-API-Key": key } });
  const { meta } = (await answer.json()) as { meta?: { total?: number; totalIsMinimum?: boolean } };
  return meta?.total === undefined ? null : `${whole(meta.total)}${meta.totalIsMinimum === true ? "+" : ""}`;
}

/** The email whose rows are multiplied: really delivered, so that its attempt is a real one; its id. */
async function deliverOne(api: Api): Promise<string> {
  const { subject, html, text } = makeContent(0, "html+text");
  const email = { from: `Loja Bench <loja@${SENDER_DOMAIN}>`, to: recipient(0, RECIPIENT_DOMAIN), subject, html, text };
  const id: string = (await api.expect(202, "POST", "/api/v1/emails", email)).data.id;
  await waitUntil("the first email's delivery", DELIVERY_TIMEOUT_MS, async () => {
    return (await api.expect(200, "GET", `/api/v1/emails/${id}`)).data.deliveredAt !== null;
  });
  return id;
}

/** The order goes through a file: thousands of paths are too long for a command line. */
async function read(folder: string, order: ReadOrder): Promise<ReadResult> {
  const file = join(folder, "order.json");
  writeFileSync(file, JSON.stringify(order));
  return JSON.parse(await mustRun([process.execPath, join(import.meta.dir, "get-load.ts"), file])) as ReadResult;
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: { rows: { type: "string" }, requests: { type: "string" }, keep: { type: "boolean" } },
    });
    const options: Options = {
      rows: Number(values.rows ?? 1_000_000),
      requests: Number(values.requests ?? 3000),
      isKept: values.keep === true,
    };
    return options.rows >= 1 && options.requests >= 1 ? options : null;
  } catch {
    return null;
  }
}

/** Progress goes to standard error, so that standard output is the report alone. */
function say(line: string): void {
  console.error(line);
}
