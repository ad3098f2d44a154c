// `pombo update` by root, of an instance whose user has been taken over and who has prepared the data directory and the
// process that runs: nothing of it is run, opened or followed by root.
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { NEXT_VERSION } from "./next-build.ts";
import { createUpdateWorld, LIMIT_MS, makeBuilds } from "./update-world.ts";

setDefaultTimeout(120_000);

const NOBODY = 65_534;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];

/** A library that writes down that it was loaded by root; null: there is no compiler here. */
function spyLibrary(folder: string, evidence: string): string | null {
  const [source, library] = [join(folder, "spy.c"), join(folder, "spy.so")];
  writeFileSync(
    source,
    `#include <fcntl.h>\n#include <unistd.h>
    __attribute__((constructor)) static void spy(void) { if (geteuid() == 0) close(open("${evidence}", O_CREAT, 0600)); }`,
  );
  if (Bun.which("cc") === null) return null;
  return Bun.spawnSync(["cc", "-shared", "-fPIC", "-o", library, source]).exitCode === 0 ? library : null;
}

// Without root there is nobody else's directory to update.
test.skipIf(process.geteuid?.() !== 0)(
  "root's update of another user's instance does all in its directory as that user, and takes over none of its tricks",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pombo-update-"));
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
    const builds = await makeBuilds(folder);
    await using at = await createUpdateWorld(builds);
    const { dataDir } = at.world;
    for (const each of [folder, at.world.folder]) chmodSync(each, 0o755);
    for (const name of [".", ...readdirSync(dataDir)]) chownSync(join(dataDir, name), NOBODY, NOBODY);
    const evidence = join(folder, "loaded-by-root");
    const library = spyLibrary(folder, evidence);
    const env = { LD_PRELOAD: library ?? "", BUN_OPTIONS: "--silent", NODE_OPTIONS: "--no-warnings" };
    await using served = await at.world.serve({
      command: [at.binary],
      through: [...AS_NOBODY, "env", ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    });
    {
      await using child = at.update(builds.next);
      expect({ ...(await within(LIMIT_MS * 2, "the update", child.ended)), said: child.stderr() }).toEqual({
        code: 0,
        signal: null,
        said: "",
      });
    }
    expect(served.isAlive).toBe(false);
    expect(await at.version()).toBe(NEXT_VERSION);
    const pid = at.holder() ?? 0;
    expect(readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toMatch(/LD_PRELOAD|BUN_|NODE_/);
    expect(readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).uid !== NOBODY)).toEqual([]);
    expect(statSync(at.binary)).toMatchObject({ uid: 0, gid: 0 });
    process.kill(pid, "SIGTERM");
    await waitUntil("it has ended", LIMIT_MS, () => at.holder() === null);

    // The database as a link to a file of root's, beside a journal that names a unit.
    const victim = join(at.world.folder, "victim");
    writeFileSync(victim, "root's\n", { mode: 0o644 });
    renameSync(join(dataDir, "pombo.db"), join(dataDir, "kept.db"));
    symlinkSync(victim, join(dataDir, "pombo.db"));
    {
      await using child = at.update(builds.old);
      expect((await within(LIMIT_MS * 2, "the update", child.ended)).code).toBe(78);
      expect(child.stderr()).toContain("pombo.db is a link");
    }
    expect([readFileSync(victim, "utf8"), statSync(victim).mode & 0o777]).toEqual(["root's\n", 0o644]);
    expect(await at.version()).toBe(NEXT_VERSION);
    expect(readdirSync(join(at.world.folder, "bin")).sort()).toEqual(["pombo", "pombo.previous"]);
    expect(existsSync(evidence)).toBe(false);
  },
);
