// The product as its users have it: a process of its own with a configuration file and a data
// folder, made with `pombo init`, driven over HTTP. Used by the benchmark and the interoperability
// run; both make a workspace and a verified domain with the same steps.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Zone } from "../fakes/zone.ts";
import { cpuSeconds, freePort, mustRun, startProcess, waitUntil, type Cleanup, type Running } from "./process.ts";
import { publish, type DnsRecord } from "./zone.ts";

const PROJECT = join(import.meta.dir, "../../..");
const START_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** The prefix and 32 random bytes in base64url. */
const API_KEY = /svc_[A-Za-z0-9_-]{43}/;

export type Toml = string | number | boolean | string[] | TomlTable | TomlTable[];
export interface TomlTable {
  [name: string]: Toml;
}

export interface PomboApp {
  readonly process: Running;
  readonly port: number;
  readonly operatorKey: string;
  readonly configFile: string;
  readonly dataFolder: string;
  cpuSeconds(): number;
}

/** How the app is started: $POMBO_BIN, else dist/pombo unless a source file is newer, else the sources. */
export function findPombo(): { command: string[]; what: string } {
  const chosen = process.env["POMBO_BIN"] ?? "";
  if (chosen !== "") return { command: [chosen], what: `${chosen} (POMBO_BIN)` };
  const binary = join(PROJECT, "dist/pombo");
  if (existsSync(binary) && statSync(binary).mtimeMs > newestSource()) return { command: [binary], what: "dist/pombo" };
  return { command: [process.execPath, join(PROJECT, "src/main.ts")], what: "bun src/main.ts" };
}

/** Initialises and starts pombo in `<folder>/pombo`. `settings` are tables of its configuration file. */
export async function startPombo(options: {
  folder: string;
  hostname: string;
  settings: TomlTable;
  cleanup: Cleanup;
  env?: Record<string, string>;
}): Promise<PomboApp> {
  const { command } = findPombo();
  const root = join(options.folder, "pombo");
  mkdirSync(root, { recursive: true });
  const [configFile, dataFolder] = [join(root, "config.toml"), join(root, "data")];
  const initialise = [...command, "init", "--config", configFile, "--data-dir", dataFolder];
  const output = await mustRun([...initialise, "--hostname", options.hostname]);
  const operatorKey = readOperatorKey(output);

  const port = await freePort();
  const { http, ...others } = options.settings;
  const settings = {
    hostname: options.hostname,
    data_dir: dataFolder,
    http: { listen: `127.0.0.1:${port}`, ...(typeof http === "object" && !Array.isArray(http) ? http : {}) },
    metrics: { listen: "127.0.0.1:0" },
    inbound: { listen: "127.0.0.1:0" },
    rate_limits: { sends_per_second: 0, writes_per_second: 0, reads_per_second: 0, failed_auth_per_minute: 0 },
    ...others,
  };
  writeFileSync(configFile, toToml(settings));
  return await servePombo({ configFile, dataFolder, port, operatorKey }, options.cleanup, options.env);
}

/** Serves what `startPombo` has set up; also again, once the process before has been stopped. */
export async function servePombo(
  installation: Pick<PomboApp, "configFile" | "dataFolder" | "port" | "operatorKey">,
  cleanup: Cleanup,
  env: Record<string, string> = {},
): Promise<PomboApp> {
  const { configFile, dataFolder, port, operatorKey } = installation;
  const logFile = join(dirname(configFile), "log");
  const app = startProcess({ command: [...findPombo().command, "serve", "--config", configFile], logFile, env });
  cleanup.add(() => app.stop());
  await waitUntil("pombo's /ready", START_TIMEOUT_MS, async () => {
    if (!app.isAlive()) throw new Error(`pombo ended at once:\n${app.output()}`);
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    return answer?.status === 200;
  });
  return { process: app, port, operatorKey, configFile, dataFolder, cpuSeconds: () => cpuSeconds(app.pid) };
}

/** The operator key in what `pombo init` prints. */
function readOperatorKey(output: string): string {
  const key = API_KEY.exec(output)?.[0];
  if (key === undefined) throw new Error(`no operator key in the output of pombo init:\n${output}`);
  return key;
}

