// The steps of `pombo update` on an instance, and how they are undone.

import { rmSync } from "node:fs";
import type { Clock } from "../../../platform/clock.ts";
import { copyDatabase } from "../../../platform/db/file/snapshot.ts";
import { endOrphanDaemon } from "../../../backup/litestream/daemon-process.ts";
import { takeLock } from "../../../platform/instance-lock.ts";
import {
  type Journal,
  removeJournal,
  snapshotFile,
  type Stage,
  writeJournal,
} from "../../../platform/update/journal.ts";
import { isUntouched, putBack } from "../../../platform/update/recover.ts";
import { CommandError } from "../../framework/definition.ts";
import { UPDATE_ID } from "../serve.ts";
import { pickEnvironment } from "../../client/child-environment.ts";
import type { HostActions, Running } from "./service.ts";
import {
  type Outputs,
  openOutputs,
  runChild,
  startByHand,
  type Started,
  startUnit,
  stopRunning,
  waitForLock,
  watchStart,
} from "./instance.ts";
import { getErrorMessage } from "../../../platform/errors.ts";

export interface Update {
  /** This executable's file, which is replaced. */
  binary: string;
  /** The new one, beside it. */
  draft: string;
  configFile: string;
  dataDir: string;
  database: string;
  journal: Journal;
  running: Running | null;
  /** The unit to start afterwards; also if an earlier update was interrupted while it was stopped. */
  unit: string | null;
  /** The probe's environment if no instance runs. */
  env: Record<string, string | undefined>;
  host: HostActions;
  clock: Clock;
  say: (text: string) => void;
}

const SECOND = 1_000;
/** Migrations may rewrite the whole database. */
const PROBE_MS = 30 * 60 * SECOND;
/** How long a failed instance may take to release the directory's lock. */
const RELEASE_MS = 10 * SECOND;

/** From the stop to the start. Throws CommandError if the old executable stays, or the instance does not run. */
export async function runUpdate(update: Update): Promise<void> {
  const { binary, dataDir, journal, running, unit, host, clock, say } = update;
  say(`Updating pombo ${journal.from} to ${journal.to}.`);
  enter(update, "stopping");
  const outputs = running !== null && unit === null ? openOutputs(running.pid, say) : null;
  let started: Started | null;
  try {
    await copyAndProbe(update);
    enter(update, "starting");
    await host.replace();
  } catch (error) {
    await undo(update);
    await restartOld(update, outputs);
    throw error;
  }
  if (unit === null && running === null) {
    say(`pombo ${journal.to} is installed at ${binary}. No instance was running, so none was started.`);
    return;
  }
  say(`Starting pombo ${journal.to} …`);
  let failure: string | null = null;
  try {
    started = await startInstance(update, outputs);
    failure = await watchStart(dataDir, started, clock);
  } catch (error) {
    started = null;
    failure = getErrorMessage(error);
  }
  if (failure !== null) return rollBack(update, { started, outputs }, failure);
  removeJournal(dataDir);
  say(
    `pombo ${journal.to} runs. The previous executable is ${binary}.previous. The previous database is ${snapshotFile(dataDir)}; it holds all data of that time, and may be deleted.`,
  );
}

async function copyAndProbe(update: Update): Promise<void> {
  const { running, dataDir, database, host, clock, say, journal } = update;
  if (running !== null) say(`Stopping pombo (${running.unit ?? `process ${running.pid}`}) …`);
  const lock =
    running === null
      ? await waitForLock(dataDir, RELEASE_MS, clock)
      : await stopRunning(running, dataDir, { host, clock });
  if (lock === null)
    throw new CommandError("pombo was started during the update: run the command again. Nothing was changed.");
  try {
    // The replication daemon of a killed pombo lives on with the database open.
    await endOrphanDaemon(dataDir, database, clock);
    say("Copying the database …");
    rmSync(snapshotFile(dataDir), { force: true });
    await copyDatabase(database, snapshotFile(dataDir));
    enter(update, "probing");
  } finally {
    lock.release();
  }
  say(`Trying pombo ${journal.to} …`);
  const fault = await probe(update);
  if (fault !== null)
    throw new CommandError(
      `pombo ${journal.to} cannot run this instance, so ${journal.from} stays, with its database unchanged:\n${fault}`,
    );
}

