import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Clock } from "../../../platform/clock.ts";
import { copyDatabase } from "../../../platform/db/snapshot.ts";
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
import { CommandError } from "../../framework/failure.ts";
import { UPDATE_ID } from "../serve.ts";
import { passedOn } from "../../client/child-environment.ts";
import type { Hands, Running } from "./service.ts";
import {
  type Outputs,
  outputsOf,
  startByHand,
  type Started,
  startUnit,
  stopRunning,
  waitForLock,
  watchStart,
} from "./instance.ts";

// The steps of `pombo update` on an instance, and their way back.

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
  /** To be started afterwards; also where an earlier update was cut off with it stopped. */
  unit: string | null;
  /** Of the probe, where nothing runs whose it could be. */
  env: Record<string, string | undefined>;
  hands: Hands;
  clock: Clock;
  say: (text: string) => void;
}

const SECOND = 1_000;
/** Of migrations: they may rewrite the whole database. */
const PROBE_MS = 30 * 60 * SECOND;
/** One that did not get ready is given so long to let go of the directory. */
const LET_GO_MS = 10 * SECOND;
const SAID_MAX = 2_000;

/** All of it, from the stop to the start. Throws CommandError when it ends with the old executable, or not well. */
export async function runUpdate(update: Update): Promise<void> {
  const { binary, dataDir, journal, running, unit, hands, clock, say } = update;
  say(`From pombo ${journal.from} to ${journal.to}.`);
  enter(update, "stopping");
  const outputs = running !== null && unit === null ? outputsOf(running.pid, say) : null;
  let started: Started | null;
  try {
    await copyAndProbe(update);
    enter(update, "starting");
    await hands.replace();
  } catch (error) {
    await undo(update);
    await restartOld(update, outputs);
    throw error;
  }
  if (unit === null && running === null) {
    say(`pombo ${journal.to} is in its place: ${binary}. It did not run before, so it was not started.`);
    return;
  }
  say(`Starting pombo ${journal.to} …`);
  let trouble: string | null = null;
  try {
    started = await startIt(update, outputs);
    trouble = await watchStart(dataDir, started, clock);
  } catch (error) {
    started = null;
    trouble = error instanceof Error ? error.message : String(error);
  }
  if (trouble !== null) return goBack(update, { started, outputs }, trouble);
  removeJournal(dataDir);
  say(
    `pombo ${journal.to} runs. The executable of before is ${binary}.previous, the database of before ${snapshotFile(dataDir)}, which holds what that held and may be deleted.`,
  );
}

async function copyAndProbe(update: Update): Promise<void> {
  const { running, dataDir, database, hands, clock, say, journal } = update;
  if (running !== null) say(`Stopping pombo (${running.unit ?? `process ${running.pid}`}) …`);
  const lock =
    running === null
      ? await waitForLock(dataDir, LET_GO_MS, clock)
      : await stopRunning(running, dataDir, { hands, clock });
  if (lock === null) throw new CommandError("pombo was started in the middle: run this again. Nothing was changed.");
  try {
    // Of a pombo that was killed the daemon lives on, and has the database open.
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
      `pombo ${journal.to} cannot run this instance, so ${journal.from} stays, with the database as it was:\n${fault}`,
    );
}

/** Everything is as it was. `held`: the data directory's lock, which it lets go of. */
async function undo(update: Update, held: Awaited<ReturnType<typeof waitForLock>> = null): Promise<void> {
  const { dataDir, database, journal, hands, clock } = update;
  if (journal.stage !== "stopping") {
    const lock = held ?? (await waitForLock(dataDir, LET_GO_MS, clock));
    if (lock === null) throw new CommandError(`Something holds ${dataDir}: end it, then start pombo. Nothing is lost.`);
    try {
      enter(update, "going-back");
      const endDaemon = () => endOrphanDaemon(dataDir, database, clock);
      await putBack({ dataDir, databaseFile: database, endDaemon });
      await hands.putBack();
    } finally {
      lock.release();
    }
  }
  removeJournal(dataDir);
}

async function startIt({ unit, binary, running, hands, clock }: Update, outputs: Outputs | null): Promise<Started> {
  if (unit !== null) return startUnit(unit, hands);
  if (running === null || outputs === null) throw new Error("what did not run is not to be started");
  return startByHand(binary, running, outputs, clock);
}

async function restartOld(update: Update, outputs: Outputs | null): Promise<void> {
  if (update.unit === null && update.running === null) return;
  // It may run still: the one step that fails with it running is the stop.
  const lock = takeLock(update.dataDir, "command");
  if (lock.kind === "held") return;
  lock.release();
  update.say(`Starting pombo ${update.journal.from} again …`);
  await startIt(update, outputs);
}

/** The new one is not well. Throws CommandError in each case. */
async function goBack(update: Update, start: { started: Started | null; outputs: Outputs | null }, trouble: string) {
  const { started, outputs } = start;
  const { journal, dataDir, database, clock } = update;
  const stays = () => {
    removeJournal(dataDir);
    return new CommandError(staysWords(update, trouble));
  };
  // Asked before it is stopped: it may be at work, for all its trouble.
  if (!isUntouched(database, journal.id)) throw stays();
  await started?.stop();
  // Held from the last look on: whatever starts pombo meanwhile must not accept anything.
  const lock = await waitForLock(dataDir, LET_GO_MS, clock);
  if (lock === null || !isUntouched(database, journal.id)) {
    lock?.release();
    if (lock !== null) await startIt(update, outputs);
    throw stays();
  }
  await undo(update, lock);
  await restartOld(update, outputs);
  throw new CommandError(
    `pombo ${journal.to} did not get ready (${trouble}). It had accepted and sent nothing, so ${journal.from} is back, with the database as it was.`,
  );
}

function staysWords({ journal, unit, binary }: Update, trouble: string): string {
  const start = unit === null ? "start it again as before" : `systemctl start ${unit}`;
  return (
    `pombo ${journal.to} is not well: ${trouble}. It has accepted or sent something already, so it stays: to go back would lose what was ` +
    `accepted and send again what was sent. Nothing is lost; it goes on at its next start (${start}). Look at its log; a version ` +
    `that mends it is installed by pombo update. Do not put ${binary}.previous back by hand.`
  );
}

/** Null: it can. Else what it said. */
function probe({ draft, configFile, journal, running, env, clock }: Update): Promise<string | null> {
  const child = spawn(draft, ["serve", "--probe", "--config", configFile], {
    env: { ...(running?.env ?? passedOn(env)), [UPDATE_ID]: journal.id },
    // A session of its own: who can change the owner's processes must not reach the screen of root by this one.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-SAID_MAX)));
  return new Promise((resolve) => {
    const cancel = clock.after(PROBE_MS, () => child.kill("SIGKILL"));
    const end = (fault: string | null) => {
      cancel();
      resolve(fault);
    };
    child.on("error", (error) => end(error.message));
    child.on("close", (code, by) => end(code === 0 ? null : said.trim() || `it ended with ${by ?? code}`));
  });
}

function enter(update: Update, stage: Stage): void {
  update.journal.stage = stage;
  writeJournal(update.dataDir, update.journal);
}
