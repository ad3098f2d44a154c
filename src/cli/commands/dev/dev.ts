// `pombo dev`: a whole pombo with its own DNS, mail server with an inbox, and SMSC with phones, all on loopback. Mail
// really goes through queue, DKIM, DNS and SMTP with STARTTLS, and SMS through SMPP.

import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, hostname, tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { toLocalhost } from "../../../config/dashboard-place.ts";
import { DEFAULT_SMS_PREFIXES } from "../../../config/number-prefix.ts";
import { TEXT_FORMATS } from "../../../config/formats.ts";
import { startApp } from "../../../server/server.ts";
import type { App } from "../../../server/app.ts";
import { databaseFile } from "../../../platform/db/open.ts";
import { systemClock } from "../../../platform/clock.ts";
import { createResolver } from "../../../protocols/dns/client.ts";
import { createKey, type NewKey } from "../../../modules/api-keys/key.ts";
import { NumberingPlan } from "../../../modules/sms/encoding/phone-number.ts";
import { type DomainStore, openDomainStore } from "../../../modules/domains/store.ts";
import { getErrorMessage, StartError } from "../../../platform/errors.ts";
import { loadInstanceKey } from "../../../platform/keyring/key-file.ts";
import { MARKER } from "../../../backup/litestream/marker.ts";
import { describeHolder, takeLock } from "../../../platform/instance-lock.ts";
import type { Log } from "../../../platform/log.ts";
import { systemRandom } from "../../../platform/random.ts";
import { startSandboxDns } from "../../../sandbox/dns/server.ts";
import { openInbox } from "../../../sandbox/mx/inbox.ts";
import { startSandboxMx } from "../../../sandbox/mx/server.ts";
import { Reports } from "../../../sandbox/mx/reporter.ts";
import { KEYS_PATH, type SandboxInstance, sandboxRoutes } from "../../../sandbox/web/routes.ts";
import { openSentStore } from "../../../sandbox/web/sent-store.ts";
import { startSandboxSmsc } from "../../../sandbox/smsc/server.ts";
import { openTexts } from "../../../sandbox/smsc/message-store.ts";
import { MX_HOST, SANDBOX_DOMAIN, sandboxZone } from "../../../sandbox/dns/zone.ts";
import { type Arguments, type Terminal, UsageError } from "../../framework/definition.ts";
import { plain } from "../../framework/text.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { sandboxConfig, SANDBOX_SENDERS, SUBMISSION_PORT, smscAccounts, buildSmsConfig } from "./config.ts";
import { linkPerson } from "./person.ts";
import { seed, type SandboxKeys } from "./seed.ts";
import { makeDirectory, setUpInstance } from "../setup/setup.ts";
import { anotherPort, refusalLog, sandboxLog, welcome } from "./messages.ts";

const DEFAULT_PORT = 8080;
/** Long enough for slow@ to answer. */
const STOP_GRACE_MS = 6_000;
const TEXTS_FILE = "sandbox-texts.db";
const SMSC_PASSWORD_OCTETS = 4;
/** Events of the sandbox's own set-up. */
const SETUP_EVENTS = ["workspace.created", "sender_id.added", "credits.granted"];

/** Events of the links to its SMSC, which logs them itself. */
const LINK_EVENTS = ["smpp.bound", "smpp.unbound", "smpp.throttled"];

export async function dev(args: Arguments, terminal: Terminal): Promise<void> {
  const port = readPort(args.text("port"));
  const prefixes = readPrefixes(args.text("prefixes"));
  // Undefined: a temporary directory.
  const data = args.text("data");
  if (data !== undefined) becomeOwner(data);
  const directory = data === undefined ? makeTemporary() : resolve(data);
  const closers: (() => Promise<void> | void)[] = [];
  if (data === undefined) closers.push(() => rmSync(directory, { recursive: true, force: true }));
  else makeDirectory(directory, "--data");
  const log = sandboxLog(terminal.err);
  try {
    const { app, keys, dashboardPath } = await startSandbox({
      directory,
      port,
      prefixes,
      log,
      closers,
      fatal: terminal.fail,
    });
    const { url, inbound, submission } = app;
    const { apiKey, operatorKey, workspaceId } = keys;
    const ready = {
      dashboardUrl: toLocalhost(url) + dashboardPath,
      url,
      apiKey,
      operatorKey,
      workspaceId,
      domain: SANDBOX_DOMAIN,
      inboxUrl: `${url}/sandbox`,
      inbound,
      submission: submission[0] ?? null,
    };
    const isKept = data !== undefined;
    terminal.out(
      args.isSet("json")
        ? JSON.stringify(ready)
        : welcome(ready, { directory, isKept }, new NumberingPlan(prefixes).example),
    );
    await terminal.stopSignal();
    const isBusy = app.worker.runningCount > 0;
    terminal.err(isBusy ? `Stopping … (running deliveries get up to ${STOP_GRACE_MS / 1_000} s)` : "Stopping …");
  } finally {
    for (const close of closers.toReversed()) await close();
  }
  terminal.err(
    data === undefined
      ? "Stopped. The sandbox's data is deleted."
      : `Stopped. The sandbox's data is kept in ${directory}.`,
  );
}

