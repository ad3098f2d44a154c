// `pombo standby alone`: shows what a person needs to know to decide that this machine works without the lease, and
// writes that decision down for the next starts.

import { statSync } from "node:fs";
import { removeAloneWish, writeAloneWish } from "../../../backup/standby/alone.ts";
import { readLeaseRecord } from "../../../backup/standby/lease-object.ts";
import { findLocalLineage } from "../../../backup/litestream/lineages.ts";
import { listLocalSteps } from "../../../backup/litestream/replica.ts";
import { openTools } from "../../../backup/litestream/tools.ts";
import type { Config } from "../../../config/config.ts";
import { databaseFile } from "../../../platform/db/open.ts";
import { getErrorMessage } from "../../../platform/errors.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { readConfig } from "../../client/settings.ts";
import { type Command, CommandError } from "../../framework/definition.ts";
import { findState } from "../health.ts";

const ASK_MS = 5_000;
const READ_LIMIT_MS = 10_000;
const RESTART = "sudo systemctl restart pombo";

export const ALONE: Command = {
  name: "standby alone",
  arguments: [],
  options: {
    config: { value: "FILE", about: "the configuration, as for serve" },
    yes: { about: "the other machines are off and stay off: work here without the lease from the next start on" },
    "this-database-is-newest": { about: "with --yes: no other machine has a newer database, so that this one goes on" },
    end: { about: "from the next start on this machine needs the lease again" },
  },
  about:
    "For when the bucket is away longer than mail may wait: shows the database here and what the replica says, for comparison with the other machines. With --yes this machine works without the lease from its next start on; its answers then rest on its own disk. With --end no more.",
  async run(args, terminal) {
    const config = readConfig(args.text("config"), terminal.env);
    becomeOwner(config.dataDir);
    if (config.standby.leaseMs === 0)
      throw new CommandError('This is the only machine: [standby] lease is "0s". It works alone anyway.');
    if (args.isSet("end")) {
      if (!removeAloneWish(config.dataDir)) throw new CommandError("This machine was not told to work alone.");
      return terminal.say(
        `From its next start on it needs the lease again. Restart it, then start the others: ${RESTART}`,
      );
    }
    const isNewest = args.isSet("this-database-is-newest");
    if (isNewest && !args.isSet("yes"))
      throw new CommandError("--this-database-is-newest goes with --yes: nothing was changed.", 2);
    for (const line of await describe(config)) terminal.say(line);
    if (!args.isSet("yes"))
      return terminal.say(
        [
          "",
          "Nothing was changed. Run this on the other machines too: the newest database is the one that was changed last.",
          "When they are off and stay off (sudo systemctl disable --now pombo there), have this one work:",
          "  sudo pombo standby alone --yes                              with the replica's database",
          "  sudo pombo standby alone --yes --this-database-is-newest    with the one here",
        ].join("\n"),
      );
    if ((await findState(config.dataDir, ASK_MS)) === "works")
      throw new CommandError("pombo works on this machine: it has the lease, or works alone already.");
    writeAloneWish(config.dataDir, { isNewest });
    terminal.say(`This machine works alone from its next start on: ${RESTART}`);
  },
};

async function describe(config: Config): Promise<string[]> {
  const { dataDir, replication, standby } = config;
  const file = databaseFile(dataDir);
  const tools = await openTools(replication, { dataDir, database: file });
  const lineage = findLocalLineage(tools.places);
  const step = lineage === null ? undefined : listLocalSteps(tools.places, lineage, "database").at(-1);
  const changedAt = Math.max(...[file, `${file}-wal`].map(findChangeTime));
  const own =
    changedAt === 0
      ? "none"
      : `changed last at ${new Date(changedAt).toISOString()}${step === undefined ? "" : `, transaction ${step} of lineage ${lineage}`}`;
  return [`The database here: ${own}.`, `The lease: ${await describeLease(tools, standby.leaseMs)}.`];
}

async function describeLease(tools: Parameters<typeof readLeaseRecord>[0], leaseMs: number): Promise<string> {
  try {
    const record = await readLeaseRecord(tools, Math.max(READ_LIMIT_MS, leaseMs));
    if (record === null) return "there is none yet";
    return `${record.host} has it (term ${record.term}), and its answers are in lineage ${record.lineage}`;
  } catch (error) {
    return `it cannot be read: ${getErrorMessage(error)}`;
  }
}

/** Unix ms; 0: the file is not there. */
function findChangeTime(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
