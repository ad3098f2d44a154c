// The machine and the executable: memory, files that may be open, the recovery key, an executable that was replaced, a certificate.

import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeMemoryGroup } from "../../../support/peers/memory-group.ts";
import { findPombo, type PomboApp, servePombo } from "../../../support/peers/pombo.ts";
import { type Cleanup, mustRun, run } from "../../../support/peers/process.ts";
import type { Doctor, Lines } from "./kit.ts";
import { SELF } from "./network.ts";

const MIB = 1024 ** 2;
const FEW_MIB = 400;

export async function checkMachine(options: {
  app: PomboApp;
  doctor: Doctor;
  lines: Lines;
  cleanup: Cleanup;
}): Promise<PomboApp> {
  const { app, doctor, lines } = options;
  await checkMemory(options);
  await checkDescriptors(options);
  const id = "recovery_key";
  const unseen = lines.expect(await doctor.look(id), { id, level: "warning", what: "nobody has shown it" });
  const command = /^Paste it .* into: (pombo recovery-key check)$/m.exec(unseen?.step ?? "")?.[1];
  const shown = /sudo (cat \S+) shows it/.exec(unseen?.step ?? "")?.[1] ?? "false";
  lines.claim(`${id}: its step is a command`, command !== undefined, () => unseen?.step ?? "");
  const [program] = findPombo().command;
  await mustRun(["sh", "-c", `${shown} | ${program} recovery-key check --config ${app.configFile}`]);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "given, as the step says", isCure: true });
  return await checkExecutable(options);
}

/** In a service of too little memory, and in one of as much as the step gives it. */
async function checkMemory({ doctor, lines, cleanup }: { doctor: Doctor; lines: Lines; cleanup: Cleanup }) {
  const id = "memory";
  const group = makeMemoryGroup(cleanup);
  if ("reason" in group) return lines.notRun(`${id}: this machine lets nobody limit it: ${group.reason}`);
  const { prefix } = group;
  group.setLimit(FEW_MIB * MIB);
  const few = lines.expect(await doctor.lookBefore({}, id, { prefix }), {
    id,
    level: "warning",
    what: `${FEW_MIB} MiB for the service`,
  });
  const wanted = /^MemoryMax=(\d+)M$/m.exec(few?.step ?? "")?.[1];
  lines.claim(`${id}: its step has a limit`, wanted !== undefined, () => few?.step ?? "");
  group.setLimit(Number(wanted ?? FEW_MIB) * MIB);
  const cured = await doctor.lookBefore({}, id, { prefix });
  lines.expect(cured, { id, level: "ok", what: "the limit of the step", isCure: true });
}

async function checkDescriptors({ app, doctor, lines }: { app: PomboApp; doctor: Doctor; lines: Lines }) {
  const id = "descriptors";
  // The soft limit alone: not every machine lets root raise the other.
  const allow = (number: string) => run(["prlimit", "--pid", String(app.process.pid), `--nofile=${number}:`]);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "as many as this machine gives" });
  await allow("1024");
  const few = lines.expect(await doctor.look(id), { id, level: "warning", what: "1,024 may be open" });
  const wanted = /^LimitNOFILE=(\d+)$/m.exec(few?.step ?? "")?.[1] ?? "";
  lines.claim(`${id}: its step has a limit`, wanted !== "", () => few?.step ?? "");
  const { exitCode } = await allow(wanted);
  // Where root may not raise the hard limit, it is as near as the machine lets one come.
  const [, hard = "1024"] = exitCode === 0 ? [] : (await mustRun(LIMITS_OF(app.process.pid))).trim().split(/\s+/);
  if (exitCode !== 0) await allow(hard);
  const what =
    exitCode === 0 ? "as many as the step says" : `as the step says, but no more than this machine's ${hard}`;
  lines.expect(await doctor.look(id), { id, level: "ok", what, isCure: true });
}

const LIMITS_OF = (pid: number) => ["prlimit", "--pid", String(pid), "--nofile", "--noheadings", "-o", "SOFT,HARD"];

/** The instance ends here, and another one begins whose ports others reach: it is returned. */
async function checkExecutable(options: {
  app: PomboApp;
  doctor: Doctor;
  lines: Lines;
  cleanup: Cleanup;
}): Promise<PomboApp> {
  const { app, doctor, lines, cleanup } = options;
  const id = "update";
  const [program = "", ...more] = findPombo().command;
  if (more.length > 0) {
    lines.notRun("update: the sources are no executable");
    return app;
  }
  lines.expect(await doctor.look(id), { id, level: "ok", what: "it runs what lies on the disk" });
  copyFileSync(program, `${program}.new`);
  renameSync(`${program}.new`, program);
  lines.expect(await doctor.look(id), { id, level: "warning", what: "replaced without a restart" });
  await app.process.stop();
  const config = readFileSync(app.configFile, "utf8");
  writeFileSync(app.configFile, `${config}\n[submission]\nlisten = ["${SELF}:587"]\n`);
  const quiet = await doctor.lookBefore({}, "certificate");
  lines.claim("certificate: nothing is said before the start", quiet.findings.length === 0);
  const next = await servePombo(app, cleanup);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "started again, as the step says", isCure: true });
  lines.expect(await doctor.look("certificate"), {
    id: "certificate",
    level: "warning",
    what: "programs from outside meet a self-made one",
  });
  return next;
}

/** An executable of this run's own, which may be replaced. Nothing to do where the sources run. */
export function takeOwnExecutable(folder: string): void {
  const [program = "", ...more] = findPombo().command;
  if (more.length > 0) return;
  const own = join(folder, "pombo-executable");
  copyFileSync(program, own);
  process.env["POMBO_BIN"] = own;
}
