import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../../platform/clock.ts";
import { type Config, parseConfig, readReplicaUrl } from "../../../config/config.ts";
import { drillReplica } from "../../../backup/restore-drill.ts";
import { openThread } from "../../../server/start-mail-worker.ts";
import { readRecoveryKey } from "../../../platform/keyring/key-file.ts";
import { systemRandom } from "../../../platform/random.ts";
import { type Restored, restoreInstance } from "../../../backup/restore.ts";
import type { Terminal } from "../../framework/terminal.ts";
import type { Command, Given } from "../../framework/definition.ts";
import { CommandError, UsageError } from "../../framework/failure.ts";
import { DEFAULT_CONFIG, forgetConfig, freshConfig, type Plan, SERVICE, writeConfig } from "./new-config.ts";
import { readTime } from "../queue/filter.ts";
import { errorsOnly } from "../../client/instance-client.ts";
import { PLACES, readConfig } from "../../client/settings.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { count, jsonLine, plain, timeText } from "../../framework/text.ts";

// `pombo restore`: the machine is gone, and there is a replica and the recovery key. The configuration is not in
// the replica: it is used where there is one, else a new one is written as by pombo init.

const OPTIONS: Command["options"] = {
  from: { value: "URL", about: "the replica ([replication] url of the configuration)" },
  at: { value: "TIME", about: "as it was then: 2026-11-21T12:00Z, or 2h for so long ago; without it as it was last" },
  "key-file": { value: "FILE", about: "the recovery key that pombo init printed, in a file (chmod 600)" },
  "new-key": { about: "it is lost: go on without; every domain's DKIM records must be published again" },
  config: { value: "FILE", about: "the configuration, as for serve; where there is none it is written" },
  hostname: { value: "NAME", about: "for a new configuration: the name of this server" },
  "data-dir": { value: "DIR", about: "for a new configuration: where everything is kept (/var/lib/pombo)" },
  endpoint: { value: "URL", about: "for a new configuration: the address of an S3 service that is not Amazon's" },
  "sftp-key-file": { value: "FILE", about: "for a new configuration: the private key for sftp" },
  "sftp-host-key": { value: "KEY", about: "for a new configuration: the sftp server's public key, ssh-ed25519 AAAA…" },
  drill: { about: "only see whether it could be: into a folder beside the database, compared with it, and removed" },
  json: { about: "one line of JSON for programs" },
};

export const restore: Command = {
  name: "restore",
  arguments: [],
  options: OPTIONS,
  about:
    "Brings the database back from its replica into an empty data directory. Delivery stays paused until you say what becomes of what was in the queue.",
  run: restoreDatabase,
};

interface RecoveryKey {
  /** Null: it is lost. */
  read: () => string | null;
  isKeyOfEnvironment: boolean;
}

async function restoreDatabase(given: Given, terminal: Terminal): Promise<void> {
  if (given.isSet("drill")) return drill(given, terminal);
  const at = given.text("at");
  const from = readUrl(given.text("from"));
  const atMs = at === undefined ? null : Date.parse(readTime(at, systemClock.now(), ["at", ""]));
  const named = given.text("config") ?? terminal.env["POMBO_CONFIG"] ?? PLACES.find((place) => existsSync(place));
  const file = resolve(named ?? DEFAULT_CONFIG);
  const plan = existsSync(file) ? existing(file, given, terminal) : planned(file, given, terminal);
  const url = from ?? plan.config.replication.url;
  if (url === null) throw new UsageError(`${file} names no replica ([replication] url): name it with --from URL.`);
  const config: Config = { ...plan.config, replication: { ...plan.config.replication, url } };
  const key = keyOf(given, config, terminal);
  // First of all, as pombo init does: it is of use without the rest.
  if (plan.text !== null) writeConfig(file, plan.text, { dataDir: config.dataDir, terminal });
  becomeOwner(config.dataDir);
  terminal.err(`Restoring from ${plain(url)} into ${plain(config.dataDir)} …`);
  let restored: Restored;
  try {
    const environment = { clock: systemClock, random: systemRandom, log: errorsOnly(terminal.err) };
    const { isKeyOfEnvironment } = key;
    restored = await restoreInstance({ config, at: atMs, recoveryKey: key.read(), isKeyOfEnvironment, environment });
  } catch (error) {
    if (plan.text !== null) forgetConfig(file, terminal);
    throw error;
  }
  const shown = { config: file, dataDir: config.dataDir, ...jsonOf(restored) };
  terminal.out(given.isSet("json") ? jsonLine(shown) : summary(restored, { file, config, isNew: plan.text !== null }));
}

