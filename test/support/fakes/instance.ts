/**
 * A whole pombo in this process, as app.ts builds it, with a fake world around it: DNS and a mail
 * server over real sockets, and a clock that a test may hold. What it does outside is real.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnyElysia } from "elysia";
import { startApp } from "../../../src/server/server.ts";
import type { App } from "../../../src/server/app.ts";
import { setUpInstance } from "../../../src/cli/commands/setup/setup.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { type Config, defaultConfig, defaultSmsRoute, NO_RATE_LIMITS } from "../../../src/config/config.ts";
import type { ReadFree } from "../../../src/platform/db/disk-guard.ts";
import { generateKeyPairs, type KeyPairs } from "../../../src/protocols/dkim/keys.ts";
import { loadInstanceKey } from "../../../src/platform/keyring/key-file.ts";
import type { Receive } from "../../../src/modules/inbound-mail/inbound-message.ts";
import type { Log, LogFields } from "../../../src/platform/log.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { withFractions } from "./clock.ts";
import { type FakeDns, startFakeDns } from "./dns-server.ts";
import { type Mx, type MxScript, startMx } from "./mx.ts";
import { openKeptThread } from "./threads.ts";

export const HOSTNAME = "mail.pombo.test";
/** The default workspace's verified domain. */
export const SENDING_DOMAIN = "loja.test";

/** JSON whose shape the caller knows from the interface. */
// oxlint-disable-next-line no-explicit-any
export type Json = any;

export interface Answer {
  status: number;
  headers: Headers;
  /** The body as it came. */
  text: string;
  body: Json;
}

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  rawBody?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
  /** Another key than the caller's; null: none. */
  key?: string | null;
}

