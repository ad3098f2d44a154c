// The machine and the executable: files that may be open, the recovery key, an executable that was replaced, a certificate.

import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findPombo, type PomboApp, servePombo } from "../../../support/peers/pombo.ts";
import { type Cleanup, mustRun, run } from "../../../support/peers/process.ts";
import type { Doctor, Lines } from "./kit.ts";
import { SELF } from "./network.ts";

export async function checkMachine(options: {
  app: PomboApp;
  doctor: Doctor;
  lines: Lines;
  cleanup: Cleanup;
}): Promise<void> {
  const { app, doctor, lines } = options;
  await checkDescriptors(options);
  const id = "recovery_key";
  const unseen = lines.expect(await doctor.look(id), { id, level: "warning", what: "nobody has shown it" });
  const command = /^Paste it .* into: (pombo recovery-key check)$/m.exec(unseen?.step ?? "")?.[1];
  const shown = /sudo (cat \S+) shows it/.exec(unseen?.step ?? "")?.[1] ?? "false";
  lines.claim(`${id}: its step is a command`, command !== undefined, () => unseen?.step ?? "");
  const [program] = findPombo().command;
  await mustRun(["sh", "-c", `${shown} | ${program} recovery-key check --config ${app.configFile}`]);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "given, as the step says", isCure: true });
  await checkExecutable(options);
}

async function checkDescriptors({ app, doctor, lines }: { app: PomboApp; doctor: Doctor; lines: Lines }) {
  const id = "descriptors";
  // The soft limit alone: not every machine lets root raise the other.
  const allow = (number: string) => run(["prlimit", "--pid", String(app.process.pid), `--nofile=${number}:`]);
  await allow("1024");
  const few = lines.expect(await doctor.look(id), { id, level: "warning", what: "1,024 may be open" });
  const wanted = /^LimitNOFILE=(\d+)$/m.exec(few?.step ?? "")?.[1];
  const { exitCode, output } = await allow(wanted ?? "1024");
  if (exitCode !== 0) return lines.notRun(`${id}: this machine allows no ${wanted} files: ${output}`);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "as many as the step says", isCure: true });
}

/** The instance ends here, and another one begins whose ports others reach. */
async function checkExecutable(options: { app: PomboApp; doctor: Doctor; lines: Lines; cleanup: Cleanup }) {
  const { app, doctor, lines, cleanup } = options;
  const id = "update";
  const [program = "", ...more] = findPombo().command;
  if (more.length > 0) return lines.notRun("update: the sources are no executable");
  lines.expect(await doctor.look(id), { id, level: "ok", what: "it runs what lies on the disk" });
  copyFileSync(program, `${program}.new`);
  renameSync(`${program}.new`, program);
  lines.expect(await doctor.look(id), { id, level: "warning", what: "replaced without a restart" });
  await app.process.stop();
  const config = readFileSync(app.configFile, "utf8");
  writeFileSync(app.configFile, `${config}\n[submission]\nlisten = ["${SELF}:587"]\n`);
  const quiet = await doctor.lookBefore({}, "certificate");
  lines.claim("certificate: nothing is said before the start", quiet.findings.length === 0);
  await servePombo(app, cleanup);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "started again, as the step says", isCure: true });
  lines.expect(await doctor.look("certificate"), {
    id: "certificate",
    level: "warning",
    what: "programs from outside meet a self-made one",
  });
}

/** An executable of this run's own, which may be replaced. Nothing to do where the sources run. */
export function takeOwnExecutable(folder: string): void {
  const [program = "", ...more] = findPombo().command;
  if (more.length > 0) return;
  const own = join(folder, "pombo-executable");
  copyFileSync(program, own);
  process.env["POMBO_BIN"] = own;
}
