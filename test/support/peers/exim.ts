// A private Exim that only greets: in its answer to EHLO it tells a client the address that it sees. Its package would
// throw out the Postfix of this machine, so that it is unpacked in place of being installed.

import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getErrorMessage } from "../../../src/platform/errors.ts";
import { bring } from "./bring.ts";
import { mustRun, startProcess, waitUntil, type Cleanup } from "./process.ts";

const START_MS = 10_000;
/** Without this user it does not even say its version. */
const OWNER = "Debian-exim";

/** Its path; a sentence where it cannot be had: `reason`. */
export async function findExim(tools: string): Promise<{ program: string } | { reason: string }> {
  try {
    const install = async (folder: string) => {
      await mustRun(["sh", "-c", `cd '${folder}' && apt-get download -q exim4-daemon-light`]);
      const [file] = readdirSync(folder).filter((name) => name.endsWith(".deb"));
      await mustRun(["dpkg-deb", "-x", join(folder, file ?? ""), folder]);
    };
    const folder = await bring({ root: tools, name: "exim", version: "1", install });
    const program = join(folder, "usr/sbin/exim4");
    await mustRun(["ldd", program]);
    return { program };
  } catch (error) {
    return { reason: getErrorMessage(error).split("\n")[0] ?? "" };
  }
}

/** `prefix`: runs it elsewhere, such as in another network namespace. */
export async function startExim(options: {
  program: string;
  folder: string;
  address: string;
  hostname: string;
  prefix: readonly string[];
  cleanup: Cleanup;
}): Promise<void> {
  const { program, address, hostname, prefix, cleanup } = options;
  const folder = join(options.folder, "exim");
  mkdirSync(folder);
  // Its log is that user's.
  chmodSync(folder, 0o777);
  const config = join(folder, "exim.conf");
  const lines = [
    `primary_hostname = ${hostname}`,
    `local_interfaces = ${address}`,
    `spool_directory = ${folder}`,
    `log_file_path = ${folder}/%s.log`,
    `pid_file_path = ${folder}/pid`,
    "tls_advertise_hosts =",
    "rfc1413_query_timeout = 0s",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  // Only it sees the user and the group that its package would have made.
  const [users, groups] = [join(folder, "passwd"), join(folder, "group")];
  writeFileSync(
    users,
    `${readFileSync("/etc/passwd", "utf8")}${OWNER}:x:64999:64999::/nonexistent:/usr/sbin/nologin\n`,
  );
  writeFileSync(groups, `${readFileSync("/etc/group", "utf8")}${OWNER}:x:64999:\n`);
  const mounts = `mount --bind ${users} /etc/passwd && mount --bind ${groups} /etc/group`;
  const script = `${mounts} && exec ${program} -bdf -C ${config}`;
  const server = startProcess({
    command: [...prefix, "unshare", "-m", "sh", "-c", script],
    logFile: join(folder, "output"),
  });
  cleanup.add(() => server.stop());
  await waitUntil("Exim", START_MS, () => {
    if (!server.isAlive()) throw new Error(`Exim ended:\n${server.output()}`);
    return readdirSync(folder).includes("pid");
  });
}
