// moto, which stands in for an S3 service.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort, waitUntil } from "./process.ts";

const MOTO = "5.2.5";
/** Its S3 takes a write whose condition does not hold. */
export const CARELESS_MOTO = "4.2.14";
const TOOLS = join(import.meta.dir, "../../../.tools");
const LIMIT_MS = 60_000;

/** The command of moto's server, brought when it is missing; null: it cannot be. */
export function bringMoto(version = MOTO): string | null {
  const folder = join(TOOLS, version === MOTO ? "moto" : `moto-${version}`);
  const command = join(folder, "bin/moto_server");
  if (existsSync(command)) return command;
  mkdirSync(TOOLS, { recursive: true });
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `moto[server]==${version}`];
  const pip = [join(folder, "bin/python"), ...install];
  try {
    for (const words of [["python3", "-m", "venv", folder], pip])
      if (Bun.spawnSync(words, { stdout: "ignore", stderr: "ignore" }).exitCode !== 0) return null;
  } catch {
    return null;
  }
  return existsSync(command) ? command : null;
}

/** Where a service runs: here, or on a machine that these words lead to. */
export interface Place {
  prefix: readonly string[];
  address: string;
}

export const HERE: Place = { prefix: [], address: "127.0.0.1" };

/** With an empty bucket "copies". */
export async function startMoto(command: string, { prefix, address }: Place = HERE) {
  const port = await freePort();
  const words = [...prefix, command, "-H", prefix.length > 0 ? "0.0.0.0" : address, "-p", String(port)];
  const child = Bun.spawn(words, { stdout: "ignore", stderr: "ignore" });
  const url = `http://${address}:${port}`;
  await waitUntil("moto answers", LIMIT_MS, () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  const made = await fetch(`${url}/copies`, { method: "PUT" });
  if (made.status !== 200) throw new Error(`moto made no bucket: ${made.status}`);
  return {
    url,
    signal: (name: "SIGSTOP" | "SIGCONT") => child.kill(name),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
