// `pombo restore`: rebuilds an instance from its replica and the recovery key. The replica does not hold the
// configuration: an existing one is used, else a new one is written as by pombo init.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../../platform/clock.ts";
import { type Config, parseConfig, readReplicaUrl } from "../../../config/config.ts";
import { drillReplica } from "../../../backup/restore-drill.ts";
import { openThread } from "../../../server/start-mail-worker.ts";
import { readRecoveryKey } from "../../../platform/keyring/key-file.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { systemRandom } from "../../../platform/random.ts";
import { type Restored, restoreInstance } from "../../../backup/restore.ts";
import { type Arguments, type Command, CommandError, type Terminal, UsageError } from "../../framework/definition.ts";
import { forgetConfig, freshConfig, type Plan, writeConfig } from "./new-config.ts";
import { describeStart, findNewConfigFile, makeServiceFolder } from "./installed-service.ts";
import { readTime } from "../queue/filter.ts";
import { createErrorLog } from "../../client/instance-client.ts";
import { PLACES, readConfig } from "../../client/settings.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { count, jsonLine, plain, timeText } from "../../framework/text.ts";

const OPTIONS: Command["options"] = {
  from: { value: "URL", about: "the replica ([replication] url of the configuration)" },
  at: { value: "TIME", about: "the state at this time: 2026-11-21T12:00Z, or 2h for two hours ago (the latest state)" },
  "key-file": { value: "FILE", about: "a file (chmod 600) with the recovery key that pombo init printed" },
  "new-key": { about: "continue without the lost recovery key; all DKIM records must be published again" },
  config: { value: "FILE", about: "the configuration, as for serve; it is written if there is none" },
  hostname: { value: "NAME", about: "for a new configuration: the name of this server" },
  "data-dir": { value: "DIR", about: "for a new configuration: the data directory (/var/lib/pombo)" },
  endpoint: { value: "URL", about: "for a new configuration: the URL of an S3 service other than Amazon's" },
  "sftp-key-file": { value: "FILE", about: "for a new configuration: the private key for SFTP" },
  "sftp-host-key": { value: "KEY", about: "for a new configuration: the SFTP server's public key, ssh-ed25519 AAAA…" },
  drill: { about: "only test it: restore into a temporary folder, and compare with the database" },
  json: { about: "print one line of JSON, for programs" },
};

export const restore: Command = {
  name: "restore",
  arguments: [],
  options: OPTIONS,
  about:
    "Restore the database from its replica into an empty data directory. Delivery stays paused until you decide about the messages in the queue.",
  run: restoreDatabase,
};

interface RecoveryKey {
  /** Null: it is lost. */
  read: () => string | null;
  isKeyOfEnvironment: boolean;
}

async function restoreDatabase(args: Arguments, terminal: Terminal): Promise<void> {
  if (args.isSet("drill")) return drill(args, terminal);
  const at = args.text("at");
  const from = readUrl(args.text("from"));
  const atMs = at === undefined ? null : Date.parse(readTime(at, systemClock.now(), ["at", ""]));
  const named = args.text("config") ?? terminal.env["POMBO_CONFIG"] ?? PLACES.find((place) => existsSync(place));
  const file = resolve(named ?? findNewConfigFile());
  const plan = existsSync(file) ? useConfig(file, args, terminal) : planConfig(file, args, terminal);
  const url = from ?? plan.config.replication.url;
  if (url === null) throw new UsageError(`${file} has no replica ([replication] url): name one with --from URL.`);
  const config: Config = { ...plan.config, replication: { ...plan.config.replication, url } };
  const key = chooseKey(args, config, terminal);
  // First, as for pombo init.
  makeServiceFolder(config.dataDir, file);
  if (plan.text !== null) writeConfig(file, plan.text, { dataDir: config.dataDir, terminal });
  becomeOwner(config.dataDir);
  terminal.err(`Restoring from ${plain(url)} into ${plain(config.dataDir)} …`);
  let restored: Restored;
  try {
    const environment = { clock: systemClock, random: systemRandom, log: createErrorLog(terminal.err) };
    const { isKeyOfEnvironment } = key;
    restored = await restoreInstance({ config, at: atMs, recoveryKey: key.read(), isKeyOfEnvironment, environment });
  } catch (error) {
    if (plan.text !== null) forgetConfig(file, terminal);
    throw error;
  }
  const shown = { config: file, dataDir: config.dataDir, ...toJson(restored) };
  if (args.isSet("json")) terminal.out(jsonLine(shown));
  else terminal.say(summary(restored, { file, config, isNew: plan.text !== null }));
}

