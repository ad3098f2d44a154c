// Schemathesis in a Python environment of its own under .tools/, made when it is first needed or its
// versions change; nothing of the machine's own Python is touched.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../support/peers/process.ts";

const FOLDER = join(import.meta.dir, "../../.tools/contract");
const REQUIREMENTS = join(import.meta.dir, "requirements.txt");

export interface Schemathesis {
  command: string[];
  env: Record<string, string>;
}

/** How to call it, or a sentence on why this machine cannot. */
export async function ensureSchemathesis(): Promise<Schemathesis | string> {
  const wanted = readFileSync(REQUIREMENTS, "utf8");
  const stamp = join(FOLDER, "installed.txt");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) {
    const found = await working();
    if (found !== null) return found;
  }
  const python = Bun.which("python3");
  if (python === null) return "python3 is not on this machine (Debian: apt-get install python3 python3-venv)";
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  console.error("Bringing Schemathesis into .tools/contract …");
  const trouble = await install(python);
  if (trouble !== null) return trouble;
  const installed = await working();
  if (installed === null) return "Schemathesis was installed into .tools/contract and does not run";
  writeFileSync(stamp, wanted);
  return installed;
}

/** Null, or why it could not be installed. */
async function install(python: string): Promise<string | null> {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS];
  const venv = await run([python, "-m", "venv", join(FOLDER, "venv")]);
  if (venv.exitCode === 0) {
    const finished = await run([join(FOLDER, "venv/bin/python"), ...pip]);
    return finished.exitCode === 0 ? null : `pip could not install Schemathesis:\n${finished.output.slice(-2000)}`;
  }
  // Debian splits the module off into a package of its own; pip alone can do without.
  rmSync(join(FOLDER, "venv"), { recursive: true, force: true });
  const finished = await run([python, ...pip, "--target", join(FOLDER, "packages")]);
  if (finished.exitCode === 0) return null;
  return `neither python3 -m venv nor pip can install Schemathesis (Debian: apt-get install python3-venv):\n${venv.output.slice(-500)}${finished.output.slice(-1500)}`;
}

async function working(): Promise<Schemathesis | null> {
  const python = join(FOLDER, "venv/bin/python");
  const [program, env] = existsSync(python)
    ? [python, {}]
    : [Bun.which("python3") ?? "python3", { PYTHONPATH: join(FOLDER, "packages") }];
  const command = [program, "-m", "schemathesis.cli"];
  const asked = await run([...command, "--version"], env).catch(() => null);
  return asked?.exitCode === 0 ? { command, env } : null;
}
