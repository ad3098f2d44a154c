import { existsSync, mkdirSync } from "node:fs";
import type { Config } from "../../../config/config.ts";
import { findDashboard } from "../../../config/dashboard-place.ts";
import { openLinkStore } from "../../../modules/accounts/link-store.ts";
import { insertLink, showLink } from "../../../modules/accounts/links.ts";
import type { DashboardLink } from "../../../modules/accounts/operator-schema.ts";
import { lockHeld, takeLock } from "../../../platform/instance-lock.ts";
import { databaseFile, openDatabase } from "../../../platform/db/open.ts";
import { getErrorMessage, StartError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/uuid.ts";
import { createKey } from "../../../modules/api-keys/key.ts";
import { writeInstanceKey } from "../../../platform/keyring/key-file.ts";
import { createInstanceKey, openKeyring, parseInstanceKey } from "../../../platform/keyring/keyring.ts";
import type { Random } from "../../../platform/random.ts";
import { openInstanceSettings } from "../../../platform/db/instance-settings.ts";

/** The keys, shown once and stored nowhere in the clear. */
export interface NewInstance {
  operatorKey: string;
  /** The instance key in the form that people keep. */
  recoveryKey: string;
  /** The link for the first operator of the dashboard; null: that is turned off, or its port is not known yet. */
  link: typeof DashboardLink.static | null;
}

export interface SetUpDeps {
  random: Random;
  now: number;
  /** An instance key from the environment, instead of a new one in a file. */
  givenKey: string | undefined;
}

/** Creates the data directory of a new instance: instance key, database, operator key. Never changes an existing one. */
export function setUpInstance(config: Config, deps: SetUpDeps): NewInstance {
  makeDirectory(config.dataDir, "--data-dir");
  const lock = takeLock(config.dataDir);
  if (lock.kind === "held") throw new StartError(lockHeld(config.dataDir, lock.pid));
  try {
    return setUpLocked(config, deps);
  } finally {
    lock.release();
  }
}

function setUpLocked(config: Config, { random, now, givenKey }: SetUpDeps): NewInstance {
  const file = databaseFile(config.dataDir);
  if (existsSync(file)) {
    throw new StartError(
      `${config.dataDir} already holds an instance. Start it with pombo serve, or choose another data_dir.`,
    );
  }
  // The key first: a database whose key was not saved could not be opened again.
  const recoveryKey = givenKey ?? createInstanceKey(random);
  const parsed = parseInstanceKey(recoveryKey);
  if (parsed.kind === "fault")
    throw new StartError(`POMBO_INSTANCE_KEY holds no usable instance key. ${parsed.message}`);
  if (givenKey === undefined) writeInstanceKey(config.secrets.instanceKeyFile, recoveryKey);

  const operator = createKey(random);
  const db = openDatabase(file);
  let link: NewInstance["link"] = null;
  try {
    const settings = openInstanceSettings(db);
    const links = openLinkStore(db);
    db.sqlite.transaction(() => {
      settings.set("instance_id", newId(now, random));
      settings.set("key_check", openKeyring(parsed.key, random).checkValue());
      settings.set("operator_key_hash", operator.hash);
      const place = findDashboard(config);
      if (!config.dashboard.enabled || place === null) return;
      const created = insertLink({ kind: "setup", userId: null }, { links, random, clock: { now: () => now } });
      link = showLink(created, place);
    })();
  } finally {
    db.close();
  }
  return { operatorKey: operator.key, recoveryKey, link };
}

/** `option`: names another directory. Throws StartError. */
export function makeDirectory(directory: string, option: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      `The data directory ${directory} cannot be created (${getErrorMessage(error)}). Choose another with ${option}, or create it as root and give it to this user.`,
    );
  }
}
