// `pombo standby alone`: shows what a person needs to know to decide that this machine works without the lease, and
// writes that decision down for the next starts.

import { statSync } from "node:fs";
import { removeAloneWish, writeAloneWish } from "../../../backup/standby/alone.ts";
import { systemClock } from "../../../platform/clock.ts";
import { readLeaseRecord } from "../../../backup/standby/lease-object.ts";
import { findLocalLineage } from "../../../backup/litestream/lineages.ts";
import { listLocalSteps } from "../../../backup/litestream/replica.ts";
import { readNodeState } from "../../../backup/standby/node-file.ts";
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
    "this-database-is-newest": {
      about: "with --yes: no other machine has worked since, so that the database here goes on",
    },
    end: { about: "take that back: from the next start on this machine needs the lease again" },
  },
  about:
    "For when the bucket is away longer than mail may wait: shows the database here and what the replica says, for comparison with the other machines. With --yes this machine works without the lease from its next start on; its answers then rest on its own disk. --end takes that back.",
  async run(args, terminal) {
    const config = readConfig(args.text("config"), terminal.env);
    becomeOwner(config.dataDir);
    if (config.standby.leaseMs === 0)
      throw new CommandError('This is the only machine: [standby] lease is "0s". It works alone anyway.');
    if (args.isSet("end")) {
      if (!removeAloneWish(config.dataDir)) throw new CommandError("This machine was not told to work alone.");
      return terminal.say(
        `From its next start on this machine needs the lease again. Here: ${RESTART}. When it works, on the others: sudo systemctl enable --now pombo`,
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
          "Nothing was changed. Run this on the other machines too: one that worked alone, otherwise the one with the highest term, worked last and has the newest database.",
          "When they are off and stay off (sudo systemctl disable --now pombo there), have this one work:",
          "  sudo pombo standby alone --yes                              with the newest database, this one or the replica's; that must be readable",
          "  sudo pombo standby alone --yes --this-database-is-newest    with this one",
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
  const { term = null, alone = null } = readNodeState(dataDir) ?? {};
  const worked =
    alone !== null
      ? "this machine worked alone, without the lease, and has what it accepted then"
      : term === null
        ? "this machine has never worked"
        : `this machine worked last in term ${term}`;
  const own =
    changedAt === 0
      ? "none"
      : `${worked}; changed last at ${new Date(changedAt).toISOString()}${step === undefined ? "" : `, transaction ${step} of lineage ${lineage}`}`;
  return [`The database here: ${own}.`, `The lease: ${await describeLease(tools, standby.leaseMs)}.`];
}

async function describeLease(tools: Parameters<typeof readLeaseRecord>[0], leaseMs: number): Promise<string> {
  try {
    const record = await readLeaseRecord(tools, Math.max(READ_LIMIT_MS, leaseMs), systemClock);
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
