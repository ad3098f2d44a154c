// A second instance, on a small disk of its own, for which hours and days pass: it is stopped, and started with a later
// clock.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atAnotherTime } from "../../../../support/peers/chrony.ts";
import {
  type Api,
  createTextingWorkspace,
  findPombo,
  type PomboApp,
  servePombo,
  startPombo,
  toToml,
  type TomlTable,
} from "../../../../support/peers/pombo.ts";
import { type Cleanup, type Finished, run } from "../../../../support/peers/process.ts";
import { startRegistry } from "../../../../support/peers/registry.ts";
import { type SmscHandle, startSmsc } from "../../../../support/peers/smsc/client.ts";
import { type Doctor, type Lines, mergeSettings, openDoctor, type Settings } from "../kit.ts";
import { mountDisk, PLACES, setSystemResolver } from "../network.ts";
import { publishRecords } from "../publish.ts";
import { FIRST_RECORDS, HOST, type Records, REGISTRY_HOST, RESOLVERS, SENDER_DOMAIN, type Servers } from "../world.ts";

const DAY_MS = 86_400_000;
const DISK_MIB = 2_048;
const YOUNG_DAYS = 3;
export const PREFIX = "25884";
export const CREDITS = 160;
export const SENDERS = { used: "Loja", unused: "Saldos" };
const ACCOUNT = { systemId: "loja", password: "segredo" };

export interface Later {
  folder: string;
  dataFolder: string;
  api: Api;
  doctor: Doctor;
  lines: Lines;
  servers: Servers;
  smsc: SmscHandle;
  cleanup: Cleanup;
  /** What was published at first. */
  first: Records;
  pid(): number;
  pombo(...words: string[]): Promise<Finished>;
  /** Its clock from now on, as faketime has it: `+8d`. `changes`: tables of its configuration. */
  restart(ahead: string, changes?: Settings): Promise<void>;
}

export async function startLater(options: {
  folder: string;
  lines: Lines;
  servers: Servers;
  cleanup: Cleanup;
}): Promise<Later> {
  const { lines, servers, cleanup } = options;
  const folder = join(options.folder, "later");
  mkdirSync(folder);
  const dataFolder = join(folder, "pombo/data");
  await mountDisk(dataFolder, DISK_MIB, cleanup);
  await setSystemResolver(folder, RESOLVERS.good);
  const registered = { [SENDER_DOMAIN]: Date.now() - YOUNG_DAYS * DAY_MS };
  const place = { folder, address: PLACES.registry, prefix: servers.network.world, host: REGISTRY_HOST };
  const { caFile } = await startRegistry({ ...place, registered, cleanup });
  const smsc = await startSmsc({ script: { bind: ACCOUNT, receipts: { states: [] } } });
  cleanup.add(() => smsc[Symbol.asyncDispose]());
  const envAt = (ahead: string) => ({ ...atAnotherTime(ahead), NODE_EXTRA_CA_CERTS: caFile });
  const settings = {
    ...mergeSettings({ disk: { min_free: "16MiB" } }),
    sms: linksTo(smsc.port, "errado"),
  };
  let app: PomboApp = await startPombo({ folder, hostname: HOST, settings, cleanup, env: envAt("+0s") });
  const api = await createTextingWorkspace(app, Object.values(SENDERS), CREDITS);
  const { records } = await publishRecords(api, servers.bind);
  const doctor = await openDoctor(folder, app.configFile);
  return {
    ...{ folder, dataFolder, api, doctor, lines, servers, smsc, cleanup },
    first: { ...FIRST_RECORDS, ...records },
    pid: () => app.process.pid,
    pombo: (...words) => run([...findPombo().command, ...words, "--config", app.configFile]),
    async restart(ahead, changes = {}) {
      await app.process.stop();
      const present = Bun.TOML.parse(readFileSync(app.configFile, "utf8")) as TomlTable;
      writeFileSync(app.configFile, toToml({ ...present, ...changes }));
      app = await servePombo(app, cleanup, envAt(ahead));
    },
  };
}

/** To the network, as it gave it, but for the password. */
export function linksTo(port: number, password = ACCOUNT.password): TomlTable {
  const link = { name: "rede", host: "127.0.0.1", port, tls: "none", system_id: ACCOUNT.systemId, password };
  return { routes: [{ name: "rede", prefixes: [PREFIX], links: [{ ...link, rate: 1_000 }] }] };
}
