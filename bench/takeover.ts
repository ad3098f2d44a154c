// How long nobody answers when the machine that works is lost: `script/bench takeover`. Two machines with one lease and a
// database of so many megabytes; the first is killed with its daemon. The time until the other answers, and until it accepts
// an email, which it may when the bucket has the whole database anew. Exit code 1: the ceiling is missed.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { createWorkspace, findPombo, startPombo } from "../test/support/peers/pombo.ts";
import {
  freePort,
  makeFolder,
  runProgram,
  startProcess,
  waitUntil,
  type Cleanup,
} from "../test/support/peers/process.ts";
import { addDomain } from "../test/support/peers/pombo.ts";
import { bringS3, S3_KEY, S3_REGION } from "../test/support/peers/s3.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { RECIPIENT_DOMAIN, recipient, SENDER_DOMAIN } from "./message.ts";
import { benchZone } from "./pombo.ts";
import { describeMachine } from "./report.ts";
import { fill } from "./rows.ts";
import { startSink } from "./sink.ts";
import { type Bound, formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: [S3_SERVICE=minio] script/bench takeover [options]
  --megabytes N  of the database (100)
  --lease TIME   (15s)
`;
/** A ceiling is wanted for 100 MB; more is only reported. */
const CEILING_MEGABYTES = 100;
const BEYOND_LEASE_S = 10;
/** Of one email's html, which does not compress. */
const HTML_BYTES = 60_000;
const PATIENCE_MS = 900_000;

interface Options {
  megabytes: number;
  lease: string;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const start = bringS3();
  const trouble = start === null ? "there is no S3 service here: python3 brings moto" : await ensureTools([SMTP_SINK]);
  if (start === null || trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const service = await start();
  cleanup.add(() => service[Symbol.asyncDispose]());
  return (await measure(service.url, options, cleanup)) ? 0 : 1;
});

async function measure(endpoint: string, { megabytes, lease }: Options, cleanup: Cleanup): Promise<boolean> {
  const folder = makeFolder("bench", cleanup);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const secret = join(folder, "s3.key");
  writeFileSync(secret, `${S3_KEY.secret}\n`, { mode: 0o600 });
  const app = await startPombo({
    folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      email: { destination_port: sink.port, allow_private_ranges: ["127.0.0.0/8"] },
    },
  });
  const api = await createWorkspace(app, "bench");
  await addDomain(api, SENDER_DOMAIN, zone);
  const body = {
    from: `loja@${SENDER_DOMAIN}`,
    to: recipient(0, RECIPIENT_DOMAIN),
    subject: "Olá",
    html: `<p>${randomBytes(HTML_BYTES / 2).toString("hex")}</p>`,
  };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", body)).data;
  await app.process.stop();
  const rows = Math.ceil((megabytes * 1_000_000) / (HTML_BYTES / 2 + 2_000));
  console.error(`pombo: writing a database of about ${megabytes} MB …`);
  const now = Date.now();
  const filled = await fill(
    app.dataFolder,
    { uid: id, rows, createdFrom: now - 3_600_000, createdTo: now, recipient: "t.recipient", status: "'delivered'" },
    () => Promise.resolve(),
  );
  const replication = {
    url: "s3://copies/pombo",
    endpoint,
    region: S3_REGION,
    access_key_id: S3_KEY.id,
    secret_access_key_file: secret,
    acknowledge: "replica",
  };
  const base = readFileSync(app.configFile, "utf8");
  const nodes = await Promise.all(
    ["a", "b"].map(async (name) => {
      const dataDir = name === "a" ? app.dataFolder : join(folder, "data-b");
      if (name === "b") {
        mkdirSync(dataDir, { mode: 0o700 });
        copyFileSync(join(app.dataFolder, "instance.key"), join(dataDir, "instance.key"));
      }
      const port = await freePort();
      const file = join(folder, `${name}.toml`);
      const tables = Object.entries({ replication, standby: { lease } }).map(([table, keys]) =>
        [`[${table}]`, ...Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join("\n"),
      );
      const own = base
        .replace(/^data_dir = .*$/m, `data_dir = ${JSON.stringify(dataDir)}`)
        .replace(`127.0.0.1:${app.port}`, `127.0.0.1:${port}`);
      writeFileSync(file, `${own}\n${tables.join("\n")}\n`);
      const url = `http://127.0.0.1:${port}`;
      const serve = () => {
        const command = [...findPombo().command, "serve", "--config", file];
        const running = startProcess({ command, logFile: join(folder, `${name}.log`) });
        cleanup.add(() => running.stop());
        return running;
      };
      return { url, dataDir, serve };
    }),
  );
  const [first, second] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
  const post = async (url: string): Promise<number | null> => {
    const headers = { "x-api-key": api.key, "content-type": "application/json" };
    const sent = { ...body, html: "<p>Olá</p>" };
    const request = { method: "POST", headers, body: JSON.stringify(sent), signal: AbortSignal.timeout(40_000) };
    return (await fetch(`${url}/api/v1/emails`, request).catch(() => null))?.status ?? null;
  };
  const isReady = async (url: string) => (await fetch(`${url}/ready`).catch(() => null))?.status === 200;
  console.error("pombo: the first machine stores it in the bucket …");
  const working = first.serve();
  await waitUntil(
    "the first machine accepts",
    PATIENCE_MS,
    async () => (await isReady(first.url)) && (await post(first.url)) === 202,
  );
  second.serve();
  await waitUntil(
    "the second stands by",
    PATIENCE_MS,
    async () => (await fetch(`${second.url}/ready`).catch(() => null))?.status === 503,
  );
  await Bun.sleep(2_000);
  console.error("pombo: the first machine is killed …");
  const lostAt = performance.now();
  killDaemon(first.dataDir);
  process.kill(working.pid, "SIGKILL");
  await waitUntil("the second answers", PATIENCE_MS, () => isReady(second.url));
  const readyS = (performance.now() - lostAt) / 1_000;
  await waitUntil("the second accepts", PATIENCE_MS, async () => (await post(second.url)) === 202);
  const acceptedS = (performance.now() - lostAt) / 1_000;
  killDaemon(second.dataDir);
  const bounds: Bound[] = [
    {
      name: "absent, less the lease",
      value: acceptedS - Number.parseFloat(lease),
      must: "be at most",
      limit: BEYOND_LEASE_S,
      unit: " s",
    },
  ];
  console.log(
    [
      ...machineLines(machine, findPombo().what),
      `S3: ${process.env["S3_SERVICE"] ?? "moto"} on this machine, lease ${lease}, database ${whole(filled.databaseBytes / 1_000_000)} MB`,
      `killed → /ready 200: ${readyS.toFixed(1)} s; → an email is answered 202: ${acceptedS.toFixed(1)} s`,
      ...(megabytes > CEILING_MEGABYTES ? [] : formatBounds(bounds)),
    ].join("\n"),
  );
  return megabytes > CEILING_MEGABYTES || bounds.every(isHeld);
}

function killDaemon(dataDir: string): void {
  const file = join(dataDir, "litestream/pid");
  if (existsSync(file)) process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
}

function readOptions(args: string[]): Options | null {
  const text = { type: "string" } as const;
  try {
    const { values } = parseArgs({ args, options: { megabytes: text, lease: text } });
    const megabytes = Number(values.megabytes ?? 100);
    return megabytes > 0 ? { megabytes, lease: values.lease ?? "15s" } : null;
  } catch {
    return null;
  }
}
