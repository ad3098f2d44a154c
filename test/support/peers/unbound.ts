// A private unbound, the resolver that people install: it validates, and keeps nothing, so that each change is seen.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { startProcess, waitUntil, type Cleanup, type Running } from "./process.ts";

export const UNBOUND: Tool = { program: "unbound", package: "unbound" };
const START_MS = 10_000;

export async function startUnbound(options: {
  folder: string;
  address: string;
  rootServer: string;
  anchorFile: string;
  /** Lines of its `server:` clause beyond the usual ones. */
  more?: string[];
  cleanup: Cleanup;
}): Promise<Running> {
  const { folder, address, rootServer, anchorFile, more = [], cleanup } = options;
  const name = join(folder, `unbound-${address}`);
  writeFileSync(`${name}.hints`, `. 0 NS bind.example.com.\nbind.example.com. 0 A ${rootServer}\n`);
  writeFileSync(
    `${name}.conf`,
    `server:
  interface: ${address}
  do-daemonize: no
  use-syslog: no
  chroot: ""
  username: ""
  pidfile: ""
  directory: "${folder}"
  do-ip6: no
  root-hints: "${name}.hints"
  trust-anchor-file: "${anchorFile}"
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  infra-host-ttl: 0
  unblock-lan-zones: yes
  insecure-lan-zones: yes
${["2.0.192", "100.51.198", "113.0.203"].map((net) => `  local-zone: "${net}.in-addr.arpa." nodefault\n`).join("")}${more.map((line) => `  ${line}\n`).join("")}remote-control:
  control-enable: no
`,
  );
  const server = startProcess({
    command: [pathOf("unbound"), "-d", "-p", "-c", `${name}.conf`],
    logFile: `${name}.log`,
  });
  cleanup.add(() => server.stop());
  await waitUntil(`unbound at ${address}`, START_MS, () => {
    if (!server.isAlive()) throw new Error(`unbound ended:\n${server.output()}`);
    return server.output().includes("start of service");
  });
  return server;
}