/** Restores the old state. `held`: the data directory's lock, which it releases. */
async function undo(update: Update, held: Awaited<ReturnType<typeof waitForLock>> = null): Promise<void> {
  const { dataDir, database, journal, host, clock } = update;
  if (journal.stage !== "stopping") {
    const lock = held ?? (await waitForLock(dataDir, RELEASE_MS, clock));
    if (lock === null)
      throw new CommandError(
        `Another process holds the lock of ${dataDir}: stop it, then start pombo. Nothing is lost.`,
      );
    try {
      enter(update, "going-back");
      const endDaemon = () => endOrphanDaemon(dataDir, database, clock);
      await putBack({ dataDir, databaseFile: database, endDaemon });
      await host.putBack();
    } finally {
      lock.release();
    }
  }
  removeJournal(dataDir);
}

async function startInstance(
  { unit, binary, running, host, clock }: Update,
  outputs: Outputs | null,
): Promise<Started> {
  if (unit !== null) return startUnit(unit, host);
  if (running === null || outputs === null) throw new Error("no instance ran before");
  return startByHand(binary, running, outputs, clock);
}

async function restartOld(update: Update, outputs: Outputs | null): Promise<void> {
  if (update.unit === null && update.running === null) return;
  // It may still run if the stop failed.
  const lock = takeLock(update.dataDir, "command");
  if (lock.kind === "held") return;
  lock.release();
  update.say(`Starting pombo ${update.journal.from} again …`);
  await startInstance(update, outputs);
}

/** The new one does not run. Always throws CommandError. */
async function rollBack(update: Update, start: { started: Started | null; outputs: Outputs | null }, failure: string) {
  const { started, outputs } = start;
  const { journal, dataDir, database, clock } = update;
  const stays = () => {
    removeJournal(dataDir);
    return new CommandError(explainNoRollback(update, failure));
  };
  // Before it is stopped: it may work in spite of the failure.
  if (!isUntouched(database, journal.id)) throw stays();
  await started?.stop();
  // Held from this check on, so that a pombo that is started meanwhile accepts nothing.
  const lock = await waitForLock(dataDir, RELEASE_MS, clock);
  if (lock === null || !isUntouched(database, journal.id)) {
    lock?.release();
    if (lock !== null) await startInstance(update, outputs);
    throw stays();
  }
  await undo(update, lock);
  await restartOld(update, outputs);
  throw new CommandError(
    `pombo ${journal.to} did not start (${failure}). It had accepted and sent nothing, so ${journal.from} is back, with its database unchanged.`,
  );
}

function explainNoRollback({ journal, unit, binary }: Update, failure: string): string {
  const start = unit === null ? "start it again as before" : `systemctl start ${unit}`;
  return (
    `pombo ${journal.to} does not run: ${failure}. It has accepted or sent messages already, so it stays: going back would lose accepted ` +
    `messages and send others twice. Nothing is lost; it goes on at its next start (${start}). Look at its log, and install a fixed ` +
    `version with pombo update. Do not put ${binary}.previous back by hand.`
  );
}

/** Null: it can run the instance; else its error output. */
async function probe({ draft, configFile, journal, running, env, clock }: Update): Promise<string | null> {
  const environment = { ...(running?.env ?? pickEnvironment(env)), [UPDATE_ID]: journal.id };
  const args = ["serve", "--probe", "--config", configFile];
  try {
    const { output, failure } = await runChild(draft, args, {
      env: environment,
      read: "stderr",
      limitMs: PROBE_MS,
      clock,
    });
    return failure === null ? null : output.trim() || failure;
  } catch (error) {
    return getErrorMessage(error);
  }
}

function enter(update: Update, stage: Stage): void {
  update.journal.stage = stage;
  writeJournal(update.dataDir, update.journal);
}
