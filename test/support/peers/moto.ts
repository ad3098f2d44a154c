// moto, which stands in for an S3 service.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort, waitUntil } from "./process.ts";

const MOTO = "moto[server]==5.2.5";
const TOOLS = join(import.meta.dir, "../../../.tools");
const LIMIT_MS = 60_000;

/** The command of moto's server, brought when it is missing; null: it cannot be. */
export function bringMoto(): string | null {
  const command = join(TOOLS, "moto/bin/moto_server");
  if (existsSync(command)) return command;
  mkdirSync(TOOLS, { recursive: true });
  const pip = [join(TOOLS, "moto/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", MOTO];
  try {
    for (const words of [["python3", "-m", "venv", join(TOOLS, "moto")], pip])
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