/** Ends with 0 when it went well. */
async function drill(given: Given, terminal: Terminal): Promise<void> {
  const others = Object.keys(OPTIONS).filter((name) => !["drill", "config", "json"].includes(name));
  const idle = others.find((name) => given.isSet(name) || given.text(name) !== undefined);
  if (idle !== undefined)
    throw new UsageError(`--${idle} does not go with --drill, which is of the configuration's replica.`);
  const config = readConfig(given.text("config"), terminal.env);
  becomeOwner(config.dataDir);
  if (config.replication.url === null) throw new CommandError("Nothing is replicated: there is no [replication] url.");
  const made = await drillReplica({ config, environment: { clock: systemClock }, openThread });
  const { outcome, words, tookMs } = made;
  if (outcome !== "good") terminal.ends(1);
  const seconds = (tookMs / 1_000).toLocaleString("en", { maximumFractionDigits: 1 });
  terminal.out(given.isSet("json") ? jsonLine(made) : `${outcome}: ${plain(words)} It took ${seconds} s.`);
}

function existing(file: string, given: Given, terminal: Terminal): Plan {
  const idle = ["hostname", "data-dir", "endpoint", "sftp-key-file", "sftp-host-key"].find(
    (option) => given.text(option) !== undefined,
  );
  if (idle !== undefined) {
    throw new UsageError(`--${idle} is for a new configuration, and there is one at ${file}: change it there.`);
  }
  return { config: readConfig(file, terminal.env), text: null };
}

function planned(file: string, given: Given, terminal: Terminal): Plan {
  const [hostname, dataDir] = [given.text("hostname"), given.text("data-dir")];
  const more = Object.entries({
    url: given.text("from"),
    endpoint: given.text("endpoint"),
    sftp_key_file: given.text("sftp-key-file"),
    sftp_host_key: given.text("sftp-host-key"),
  });
  const given_ = Object.fromEntries(more.filter((entry): entry is [string, string] => entry[1] !== undefined));
  if (given_["url"] === undefined) {
    throw new UsageError(
      `There is no configuration at ${file}: name it with --config FILE, or the replica with --from URL.`,
    );
  }
  return freshConfig(file, { hostname, dataDir, more: given_ }, terminal);
}

/** As the configuration would have it. */
function readUrl(from: string | undefined): string | undefined {
  if (from === undefined) return undefined;
  const url = readReplicaUrl(from);
  if (url !== undefined) return url;
  const parsed = parseConfig(`[replication]\nurl = ${JSON.stringify(from)}\n`, { file: "", env: {} });
  const mistake = parsed.kind === "config" ? undefined : parsed.errors.find(({ key }) => key === "replication.url");
  throw new UsageError(`--from must be ${mistake?.expected ?? "a replica"}; not ${plain(from)}.`);
}