/** One workspace's view of the API. */
export interface Api {
  readonly key: string;
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }>;
  /** Like `call`, but only with the status that is expected. @throws Error with the answer otherwise. */
  expect(status: number, method: string, path: string, body?: unknown): Promise<Body>;
}

/** JSON whose shape the caller knows from the API. */
// oxlint-disable-next-line no-explicit-any
export type Body = any;

function apiOf(port: number, key: string): Api {
  const call: Api["call"] = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { "X-API-Key": key, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
  };
  return {
    key,
    call,
    expect: async (status, method, path, body) => {
      const answer = await call(method, path, body);
      if (answer.status === status) return answer.body;
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}, expected ${status}`);
    },
  };
}

/** What the operator may do. */
export function operatorApi({ port, operatorKey }: PomboApp): Api {
  return apiOf(port, operatorKey);
}

/** A workspace on the plan `scale`, by the operator key. */
export async function createWorkspace(app: PomboApp, name: string): Promise<Api> {
  const operator = operatorApi(app);
  const created = await operator.expect(201, "POST", "/api/v1/workspaces", { name, plan: "scale" });
  return apiOf(app.port, created.data.apiKey.key);
}

/** A workspace that texts: the first of its sender ids is the usual one. */
export async function createTextingWorkspace(app: PomboApp, senderIds: string[], credits: number): Promise<Api> {
  const operator = apiOf(app.port, app.operatorKey);
  const created = await operator.expect(201, "POST", "/api/v1/workspaces", { name: "texts", plan: "scale" });
  const path = `/api/v1/operator/workspaces/${created.data.workspaceId}`;
  for (const name of senderIds) await operator.expect(201, "POST", `${path}/sender-ids`, { name });
  await operator.expect(201, "POST", `${path}/credits`, { amount: credits });
  return apiOf(app.port, created.data.apiKey.key);
}

/** Lifts what blocks sending, of every workspace: the run's mail is meant to bounce. */
export async function unblockAll(app: PomboApp): Promise<void> {
  const operator = operatorApi(app);
  const { data } = await operator.expect(200, "GET", "/api/v1/operator/workspaces");
  for (const { id } of data) await operator.expect(200, "POST", `/api/v1/operator/workspaces/${id}/unblock`);
}

/** Registers `domain`, publishes what the answer asks for in `zone`, and has it checked. @throws Error unless verified. */
export async function addDomain(api: Api, domain: string, zone: Zone): Promise<string> {
  const created = await api.expect(201, "POST", "/api/v1/domains", { domain });
  const { dkim, spf, dmarc } = created.data.dns as { dkim: DnsRecord[]; spf: DnsRecord; dmarc: DnsRecord };
  publish(zone, [...dkim, spf, dmarc]);
  const id: string = created.data.id;
  const checked = await api.expect(200, "POST", `/api/v1/domains/${id}/verification-checks`);
  if (checked.data.verifiedAt === null) throw new Error(`${domain} was not verified: ${JSON.stringify(checked.data)}`);
  return id;
}

/** Values first, then tables, as TOML wants it; JSON's strings, numbers and lists are TOML's too. */
export function toToml(table: TomlTable, path: string[] = []): string {
  const values: string[] = [];
  const tables: string[] = [];
  for (const [name, value] of Object.entries(table)) {
    const several = Array.isArray(value) ? value.filter((each) => typeof each === "object") : [];
    if (several.length > 0) {
      for (const each of several) tables.push(`\n[[${[...path, name].join(".")}]]\n${toToml(each, [...path, name])}`);
    } else if (typeof value !== "object" || Array.isArray(value)) values.push(`${name} = ${JSON.stringify(value)}\n`);
    else tables.push(`\n[${[...path, name].join(".")}]\n${toToml(value, [...path, name])}`);
  }
  return values.join("") + tables.join("");
}

function newestSource(): number {
  const files = readdirSync(join(PROJECT, "src"), { recursive: true, withFileTypes: true });
  const times = files.filter((file) => file.isFile()).map((file) => statSync(join(file.parentPath, file.name)).mtimeMs);
  return Math.max(...times, 0);
}

/** The end of a log file, for messages about what went wrong. */
export function logTail(app: PomboApp, lines = 20): string {
  return readFileSync(app.process.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
}