/** No drill takes longer. */
const HOLD_MS = 7 * 86_400_000;

/** Exits with 0 after a good drill. */
async function drill(args: Arguments, terminal: Terminal): Promise<void> {
  const others = Object.keys(OPTIONS).filter((name) => !["drill", "config", "json"].includes(name));
  const unused = others.find((name) => args.isSet(name) || args.text(name) !== undefined);
  if (unused !== undefined)
    throw new UsageError(`--${unused} cannot be combined with --drill, which tests the replica of the configuration.`);
  const config = readConfig(args.text("config"), terminal.env);
  becomeOwner(config.dataDir);
  if (config.replication.url === null)
    throw new CommandError("Replication is not set up: there is no [replication] url.");
  // The thread that looks for damage does not hold the process: it would end in the middle, with 0.
  const release = systemClock.after(HOLD_MS, () => undefined);
  const work = drillReplica({ config, environment: { clock: systemClock }, openThread });
  const drilled = await work.finally(release);
  const { outcome, words, tookMs } = drilled;
  if (outcome !== "good") terminal.setExitCode(1);
  const seconds = (tookMs / 1_000).toLocaleString("en", { maximumFractionDigits: 1 });
  if (args.isSet("json")) terminal.out(jsonLine(drilled));
  else terminal.say(`${outcome}: ${plain(words)} It took ${seconds} s.`);
}

function useConfig(file: string, args: Arguments, terminal: Terminal): Plan {
  const unused = ["hostname", "data-dir", "endpoint", "sftp-key-file", "sftp-host-key"].find(
    (option) => args.text(option) !== undefined,
  );
  if (unused !== undefined) {
    throw new UsageError(`--${unused} is only for a new configuration, but there is one at ${file}: change it there.`);
  }
  return { config: readConfig(file, terminal.env), text: null };
}

function planConfig(file: string, args: Arguments, terminal: Terminal): Plan {
  const [hostname, dataDir] = [args.text("hostname"), args.text("data-dir")];
  const more = Object.entries({
    url: args.text("from"),
    endpoint: args.text("endpoint"),
    sftp_key_file: args.text("sftp-key-file"),
    sftp_host_key: args.text("sftp-host-key"),
  });
  const values = Object.fromEntries(more.filter((entry): entry is [string, string] => entry[1] !== undefined));
  if (values["url"] === undefined) {
    throw new UsageError(
      `There is no configuration at ${file}: name one with --config FILE, or the replica with --from URL.`,
    );
  }
  return freshConfig(file, { hostname, dataDir, more: values }, terminal);
}

/** In the form of the configuration. */
function readUrl(from: string | undefined): string | undefined {
  if (from === undefined) return undefined;
  const url = readReplicaUrl(from);
  if (url !== undefined) return url;
  const parsed = parseConfig(`[replication]\nurl = ${JSON.stringify(from)}\n`, { file: "", env: {} });
  const error = parsed.kind === "config" ? undefined : parsed.errors.find(({ key }) => key === "replication.url");
  throw new UsageError(`--from must be ${error?.expected ?? "a replica"}; not ${plain(from)}.`);
}

/** Chooses the key. One in the data directory is read later, by its owner; another file may be readable only by root. */
function chooseKey(args: Arguments, { secrets, dataDir }: Config, { env }: Terminal): RecoveryKey {
  const ofEnvironment = env["POMBO_INSTANCE_KEY"] ?? "";
  const keyFile = args.text("key-file");
  const ways = [args.isSet("new-key"), keyFile !== undefined, ofEnvironment !== ""].filter(Boolean).length;
  if (ways > 1) {
    throw new UsageError("Give only one of --key-file, --new-key and the variable POMBO_INSTANCE_KEY.");
  }
  if (args.isSet("new-key")) return { read: () => null, isKeyOfEnvironment: false };
  if (ofEnvironment !== "") return { read: () => ofEnvironment, isKeyOfEnvironment: true };
  const inPlace = existsSync(secrets.instanceKeyFile) ? secrets.instanceKeyFile : undefined;
  const file = keyFile ?? inPlace;
  if (file === undefined) {
    throw new UsageError(
      "The recovery key is required, which pombo init printed: put it into a file (chmod 600), and name the file with --key-file. If the key is lost, continue without it with --new-key.",
    );
  }
  if (file === inPlace || resolve(file).startsWith(join(dataDir, "/")))
    return { read: () => readRecoveryKey(file), isKeyOfEnvironment: false };
  const text = readRecoveryKey(file);
  return { read: () => text, isKeyOfEnvironment: false };
}