/** Which key it is; what is in the data directory is for its owner to read, what was named elsewhere perhaps for root alone. */
function keyOf(given: Given, { secrets, dataDir }: Config, { env }: Terminal): RecoveryKey {
  const ofEnvironment = env["POMBO_INSTANCE_KEY"] ?? "";
  const keyFile = given.text("key-file");
  const ways = [given.isSet("new-key"), keyFile !== undefined, ofEnvironment !== ""].filter(Boolean).length;
  if (ways > 1) {
    throw new UsageError(
      "Say in one way alone which key it is: --key-file, --new-key or the variable POMBO_INSTANCE_KEY.",
    );
  }
  if (given.isSet("new-key")) return { read: () => null, isKeyOfEnvironment: false };
  if (ofEnvironment !== "") return { read: () => ofEnvironment, isKeyOfEnvironment: true };
  const inPlace = existsSync(secrets.instanceKeyFile) ? secrets.instanceKeyFile : undefined;
  const file = keyFile ?? inPlace;
  if (file === undefined) {
    throw new UsageError(
      "The recovery key is needed, which pombo init printed when the instance was made: put it into a file (chmod 600) and name that with --key-file. If it is lost, --new-key goes on without it.",
    );
  }
  if (file === inPlace || resolve(file).startsWith(join(dataDir, "/")))
    return { read: () => readRecoveryKey(file), isKeyOfEnvironment: false };
  const text = readRecoveryKey(file);
  return { read: () => text, isKeyOfEnvironment: false };
}

function jsonOf({ contents, restorePoint, at, mayRun, newKey }: Restored) {
  return {
    asOf: isoOf(at),
    restorePoint: isoOf(restorePoint),
    emails: contents.emails,
    texts: contents.texts,
    workspaces: contents.workspaces,
    domains: contents.domains,
    waiting: contents.waiting,
    mayRun: mayRun === null ? null : { host: mayRun.host, startedAt: isoOf(mayRun.startedAt), isSeen: mayRun.isSeen },
    newKey,
  };
}

function summary(
  { contents, at, mayRun, newKey }: Restored,
  to: { file: string; config: Config; isNew: boolean },
): string {
  const { emails, texts, calls } = contents.waiting;
  const waiting = [count(emails, "email"), count(texts, "text"), count(calls, "webhook call")];
  const user = existsSync(SERVICE) ? "sudo -u pombo " : "";
  const command = (words: string) => `${user}pombo ${words} --config ${plain(to.file)}`;
  return [
    `Restored to ${plain(to.config.dataDir)} as it was at ${timeText(isoOf(at))}: ${count(contents.emails, "email")} and ${count(contents.texts, "text")} of ${count(contents.workspaces, "workspace")}.`,
    "",
    ...(mayRun === null
      ? []
      : [
          `pombo on ${plain(mayRun.host)} (since ${timeText(isoOf(mayRun.startedAt))}) wrote to this replica and has not said that it ended${mayRun.isSeen ? ": IT RUNS, and has written to it just now" : ""}.`,
          "Make sure that it never runs again before you start this one.",
          "",
        ]),
    ...(newKey === null ? [] : [newKeyWords(newKey), ""]),
    ...(to.isNew
      ? [
          `The configuration was not in the replica; ${plain(to.file)} is a new one. Bring over what the old one said.`,
          "",
        ]
      : []),
    "Start it; it accepts, and delivers nothing yet:",
    `  ${existsSync(SERVICE) ? "sudo systemctl enable --now pombo" : `pombo serve --config ${plain(to.file)}`}`,
    "",
    `In the queue were ${new Intl.ListFormat("en").format(waiting)}. Some may have been delivered since. Drop them:`,
    `  ${command("queue drop --queued-before restore-point")}`,
    "",
    "Then, or instead, to send what waits:",
    `  ${command("queue resume")}`,
  ].join("\n");
}

function newKeyWords({ recoveryKey, domains, webhooks }: NonNullable<Restored["newKey"]>): string {
  return [
    "The new recovery key, shown only now. Keep it somewhere else than on this server:",
    `  ${recoveryKey}`,
    "",
    "Bounces and complaints about mail sent before are not accepted any more.",
    ...(webhooks === 0
      ? []
      : [
          `${count(webhooks, "webhook")} have new secrets that nobody knows: have them rotated before delivery is resumed.`,
        ]),
    ...(domains.length === 0
      ? []
      : [
          "These domains have new DKIM keys and are not verified. Publish their records again (the API shows them) before delivery is resumed:",
          ...domains.map((name) => `  ${plain(name)}`),
        ]),
  ].join("\n");
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}
