// A private rbldnsd, which most DNS blocklists run on.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { startProcess, waitUntil, type Cleanup } from "./process.ts";

export const RBLDNSD: Tool = { program: "rbldnsd", package: "rbldnsd" };
const START_MS = 10_000;

export interface List {
  /** Of its data: addresses, or names. */
  kind: "ip4trie" | "dnset";
  /** What an entry is answered with. */
  code: string;
  entries: string[];
}

export interface Rbldnsd {
  /** Puts another list in the place of this one. */
  set(zone: string, list: List): void;
}

export async function startRbldnsd(options: {
  folder: string;
  address: string;
  prefix: readonly string[];
  lists: Record<string, List>;
  cleanup: Cleanup;
}): Promise<Rbldnsd> {
  const { address, prefix, lists, cleanup } = options;
  const folder = join(options.folder, "rbldnsd");
  mkdirSync(folder);
  const write = (zone: string, { code, entries }: List): void => {
    const soa = "$SOA 0 lists.example.com. hostmaster.example.com. 0 600 300 86400 0";
    writeFileSync(join(folder, zone), [soa, `:${code}:listed`, ...entries, ""].join("\n"));
  };
  for (const [zone, list] of Object.entries(lists)) write(zone, list);
  const zones = Object.entries(lists).map(([zone, { kind }]) => `${zone}:${kind}:${zone}`);
  // -c: how often it looks for changes, in seconds.
  const flags = ["-n", "-b", `${address}/53`, "-r", folder, "-c", "1", "-t", "1"];
  const server = startProcess({
    command: [...prefix, pathOf("rbldnsd"), ...flags, ...zones],
    logFile: join(folder, "log"),
  });
  cleanup.add(() => server.stop());
  await waitUntil("rbldnsd", START_MS, () => {
    if (!server.isAlive()) throw new Error(`rbldnsd ended:\n${server.output()}`);
    return /started/.test(server.output());
  });
  return {
    set(zone, list) {
      write(zone, list);
      process.kill(server.pid, "SIGHUP");
    },
  };
}
