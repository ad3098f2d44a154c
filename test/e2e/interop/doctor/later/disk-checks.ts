// A disk that is slow to sync, and one that fills: what a neighbour writes leaves no room for another week.

import { appendFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Level } from "../../../../../src/modules/doctor/finding.ts";
import { waitUntil } from "../../../../support/peers/process.ts";
import { slowDown } from "../../../../support/peers/slow-disk.ts";
import { resizeDisk } from "../network.ts";
import type { Later } from "./instance.ts";
import { sendMany } from "./mail-checks.ts";

const MIB = 1024 ** 2;
const MIN_COMMITS = 1_000;
const DELAY_MS = 150;
const SLOW_EMAILS = 6;
const SLOW_MS = 60_000;
const LOOK_MS = 10_000;
/** Above [disk] min_free, and below. */
const LITTLE_MIB = 40;
const TOO_LITTLE_MIB = 8;
const MORE_MIB = 4_096;

/** @returns whether this machine let it be slowed down */
export async function breakDisk(later: Later): Promise<boolean> {
  const { doctor, lines, folder, cleanup } = later;
  const id = "disk_speed";
  await reachCommits(later);
  lines.expect(await doctor.look(id), { id, level: "ok", what: `${MIN_COMMITS} transactions on a fast disk` });
  const logFile = join(folder, "strace.log");
  const tracer = await slowDown({ pid: later.pid(), delayMs: DELAY_MS, logFile, cleanup });
  if ("reason" in tracer) {
    lines.notRun(`${id}: nothing may be traced here: ${tracer.reason}`);
    return false;
  }
  let report = await doctor.look(id);
  await waitUntil("a slow disk is noticed", SLOW_MS, async () => {
    await sendMany(later, SLOW_EMAILS);
    report = await doctor.look(id);
    return report.findings.some(({ level }) => level !== "ok");
  });
  const what = `each sync takes ${DELAY_MS} ms`;
  const found = lines.expect(report, { id, level: "warning", what });
  const step = found?.step ?? "";
  lines.claim(`${id}: its step asks for another disk`, /to be changed for a local SSD/.test(step), () => step);
  await tracer.stop();
  return true;
}

/** After a start on a disk that is not slowed down, with as many transactions. */
export async function mendDisk(later: Later): Promise<void> {
  const { doctor, lines } = later;
  const id = "disk_speed";
  await reachCommits(later);
  const report = await doctor.look(id);
  const seen = report.findings[0]?.seen ?? "";
  lines.claim(`${id}: the new disk is judged`, /99 in 100 were on the disk within/.test(seen), () => seen);
  lines.expect(report, { id, level: "ok", what: "a fast disk, as the step says", isCure: true });
}

async function reachCommits(later: Later): Promise<void> {
  const count = async () => {
    const { findings } = await later.doctor.look("disk_speed");
    return Number(/([\d,]+) transactions/.exec(findings[0]?.seen ?? "")?.[1]?.replaceAll(",", "") ?? 0);
  };
  while ((await count()) < MIN_COMMITS) await sendMany(later, 100);
}

/** Two days after the start, of which pombo knows how fast it grows. */
export async function checkDiskSpace(later: Later): Promise<void> {
  const { dataFolder, doctor, lines } = later;
  const id = "disk";
  lines.expect(await doctor.look(id), { id, level: "ok", what: "two days on a disk with room" });
  const neighbour = join(dataFolder, "neighbour");
  const fillTo = (mebibytes: number) => {
    const { bavail, bsize } = statfsSync(dataFolder);
    appendFileSync(neighbour, Buffer.alloc(bavail * bsize - mebibytes * MIB));
  };
  fillTo(LITTLE_MIB);
  await lookUntil(later, "warning");
  lines.expect(await doctor.look(id), { id, level: "warning", what: `a neighbour leaves ${LITTLE_MIB} MiB` });
  fillTo(TOO_LITTLE_MIB);
  await lookUntil(later, "problem");
  const found = lines.expect(await doctor.look(id), { id, level: "problem", what: `${TOO_LITTLE_MIB} MiB are left` });
  const step = found?.step ?? "";
  lines.claim(`${id}: its step asks for more room`, step.startsWith("Give the disk more room"), () => step);
  await resizeDisk(dataFolder, MORE_MIB);
  await lookUntil(later, "ok");
  lines.expect(await doctor.look(id), { id, level: "ok", what: "more room, as the step says", isCure: true });
  rmSync(neighbour);
}

/** pombo looks at its disk each five seconds. */
function lookUntil({ doctor }: Later, level: Level): Promise<void> {
  const isThere = async () => (await doctor.look("disk")).findings[0]?.level === level;
  return waitUntil(`the disk is seen as ${level}`, LOOK_MS, isThere);
}
