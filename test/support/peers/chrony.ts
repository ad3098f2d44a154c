// A private chronyd that only tells the time and never sets the clock. Debian's package would throw out the program that
// keeps this machine's clock, so that it is unpacked in place of being installed.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bring } from "./bring.ts";
import { isMissing, pathOf, type Tool } from "./packages.ts";
import { mustRun, startProcess, type Cleanup, type Running } from "./process.ts";

/** Shows a program another time. */
export const FAKETIME: Tool = { program: "faketime", package: "faketime" };

/** Its path; a sentence where it cannot be had: `reason`. */
export async function findChrony(tools: string): Promise<{ program: string } | { reason: string }> {
  if (!isMissing({ program: "chronyd", package: "chrony" })) return { program: pathOf("chronyd") };
  try {
    const install = async (folder: string) => {
      await mustRun(["sh", "-c", `cd '${folder}' && apt-get download -q chrony`]);
      const [file] = readdirSync(folder).filter((name) => name.endsWith(".deb"));
      await mustRun(["dpkg-deb", "-x", join(folder, file ?? ""), folder]);
    };
    const folder = await bring({ root: tools, name: "chrony", version: "1", install });
    const program = join(folder, "usr/sbin/chronyd");
    await mustRun([program, "--version"]);
    return { program };
  } catch (error) {
    return { reason: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}

/** `ahead`: by how much its time is wrong, as faketime has it: `+1h`. */
export function startChrony(options: {
  program: string;
  folder: string;
  address: string;
  prefix: readonly string[];
  ahead?: string;
  cleanup: Cleanup;
}): Running {
  const { program, address, prefix, ahead, cleanup } = options;
  const folder = join(options.folder, `chrony-${address}`);
  mkdirSync(folder);
  const config = join(folder, "chrony.conf");
  const lines = ["local stratum 3", "allow all", `bindaddress ${address}`, "cmdport 0", "bindcmdaddress /"];
  writeFileSync(config, [...lines, `pidfile ${folder}/pid`, `driftfile ${folder}/drift`, ""].join("\n"));
  const command = [...prefix, program, "-d", "-x", "-u", "root", "-F", "0", "-f", config];
  const env = ahead === undefined ? {} : atAnotherTime(ahead);
  const server = startProcess({ command, logFile: join(folder, "log"), env });
  cleanup.add(() => server.stop());
  return server;
}

/**
 * The environment of a program that sees another time, `+1h` or `-8d`. The library itself: the program of faketime stays
 * between us and the server, and does not pass on that it is to end. Spans of time are as long as they are.
 */
export function atAnotherTime(ahead: string): Record<string, string> {
  const shown = Bun.spawnSync([pathOf("faketime"), "-m", "-f", "+0s", "sh", "-c", 'printf %s "$LD_PRELOAD"']);
  return { FAKETIME: ahead, LD_PRELOAD: shown.stdout.toString(), FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}