/** Requests under one API key. */
export interface Client {
  readonly key: string;
  call(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

export interface Workspace extends Client {
  readonly id: string;
}

export interface Instance {
  app: App;
  readonly config: Config;
  readonly directory: string;
  readonly dns: FakeDns;
  readonly mx: Mx;
  readonly operator: Client;
  /** A workspace on plan `scale` with SENDING_DOMAIN verified. */
  readonly workspace: Workspace;
  /** Events and bugs logged so far. */
  readonly events: { name: string; fields: LogFields }[];
  readonly bugs: unknown[];
  newWorkspace(plan?: string): Promise<Workspace>;
  /** Registers a domain, publishes its records and has it verified; its id. */
  addDomain(workspace: Client, domain: string): Promise<string>;
  /** Gives a workspace the sender id "Loja" and SMS credits; what it texts waits: the only route has no link. */
  enableSms(workspace: Workspace, credits?: number): Promise<void>;
  /** A send that works; members may be replaced. */
  email(changes?: Record<string, unknown>): Record<string, unknown>;
  /** Ends the app and starts it again on the same data, after what is done `between`. */
  restart(between?: () => void): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface InstanceOptions {
  clock?: Clock;
  /** Of spans; default: `clock`, with fractions. */
  steady?: Clock;
  mx?: MxScript;
  readFree?: ReadFree;
  /** In bytes; default: the machine's. */
  memory?: number;
  /** Routes beside the API: the sandbox's. */
  beside?: AnyElysia;
  /** Takes what comes back by mail. */
  receive?: Receive;
  /** For the examples in the API docs. */
  exampleDomain?: string;
  /** Changes the configuration before the start. */
  configure?: (config: Config) => void;
}

const pairs: Promise<KeyPairs>[] = [];
let made = 0;

/** Real ones, but the same two in turn for all domains of the process: an RSA key takes longer than all else of a start. */
function makeKeysInTurn(): Promise<KeyPairs> {
  made += 1;
  return (pairs[made % 2] ??= generateKeyPairs());
}

/** Starts an instance; `await using` ends it and removes its data. */
export async function startInstance(options: InstanceOptions = {}): Promise<Instance> {
  const directory = mkdtempSync(join(tmpdir(), "pombo-test-"));
  const mx = await startMx(options.mx ?? {});
  const dns = await startFakeDns({
    [HOSTNAME]: { A: ["127.0.0.1"] },
    "example.com": { MX: [[10, "mx.example.com"]] },
    "mx.example.com": { A: ["127.0.0.1"] },
  });
  const config = configFor(directory, dns.address, mx.port);
  options.configure?.(config);
  const clock = options.clock ?? systemClock;
  const { operatorKey } = setUpInstance(config, { random: systemRandom, now: clock.now(), givenKey: undefined });
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: {} });
  const events: Instance["events"] = [];
  const bugs: unknown[] = [];
  const log: Log = {
    event: (name, fields = {}) => void events.push({ name, fields }),
    error: (where, error, fields = {}) => void bugs.push({ where, error, ...fields }),
  };
  const { readFree, memory, steady = withFractions(clock), beside, exampleDomain, receive } = options;
  const start = () =>
    startApp({
      // A thread's answer comes at a time of its own, which turns of the event loop and a fake clock do not wait for.
      isSyncInline: process.env["SYNC_BESIDE"] === undefined,
      config,
      instanceKey,
      ...(receive === undefined ? {} : { receive }),
      ...(exampleDomain === undefined ? {} : { exampleDomain }),
      makeKeys: makeKeysInTurn,
      openThread: openKeptThread,
      environment: {
        clock,
        random: systemRandom,
        log,
        steady,
        ...(readFree === undefined ? {} : { readFree }),
        ...(memory === undefined ? {} : { memory }),
      },
      ...(beside === undefined ? {} : { beside }),
    });
  let app = await start();

  const clientOf = (key: string): Client => ({
    key,
    call: (method, path, request = {}) => send(app.url, key, { method, path, ...request }),
  });
  const operator = clientOf(operatorKey);
  const newWorkspace = async (plan = "scale"): Promise<Workspace> => {
    const { body } = await operator.call("POST", "/api/v1/workspaces", { body: { name: "Test", plan } });
    return { ...clientOf(body.data.apiKey.key), id: body.data.workspaceId };
  };
  const addDomain = async (workspace: Client, domain: string): Promise<string> => {
    const created = await workspace.call("POST", "/api/v1/domains", { body: { domain } });
    const { id, dns: records } = created.body.data;
    for (const { type, name, value } of [...records.dkim, records.spf, records.dmarc]) {
      dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
    }
    // With a clock that runs fast the resolver has less time than a busy machine may need.
    for (let tries = 0; ; tries += 1) {
      const checked = await workspace.call("POST", `/api/v1/domains/${id}/verification-checks`);
      if (checked.body.data?.verifiedAt !== null) return id;
      if (tries === 4) throw new Error(`${domain} was not verified: ${checked.text}`);
    }
  };
  const workspace = await newWorkspace();
  await addDomain(workspace, SENDING_DOMAIN);

  return {
    get app() {
      return app;
    },
    config,
    directory,
    dns,
    mx,
    operator,
    workspace,
    events,
    bugs,
    newWorkspace,
    addDomain,
    async enableSms({ id }, credits = 1_000) {
      const path = `/api/v1/operator/workspaces/${id}`;
      await operator.call("POST", `${path}/sender-ids`, { body: { name: "Loja" } });
      await operator.call("POST", `${path}/credits`, { body: { amount: credits } });
    },
    email: (changes = {}) => ({
      from: `Loja <loja@${SENDING_DOMAIN}>`,
      to: "maria@example.com",
      subject: "Olá",
      text: "Bom dia",
      ...changes,
    }),
    async restart(between) {
      await app.stop(0);
      between?.();
      app = await start();
    },
    async [Symbol.asyncDispose]() {
      await app.stop(0);
      await mx.close();
      await dns.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Certificates are to come from where nobody answers. */
export function useAbsentAuthority({ tls }: Pick<Config, "tls">): void {
  tls.acme = "https://127.0.0.1:1/directory";
  tls.challengeListen = [{ address: "127.0.0.1", port: 0 }];
}

/** Somebody is told what is wrong, so that a test can be sent to them. */
export function useAlerts({ alerts }: Pick<Config, "alerts">): void {
  alerts.push({ kind: "email", to: ["operator@example.com"], least: "warning", from: null, route: null });
}

function configFor(directory: string, dnsServer: string, mxPort: number): Config {
  const config = defaultConfig({ hostname: HOSTNAME, dataDir: directory });
  config.http.listen.port = 0;
  config.metrics.listen = null;
  config.inbound.listen = { address: "127.0.0.1", port: 0 };
  config.rateLimits = { ...NO_RATE_LIMITS };
  config.dns.servers = [dnsServer];
  config.email.destinationPort = mxPort;
  config.email.allowPrivateRanges = ["127.0.0.0/8"];
  config.disk.minFreeBytes = 0;
  config.disk.minFreeInodesPercent = 0;
  config.doctor.everyMs = 0;
  config.log.addresses = "full";
  config.sms.routes = [defaultSmsRoute("test")];
  return config;
}

async function send(
  base: string,
  ownKey: string,
  request: RequestOptions & { method: string; path: string },
): Promise<Answer> {
  const { method, path, body, rawBody } = request;
  const key = request.key === undefined ? ownKey : request.key;
  const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(key === null ? {} : { "x-api-key": key }),
      ...(sent === undefined ? {} : { "content-type": "application/json" }),
      ...request.headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  let parsed: Json = null;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not every answer has a body of JSON.
  }
  return { status: response.status, headers: response.headers, text, body: parsed };
}
