// A private Postfix: its own configuration, queue, data and log below one folder, listening on one
// loopback port, unknown to the system's own Postfix. Steps: write main.cf and master.cf, give the
// data folder to Postfix's user, `postfix -c … start`, wait for the port. The benchmark uses it as
// a relay that signs with a milter, the interoperability run as a receiving MX.

import { chownSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cpuSeconds, mustRun, run, waitForListener } from "./process.ts";
import { pathOf } from "./packages.ts";

/** Queue folders whose files are messages that Postfix still has to deliver. */
const WAITING_QUEUES = ["maildrop", "incoming", "active", "deferred", "hold"];

export interface PostfixOptions {
  /** An existing folder that Postfix's user may enter; the instance lives in `<folder>/postfix`. */
  folder: string;
  hostname: string;
  /** The loopback port on which it takes mail. */
  port: number;
  /** Lines of main.cf beyond the base ones, by name; they win over the base ones. */
  settings: Record<string, string>;
  /** Further lines of master.cf: services on other ports. */
  services?: string;
  /** Files of the SASL library, by the name that smtpd_sasl_path gives them. */
  sasl?: Record<string, string>;
  /** Runs it elsewhere, such as in another network namespace, at an address there; its port is open there alone. */
  elsewhere?: { prefix: readonly string[]; address: string };
}

export interface Postfix {
  readonly port: number;
  readonly configFolder: string;
  /** Messages accepted and not yet gone. */
  queueLength(): number;
  log(): string;
  /** CPU seconds of the master and of all its daemons. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

export async function startPostfix(options: PostfixOptions): Promise<Postfix> {
  const { elsewhere } = options;
  const address = elsewhere?.address ?? "127.0.0.1";
  const root = join(options.folder, "postfix");
  const configFolder = join(root, "config");
  const queueFolder = join(root, "queue");
  const dataFolder = join(root, "data");
  const logFile = join(root, "postfix.log");
  for (const folder of [root, configFolder, queueFolder, dataFolder]) mkdirSync(folder);
  chownSync(dataFolder, await userId("postfix"), 0);

  const settings: Record<string, string> = {
    compatibility_level: "3.6",
    config_directory: configFolder,
    queue_directory: queueFolder,
    data_directory: dataFolder,
    maillog_file: logFile,
    maillog_file_prefixes: root,
    mail_owner: "postfix",
    setgid_group: "postdrop",
    myhostname: options.hostname,
    inet_interfaces: address,
    inet_protocols: "ipv4",
    mynetworks: "127.0.0.0/8",
    mydestination: "",
    alias_maps: "",
    alias_database: "",
    local_transport: "error:no local mailboxes here",
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(join(configFolder, "main.cf"), lines.join(""));
  // Debian's Postfix looks there whatever cyrus_sasl_config_path says.
  mkdirSync(join(configFolder, "sasl"));
  for (const [name, text] of Object.entries(options.sasl ?? {})) {
    writeFileSync(join(configFolder, `sasl/${name}.conf`), text);
  }
  writeFileSync(join(configFolder, "master.cf"), masterFile(address, options.port) + (options.services ?? ""));

  const postfix = [...(elsewhere?.prefix ?? []), pathOf("postfix")];
  const started = await run([...postfix, "-c", configFolder, "start"]);
  if (started.exitCode !== 0) throw new Error(`Postfix did not start:\n${started.output}${readIfThere(logFile)}`);
  const master = Number(readFileSync(join(queueFolder, "pid/master.pid"), "latin1").trim());
  await waitForListener(options.port, address);

  return {
    port: options.port,
    configFolder,
    queueLength: () => WAITING_QUEUES.reduce((sum, queue) => sum + countFiles(join(queueFolder, queue)), 0),
    log: () => readIfThere(logFile),
    cpuSeconds: () => cpuSeconds(master),
    // `postfix stop` signals the pid in this instance's own pid file, and that one only.
    stop: async () => void (await run([...postfix, "-c", configFolder, "stop"])),
  };
}

/** Numeric id of a system user. @throws Error when there is no such user. */
export async function userId(name: string): Promise<number> {
  return Number((await mustRun(["id", "-u", name])).trim());
}

/** Debian runs these services in a chroot (fifth column `y`); a private instance has none to run in. */
function masterFile(address: string, port: number): string {
  return `${address}:${port} inet n - n - - smtpd
pickup     unix n - n 60 1 pickup
cleanup    unix n - n - 0 cleanup
qmgr       unix n - n 300 1 qmgr
tlsmgr     unix - - n 1000? 1 tlsmgr
rewrite    unix - - n - - trivial-rewrite
bounce     unix - - n - 0 bounce
defer      unix - - n - 0 bounce
trace      unix - - n - 0 bounce
verify     unix - - n - 1 verify
flush      unix n - n 1000? 0 flush
proxymap   unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp       unix - - n - - smtp
relay      unix - - n - - smtp
showq      unix n - n - - showq
error      unix - - n - - error
retry      unix - - n - - error
discard    unix - - n - - discard
local      unix - n n - - local
virtual    unix - n n - - virtual
anvil      unix - - n - 1 anvil
scache     unix - - n - 1 scache
postlog    unix-dgram n - n - 1 postlogd
`;
}

function countFiles(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).length;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