function toJson({ contents, restorePoint, at, mayRun, newKey }: Restored) {
  return {
    asOf: toIsoTime(at),
    restorePoint: toIsoTime(restorePoint),
    emails: contents.emails,
    texts: contents.texts,
    workspaces: contents.workspaces,
    domains: contents.domains,
    waiting: contents.waiting,
    mayRun:
      mayRun === null ? null : { host: mayRun.host, startedAt: toIsoTime(mayRun.startedAt), isSeen: mayRun.isSeen },
    newKey,
  };
}

function summary(
  { contents, at, mayRun, newKey }: Restored,
  to: { file: string; config: Config; isNew: boolean },
): string {
  const { emails, texts, calls } = contents.waiting;
  const waiting = [count(emails, "email"), count(texts, "SMS", "SMS"), count(calls, "webhook call")];
  const { start, runAs } = describeStart(to.file, to.config.dataDir);
  const command = (words: string) => `${runAs}pombo ${words} --config ${plain(to.file)}`;
  return [
    `Restored to ${plain(to.config.dataDir)} as it was at ${timeText(toIsoTime(at))}: ${count(contents.emails, "email")} and ${count(contents.texts, "SMS", "SMS")} of ${count(contents.workspaces, "workspace")}.`,
    "",
    ...(mayRun === null
      ? []
      : [
          `pombo on ${plain(mayRun.host)} (since ${timeText(toIsoTime(mayRun.startedAt))}) wrote to this replica and has not recorded a stop${mayRun.isSeen ? ": IT IS RUNNING, and wrote to it just now" : ""}.`,
          "Make sure that it never runs again, then start this one.",
          "",
        ]),
    ...(newKey === null ? [] : [formatNewKey(newKey), ""]),
    ...(to.isNew
      ? [`The replica does not hold the configuration; ${plain(to.file)} is a new one. Copy your settings into it.`, ""]
      : []),
    "Everybody was signed out of the dashboard, and invitations and links ended. People who were removed since the backup have their roles again, and deleted API keys work again. Once it runs, review both on the page of the link that this prints:",
    `  ${command("dashboard link")}`,
    "",
    "Start it; it accepts messages, and delivers nothing yet:",
    `  ${start}`,
    "",
    `The queue held ${new Intl.ListFormat("en").format(waiting)}. Some may have been delivered since. To drop them:`,
    `  ${command("queue drop --queued-before restore-point")}`,
    "",
    "Then, or instead, to send the waiting messages:",
    `  ${command("queue resume")}`,
  ].join("\n");
}

function formatNewKey({ recoveryKey, domains, webhooks, authenticators }: NonNullable<Restored["newKey"]>): string {
  return [
    "The new recovery key, shown only now. Do not keep it on this server only:",
    `  ${recoveryKey}`,
    "",
    "Bounces and complaints about mail sent before are no longer accepted.",
    ...(webhooks === 0
      ? []
      : [
          `${count(webhooks, "webhook has a new secret", "webhooks have new secrets")} that nobody knows: rotate them before you resume delivery.`,
        ]),
    ...(authenticators === 0
      ? []
      : [
          `Authenticator apps do not count any more (${count(authenticators, "person", "people")}): until they are set up anew, a password is enough to sign in.`,
        ]),
    ...(domains.length === 0
      ? []
      : [
          "These domains have new DKIM keys and are not verified. Publish their records again (the API shows them) before you resume delivery:",
          ...domains.map((name) => `  ${plain(name)}`),
        ]),
  ].join("\n");
}