/** The SMSC, and the messages of its phones. */
async function startSmsc({ directory, log, closers }: SandboxOptions) {
  const texts = openTexts(join(directory, TEXTS_FILE));
  closers.push(() => texts.close());
  const password = Buffer.from(systemRandom.bytes(SMSC_PASSWORD_OCTETS)).toString("hex");
  const smsc = await startSandboxSmsc({
    accounts: smscAccounts(),
    password,
    texts,
    clock: systemClock,
    random: systemRandom,
    onEvent: (line) => log.event("smsc", { detail: line }),
  });
  closers.push(() => smsc.close());
  return { texts, smsc, password };
}

interface SandboxOptions {
  directory: string;
  port: number;
  /** Those of `[sms]`. */
  prefixes: string[];
  log: Log;
  /** Receives a function that closes each part, in the order of their start. */
  closers: (() => Promise<void> | void)[];
  fatal: (reason: string) => void;
}

async function startSandbox(options: SandboxOptions): Promise<{ app: App; keys: SandboxKeys; dashboardPath: string }> {
  const { directory, port, prefixes, log, closers } = options;
  const isNew = claimDirectory(directory);
  const inbox = openInbox(inboxFile(directory));
  closers.push(() => inbox.close());
  let domains: DomainStore | null = null;
  const dns = await startSandboxDns({ answer: sandboxZone(() => domains) });
  closers.push(() => dns.close());
  const { texts, smsc, password } = await startSmsc(options);
  const ports = { api: port, submission: await chooseSubmissionPort(port) };
  const config = sandboxConfig(directory, ports, dns.address);
  config.sms = { ...config.sms, ...buildSmsConfig({ port: smsc.port, password }, prefixes) };

  const setUp = { random: systemRandom, now: systemClock.now(), givenKey: undefined };
  const operatorKey = isNew ? setUpInstance(config, setUp).operatorKey : null;
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: {} });

  const resolver = createResolver({ servers: [dns.address], clock: systemClock, random: systemRandom });
  closers.push(() => resolver.close());
  const onEvent = (line: string) => log.event("mx", { detail: line });
  let inbound: string | null = null;
  const reports = new Reports({
    host: MX_HOST,
    complaintAddress: `fbl@${config.email.bounceHost}`,
    inbound: () => (inbound === null ? null : parseAddress(inbound)),
    clock: systemClock,
    random: systemRandom,
    onEvent,
  });
  closers.push(() => reports.stop());
  const mx = await startSandboxMx({
    inbox,
    lookupTxt: (name) => resolver.txt(name),
    clock: systemClock,
    onEvent,
    report: (kind, reported) => reports.later(kind, reported),
  });
  closers.push(() => mx.close());
  config.email.destinationPort = mx.port;

  const phone = { texts, smsc, ownNumber: SANDBOX_SENDERS.number, numbering: new NumberingPlan(prefixes) };
  let instance: SandboxInstance | null = null;
  const app = await startApp({
    config,
    instanceKey,
    environment: {
      clock: systemClock,
      random: systemRandom,
      log: withoutSetup(log, () => instance !== null),
      fatal: options.fatal,
    },
    isRateBlocking: false,
    isSandbox: true,
    beside: sandboxRoutes(inbox, { domain: SANDBOX_DOMAIN, phone, instance: () => instance }),
    docsKeys: KEYS_PATH,
    refused: refusalLog(log),
    exampleDomain: SANDBOX_DOMAIN,
    portHint: `start this one with another, such as --port ${anotherPort(port)}`,
  });
  closers.push(() => app.stop(STOP_GRACE_MS));
  // Otherwise a stop waits for responses to numbers that never get one.
  closers.push(() => smsc.hangUp());
  inbound = app.inbound;
  domains = openDomainStore(app.db);
  const keys = operatorKey === null ? readKeys(directory) : await seed(app, operatorKey, chooseKey(port));
  const createLink = () => linkPerson(app, keys.workspaceId);
  instance = { sent: openSentStore(app.db), keys, createLink };
  if (operatorKey !== null) writeFileSync(keysFile(directory), JSON.stringify(keys), { mode: 0o600 });
  return { app, keys, dashboardPath: await createLink() };
}

