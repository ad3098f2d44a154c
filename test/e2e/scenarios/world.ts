/**
 * The world of a whole-process scenario: a folder, DNS and a mail server in the test's process, and
 * `pombo serve` as a process of its own on a data directory that outlives it. A scenario may start,
 * kill and start it again; workspace and domain are made once, over the API.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FakeDns, startFakeDns } from "../../support/fakes/dns-server.ts";
import { type Child, runPombo, spawnCommand, spawnPombo } from "./child.ts";

export const HOSTNAME = "mail.pombo.test";
const SENDING_DOMAIN = "loja.test";
/** Recipient domains, all at the scenario's mail server: as many lanes of one site. */
export const DESTINATIONS = ["one.test", "two.test", "three.test"];

type Values = Record<string, string | number | boolean | string[]>;

export interface Reply {
  status: number;
  headers: Headers;
  /** JSON whose shape the caller knows from the interface. */
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

/** A running `pombo serve`. */
export interface Served extends Child {
  readonly url: string;
  /** The port where mail comes in; NaN: it is turned off. */
  readonly inboundPort: number;
  /** Where programs hand in mail, the first of them; NaN: nowhere. */
  readonly submissionPort: number;
}

export interface ServeOptions {
  /** As in spawnPombo. */
  through?: string[];
  env?: Record<string, string>;
  /** Another executable than the one under test. */
  command?: string[];
  /** Another configuration file than the world's own. */
  config?: string;
}

export interface World {
  readonly folder: string;
  readonly configFile: string;
  readonly dataDir: string;
  readonly dns: FakeDns;
  /** Of the workspace. */
  readonly key: string;
  readonly operatorKey: string;
  /** Starts the instance and waits until it serves. */
  serve(options?: ServeOptions): Promise<Served>;
  /** Another configuration file beside the first, with some of its values replaced. */
  writeConfig(name: string, changes: Record<string, Values>): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WorldOptions {
  mxPort: number;
  /** Tables of the configuration file, merged into the scenario's own. */
  settings?: Record<string, Values>;
}

/** Sets an instance up, with a workspace and a verified domain; nothing of it runs in the end. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "pombo-scenario-"));
  const dns = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] }, "mx.test": { A: ["127.0.0.1"] } });
  for (const domain of DESTINATIONS) dns.zone[domain] = { MX: [[10, "mx.test"]] };
  const configFile = join(folder, "pombo.toml");
  const dataDir = join(folder, "data");
  const settings = merge(ownSettings(dataDir, dns.address, options.mxPort), options.settings ?? {});
  const dispose = async () => {
    await dns.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const initialised = await runPombo([
      "init",
      "--json",
      "--config",
      configFile,
      "--data-dir",
      dataDir,
      "--hostname",
      HOSTNAME,
    ]);
    if (initialised.code !== 0) throw new Error(`pombo init failed: ${initialised.stderr}`);
    const { operatorKey } = JSON.parse(initialised.stdout) as { operatorKey: string };
    writeFileSync(configFile, toToml(settings));
    await using first = await serve(configFile);
    const key = await furnish(first.url, { operatorKey, dns }, SENDING_DOMAIN);
    first.signal("SIGTERM");
    await first.ended;
    return {
      folder,
      configFile,
      dataDir,
      dns,
      key,
      operatorKey,
      serve: ({ config, ...how } = {}) => serve(config ?? configFile, how),
      writeConfig(name, changes) {
        const file = join(folder, name);
        writeFileSync(file, toToml(merge(settings, changes)));
        return file;
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** A workspace with `name` as its verified domain; its key. */
export async function furnish(
  url: string,
  { operatorKey, dns }: Pick<World, "operatorKey" | "dns">,
  name: string,
): Promise<string> {
  const workspace = await call(url, operatorKey, {
    method: "POST",
    path: "/api/v1/workspaces",
    body: { name: "Scenario", plan: "scale" },
  });
  const key: string = workspace.body.data.apiKey.key;
  const domain = await call(url, key, { method: "POST", path: "/api/v1/domains", body: { domain: name } });
  const { id, dns: records } = domain.body.data;
  for (const record of [...records.dkim, records.spf, records.dmarc]) {
    dns.zone[record.name] = record.type === "CNAME" ? { CNAME: record.value } : { TXT: [record.value] };
  }
  const checked = await call(url, key, { method: "POST", path: `/api/v1/domains/${id}/verification-checks` });
  if (checked.body.data?.verifiedAt === null)
    throw new Error(`${name} was not verified: ${JSON.stringify(checked.body)}`);
  return key;
}

function ownSettings(dataDir: string, dnsServer: string, mxPort: number): Record<string, Values> {
  return {
    "": { hostname: HOSTNAME, data_dir: dataDir },
    http: { listen: "127.0.0.1:0" },
    metrics: { listen: "127.0.0.1:0" },
    inbound: { listen: "127.0.0.1:0" },
    dns: { servers: [dnsServer] },
    email: { destination_port: mxPort, allow_private_ranges: ["127.0.0.0/8"], retry_schedule: ["200ms", "500ms"] },
    rate_limits: { sends_per_second: 0, writes_per_second: 0, reads_per_second: 0, failed_auth_per_minute: 0 },
    disk: { min_free: "0B", min_free_inodes_percent: 0 },
    log: { addresses: "full" },
  };
}

function merge(base: Record<string, Values>, changes: Record<string, Values>): Record<string, Values> {
  const merged = { ...base };
  for (const [table, values] of Object.entries(changes)) merged[table] = { ...merged[table], ...values };
  return merged;
}

/** JSON's strings, numbers and lists are TOML's too; the table "" is the top. */
function toToml(tables: Record<string, Values>): string {
  return Object.entries(tables)
    .map(([name, values]) => {
      const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
      return `${name === "" ? "" : `[${name}]\n`}${lines.join("")}`;
    })
    .join("\n");
}

async function serve(configFile: string, { command, ...options }: ServeOptions = {}): Promise<Served> {
  const args = ["serve", "--config", configFile];
  const child = command === undefined ? spawnPombo(args, options) : spawnCommand([...command, ...args], options);
  try {
    await child.until("it serves", () => hasLogged(child, "pombo.started"));
    const url = /"event":"pombo\.started","url":"([^"]+)"/.exec(child.stdout())?.[1];
    if (url === undefined) throw new Error(`no address in its log:\n${child.stdout()}`);
    const inboundPort = Number(/"inbound":"[^"]+:(\d+)"/.exec(child.stdout())?.[1]);
    const submissionPort = Number(/"submission":"[^"]+?:(\d+)[ "]/.exec(child.stdout())?.[1]);
    return Object.assign(child, { url, inboundPort, submissionPort });
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

export function hasLogged(child: Child, event: string): boolean {
  return child.stdout().includes(`"event":"${event}"`);
}

/** Lines that tell of a bug inside pombo. */
export function bugsOf(child: Child): string[] {
  return child
    .stdout()
    .split("\n")
    .filter((line) => line.includes('"event":"internal_error"'));
}

/** A request of the workspace. Rejects when no whole answer came. */
export async function call(
  url: string,
  key: string,
  request: { method?: string; path: string; body?: unknown; idempotencyKey?: string },
): Promise<Reply> {
  const response = await fetch(url + request.path, {
    method: request.method ?? "GET",
    headers: {
      "x-api-key": key,
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...(request.idempotencyKey === undefined ? {} : { "idempotency-key": request.idempotencyKey }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

/** A send that works; the subject tells messages apart. */
export function emailTo(to: string, subject: string): Record<string, string> {
  return { from: `Loja <loja@${SENDING_DOMAIN}>`, to, subject, text: "Bom dia" };
}
