// Replication over sftp: OpenSSH's server, as a process of this test with keys of its own. One round: what was
// accepted is in the replica, is restored elsewhere, and a lineage that pombo cannot delete there is named.
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { deletePrefix } from "../../../src/backup/litestream/delete-prefix.ts";
import { openTools } from "../../../src/backup/litestream/tools.ts";
import { defaultConfig } from "../../../src/config/config.ts";
import { freePort, waitForListener, waitUntil } from "../../support/peers/process.ts";
import { runPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { expectAllInReplica, findDaemon, lineagesIn, stopInOrder } from "./replicated.ts";
import { readEmails } from "./stored.ts";
import { createWorld, HOSTNAME } from "./world.ts";

const TOOLS = join(import.meta.dir, "../../../.tools/openssh");
const LIMIT_MS = 30_000;

setDefaultTimeout(240_000);

interface Server {
  command: string[];
  libraries: string;
}

/** The machine's sshd, or that of Debian's packages, unpacked beside the other tools; null: there is none. */
function bringServer(): Server | null {
  if (Bun.which("ssh-keygen") === null) return null;
  const installed = Bun.which("sshd", { PATH: "/usr/sbin:/usr/local/sbin" });
  if (installed !== null) return { command: [installed], libraries: "" };
  const unpacked = join(TOOLS, "usr/sbin/sshd");
  try {
    if (!existsSync(unpacked)) {
      mkdirSync(TOOLS, { recursive: true });
      const script = "apt-get download -q openssh-server libwrap0 && for each in *.deb; do dpkg -x $each .; done";
      Bun.spawnSync(["sh", "-c", script], { cwd: TOOLS, stdout: "ignore", stderr: "ignore", timeout: 120_000 });
    }
    const [library = ""] = [...new Bun.Glob("**/libwrap.so.0").scanSync({ cwd: TOOLS, onlyFiles: false })];
    const libraries = join(TOOLS, library, "..");
    const env = { LD_LIBRARY_PATH: libraries };
    // It prints its version and ends with 1.
    const runs = Bun.spawnSync([unpacked, "-V"], { env, stdout: "ignore", stderr: "pipe" });
    return runs.stderr.toString().includes("OpenSSH") ? { command: [unpacked], libraries } : null;
  } catch {
    return null;
  }
}

const server = bringServer();
if (server === null)
  console.warn("SKIPPED: replication over sftp needs sshd and ssh-keygen (Debian's openssh-server, openssh-client).");
const hasDaemon = await findDaemon();

/** As root it would need a user and a folder of its own for its unprivileged part: it is then run as nobody. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? "nobody" : userInfo().username;

function createKey(file: string): string {
  const made = Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file]);
  expect(made.exitCode).toBe(0);
  return readFileSync(`${file}.pub`, "utf8").trim();
}

async function startServer({ command: [sshd = ""], libraries }: Server) {
  const folder = mkdtempSync("/tmp/pombo-sftp-");
  chmodSync(folder, 0o755);
  const hostKey = createKey(join(folder, "host"));
  writeFileSync(join(folder, "authorized"), createKey(join(folder, "client")));
  const files = join(folder, "files");
  mkdirSync(files);
  if (isRoot) for (const path of [files, join(folder, "host")]) chownSync(path, NOBODY, NOBODY);
  const port = await freePort();
  const settings = [
    ...[`ListenAddress 127.0.0.1:${port}`, `HostKey ${join(folder, "host")}`, "PidFile none"],
    ...[`AuthorizedKeysFile ${join(folder, "authorized")}`, "StrictModes no", "PasswordAuthentication no"],
    ...["Subsystem sftp internal-sftp", "ForceCommand internal-sftp", "UsePAM yes"],
  ];
  writeFileSync(join(folder, "sshd_config"), `${settings.join("\n")}\n`);
  const as = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const child = Bun.spawn([...as, sshd, "-D", "-e", "-f", join(folder, "sshd_config")], {
    env: libraries === "" ? {} : { LD_LIBRARY_PATH: libraries },
    stdout: "ignore",
    stderr: Bun.file(join(folder, "log")),
  });
  await waitForListener(port);
  return {
    url: `sftp://${user}@127.0.0.1:${port}${files}/copies`,
    copies: join(files, "copies"),
    hostKey,
    keyFile: join(folder, "client"),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test.skipIf(server === null || !hasDaemon)(
  "an sftp server has all of it after an ordered stop, and it is restored elsewhere",
  async () => {
    await using sftp = await startServer(server!);
    await using mx = await startCountingMx();
    const replication = { url: sftp.url, sftp_key_file: sftp.keyFile, sftp_host_key: sftp.hostKey };
    await using world = await createWorld({ mxPort: mx.port, settings: { replication } });
    {
      await using process = await world.serve();
      const load = startLoad({
        key: world.key,
        customers: 2,
        url: () => Promise.resolve(process.url),
        delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
      });
      await within(
        LIMIT_MS,
        "answers",
        load.until(() => load.accepted.size > 50),
      );
      await waitUntil("the daemon copies", LIMIT_MS, () => lineagesIn(sftp.copies).length === 1);
      await load.stop();
      await stopInOrder(process);
      expect(process.stdout()).toContain('"isComplete":true');
      expectAllInReplica(world, load);
    }
    {
      // It knows its own again.
      await using again = await world.serve();
      await stopInOrder(again);
    }
    expect(lineagesIn(sftp.copies)).toHaveLength(1);
    const folder = join(world.folder, "elsewhere");
    const place = ["--config", join(folder, "pombo.toml"), "--data-dir", join(folder, "data"), "--hostname", HOSTNAME];
    const from = ["--from", sftp.url, "--sftp-key-file", sftp.keyFile, "--sftp-host-key", sftp.hostKey];
    const restored = await runPombo([
      ...["restore", ...from, "--key-file", join(world.dataDir, "instance.key")],
      ...place,
    ]);
    expect({ code: restored.code, err: restored.stderr }).toEqual({
      code: 0,
      err: expect.stringMatching(/^Restoring/m),
    });
    expect([...readEmails(join(folder, "data")).keys()]).toEqual([...readEmails(world.dataDir).keys()]);
    // Neither Litestream nor pombo deletes over sftp: the operator removes the folder that the log names.
    const defaults = defaultConfig({ hostname: HOSTNAME, dataDir: world.dataDir });
    const dataDir = join(world.folder, "deleting");
    mkdirSync(dataDir);
    const config = { ...defaults.replication, url: sftp.url, sftpKeyFile: sftp.keyFile, sftpHostKey: sftp.hostKey };
    const tools = await openTools(config, { dataDir, database: join(dataDir, "pombo.db") });
    const [lineage = ""] = lineagesIn(sftp.copies);
    expect(await deletePrefix(tools, lineage, LIMIT_MS)).toBe(false);
    expect(lineagesIn(sftp.copies)).toEqual([lineage]);
  },
);