/**
 * The API key of a new sandbox: the same at each start on this port of this machine, so that a program's settings stay
 * right. It opens only what listens on loopback; web pages cannot guess it.
 */
function chooseKey(port: number): NewKey {
  const words = ["pombo sandbox", port, hostname(), homedir(), userInfo().uid].join("\0");
  return createKey({ bytes: (length) => createHash("sha256").update(words).digest().subarray(0, length) });
}

/** 0: any free one, as the API's is. */
async function chooseSubmissionPort(apiPort: number): Promise<number> {
  return apiPort !== 0 && (await isFree(SUBMISSION_PORT)) ? SUBMISSION_PORT : 0;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = Promise.withResolvers<boolean>();
  server.once("error", () => listening.resolve(false));
  server.listen(port, "127.0.0.1", () => listening.resolve(true));
  const found = await listening.promise;
  await new Promise((done) => server.close(done));
  return found;
}

/** Leaves out the events of the sandbox's own set-up. */
function withoutSetup(log: Log, isSeeded: () => boolean): Log {
  return {
    event(name, fields, level) {
      const isOwnDomain = name === "domain.verified" && fields?.["domain"] === SANDBOX_DOMAIN;
      const isOwn = SETUP_EVENTS.includes(name) && !isSeeded();
      if (!isOwnDomain && !isOwn && !LINK_EVENTS.includes(name)) log.event(name, fields, level);
    },
    error: (where, error) => log.error(where, error),
  };
}

/** Splits `127.0.0.1:2525`. */
function parseAddress(place: string): { address: string; port: number } {
  const at = place.lastIndexOf(":");
  return { address: place.slice(0, at), port: Number(place.slice(at + 1)) };
}

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 to 65535, not ${plain(text)}.`);
}

function readPrefixes(text: string | undefined): string[] {
  if (text === undefined) return DEFAULT_SMS_PREFIXES;
  const { read, expected } = TEXT_FORMATS.number_pattern;
  return text.split(",").map((each) => {
    const prefix = read(each.trim());
    if (prefix !== undefined) return prefix;
    throw new UsageError(`--prefixes: ${plain(each)} must be ${expected}.`);
  });
}

function makeTemporary(): string {
  try {
    return mkdtempSync(join(tmpdir(), "pombo-dev-"));
  } catch (error) {
    throw new StartError(
      `A temporary data directory cannot be created (${getErrorMessage(error)}). Name one with --data DIR.`,
    );
  }
}

/**
 * True if the directory holds no sandbox yet. Throws StartError if a pombo runs on it, or if it belongs to a real
 * instance. The files of a first start that was interrupted before the keys were saved are removed. A sandbox creates
 * its inbox before its database, so a directory with an inbox is always a sandbox's.
 */
function claimDirectory(directory: string): boolean {
  const lock = takeLock(directory);
  if (lock.kind === "held")
    throw new StartError(
      `${describeHolder(lock.pid)} is running on ${directory}. Stop it first, or use another directory with --data DIR. Nothing was written or sent.`,
    );
  try {
    if (existsSync(keysFile(directory))) return false;
    if (existsSync(inboxFile(directory))) {
      for (const file of ["pombo.db", "pombo.db-wal", "pombo.db-shm", "instance.key", MARKER])
        rmSync(join(directory, file), { force: true });
    } else if (existsSync(databaseFile(directory))) {
      throw new StartError(
        `${directory} belongs to a pombo that is not a sandbox; it was not changed. Choose another directory with --data.`,
      );
    }
    return true;
  } finally {
    lock.release();
  }
}

function inboxFile(directory: string): string {
  return join(directory, "sandbox.db");
}

function keysFile(directory: string): string {
  return join(directory, "sandbox.json");
}

function readKeys(directory: string): SandboxKeys {
  try {
    return JSON.parse(readFileSync(keysFile(directory), "utf8")) as SandboxKeys;
  } catch {
    throw new StartError(`${keysFile(directory)} cannot be read. Delete ${directory} to start with a new sandbox.`);
  }
}
