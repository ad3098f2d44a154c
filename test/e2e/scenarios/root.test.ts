// Commands that root runs on the data directory of pombo's own user, who has been taken over and has prepared it:
// links, hard links and pipes in the place of pombo's files. Nothing of root's is read, changed or waited for.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { createWorld, type World } from "./world.ts";

setDefaultTimeout(60_000);

// Without root there is nobody else's directory to work on.
const test_ = test.skipIf(process.geteuid?.() !== 0);
const NOBODY = 65_534;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];

/** A world whose data directory is another user's, beside a file of root's. */
async function withOthersWorld(run: (world: World, victim: string) => Promise<void>): Promise<void> {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  chmodSync(world.folder, 0o755);
  giveAway(world.dataDir);
  const victim = join(world.folder, "victim");
  writeFileSync(victim, "root's\n");
  chmodSync(victim, 0o644);
  const before = lookAt(victim);
  await run(world, victim);
  expect(lookAt(victim)).toEqual(before);
}

function giveAway(dataDir: string): void {
  for (const name of [".", ...readdirSync(dataDir)]) chownSync(join(dataDir, name), NOBODY, NOBODY);
}

// Not its ctime: that of a file changes with the hard links that the test makes.
const lookAt = (file: string) => {
  const { mode, uid, mtimeMs } = lstatSync(file);
  return { text: readFileSync(file, "utf8"), mode, uid, mtimeMs };
};

const TRAPS = {
  link: (at: string, victim: string) => symlinkSync(victim, at),
  "hard link": (at: string, victim: string) => linkSync(victim, at),
  pipe: (at: string) => void Bun.spawnSync(["mkfifo", "-m", "666", at]),
  folder: (at: string) => void mkdirSync(at),
};

for (const [name, words] of Object.entries({
  "pombo.db": /pombo\.db (is a (link|folder)|is no plain file|belongs to another user)/,
  "pombo.db-wal": /pombo\.db-wal (is a (link|folder)|is no plain file|belongs to another user)/,
  lock: /lock (is not the lock file|cannot be used)/,
  "update.json": /update\.json is not what pombo update wrote/,
  "instance.key": /instance key|instance\.key/,
})) {
  test_(`root is led nowhere by what stands in the place of ${name}`, () =>
    withOthersWorld(async ({ dataDir, configFile }, victim) => {
      const place = join(dataDir, name);
      for (const [trap, set] of Object.entries(TRAPS)) {
        if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) renameSync(place, `${place}.kept`);
        set(place, victim);
        const { code, stderr, tookMs } = await runPombo(["workspace", "list", "--config", configFile]);
        expect([trap, code === 0, stderr]).toEqual([trap, false, expect.stringMatching(words)]);
        expect(stderr).not.toMatch(/^\s+at /m);
        expect(tookMs).toBeLessThan(10_000);
        rmSync(place, { recursive: true });
        if (lstatSync(`${place}.kept`, { throwIfNoEntry: false }) !== undefined) renameSync(`${place}.kept`, place);
      }
      const listed = await runPombo(["workspace", "list", "--config", configFile]);
      expect(listed).toMatchObject({ code: 0, stderr: "" });
      const strangers = readdirSync(dataDir).filter((each) => lstatSync(join(dataDir, each)).uid !== NOBODY);
      expect(strangers).toEqual([]);
    }),
  );
}

test_("a link that comes and goes under root's feet leads it nowhere", () =>
  withOthersWorld(async ({ dataDir, configFile }, victim) => {
    const swap = `cd ${dataDir}; cp pombo.db kept; while :; do
      ln -s ${victim} a; mv -T a pombo.db; cp kept b; mv -T b pombo.db; ln -s ${victim} c; mv -T c lock; rm lock; done`;
    const swapper = Bun.spawn([...AS_NOBODY, "sh", "-c", swap], { stdout: "ignore", stderr: "ignore" });
    try {
      for (let round = 0; round < 8; round += 1) {
        const { code, stderr } = await runPombo(["workspace", "list", "--config", configFile]);
        expect([code === null, stderr]).toEqual([false, expect.not.stringMatching(/^\s+at /m)]);
      }
    } finally {
      swapper.kill("SIGKILL");
      await swapper.exited;
    }
    // The shell's last command outlives it for a moment, and may be removing a file now.
    const ownerOf = (name: string) => lstatSync(join(dataDir, name), { throwIfNoEntry: false })?.uid ?? NOBODY;
    expect(readdirSync(dataDir).filter((each) => ownerOf(each) !== NOBODY)).toEqual([]);
  }),
);

test_("pipes and links in the place of what pombo notes beside them stop nobody", () =>
  withOthersWorld(async ({ dataDir, configFile }, victim) => {
    for (const name of ["lock.pid", "marker", "lock.pid.new", "marker.new", "update.json.new"]) {
      const place = join(dataDir, name);
      rmSync(place, { force: true });
      if (name.endsWith(".new")) symlinkSync(victim, place);
      else TRAPS.pipe(place);
      chownSync(place.endsWith(".new") ? dataDir : place, NOBODY, NOBODY);
    }
    for (const args of [["workspace", "list"], ["status"], ["health"], ["serve", "--probe"], ["restore", "--drill"]]) {
      const { code, stderr } = await runPombo([...args, "--config", configFile]);
      expect([args, code === null, stderr]).toEqual([args, false, expect.not.stringContaining("    at ")]);
    }
  }),
);

test_("what stands in the database moves nothing on root's screen", () =>
  withOthersWorld(async ({ dataDir, configFile }) => {
    const file = join(dataDir, "pombo.db");
    const database = new Database(file);
    database.run('CREATE TABLE "\x1b]0;owned\x07\x1b[2J\x9b1mAll is well\u202e" (x)');
    database.close();
    // A name that SQLite tells of, since it does not understand the table.
    const bytes = readFileSync(file);
    bytes.write("NONSE", bytes.indexOf('TABLE "\x1b]0;'));
    writeFileSync(file, bytes);
    giveAway(dataDir);
    for (const args of [
      ["workspace", "list"],
      ["serve", "--probe"],
    ]) {
      const { code, stderr } = await runPombo([...args, "--config", configFile]);
      expect([args, code === 0, stderr]).toEqual([args, false, expect.stringContaining("All is well")]);
      expect(stderr.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  }),
);

test_("root takes no orders from a configuration of another user's, nor follows a link to a data directory", () =>
  withOthersWorld(async ({ folder, dataDir, configFile }) => {
    // A folder of root's that is named by another's configuration.
    const roots = join(folder, "roots");
    mkdirSync(roots, { mode: 0o700 });
    const others = join(folder, "others.toml");
    writeFileSync(others, readFileSync(configFile, "utf8").replaceAll(dataDir, roots));
    chownSync(others, NOBODY, NOBODY);
    const led = await runPombo(["serve", "--probe", "--config", others]);
    expect(led.code).not.toBe(0);
    expect(readdirSync(roots)).toEqual([]);
    // It does what that user may: the same configuration with the user's own directory works.
    writeFileSync(others, readFileSync(configFile, "utf8"));
    chownSync(others, NOBODY, NOBODY);
    expect(await runPombo(["workspace", "list", "--config", others])).toMatchObject({ code: 0, stderr: "" });

    const linked = join(folder, "linked");
    symlinkSync(dataDir, linked);
    const config = join(folder, "linked.toml");
    writeFileSync(config, readFileSync(configFile, "utf8").replaceAll(dataDir, linked));
    const followed = await runPombo(["workspace", "list", "--config", config]);
    expect(followed).toMatchObject({ code: 1, stderr: expect.stringContaining(`${linked} is a symbolic link`) });
  }),
);

test_("root sets up, serves and restores as the owner of the directory, and keeps the configuration", async () => {
  await withOthersWorld(async ({ folder }) => {
    const dataDir = join(folder, "service");
    mkdirSync(dataDir, { mode: 0o700 });
    chownSync(dataDir, NOBODY, NOBODY);
    const etc = join(folder, "etc");
    mkdirSync(etc, { mode: 0o750 });
    chownSync(etc, 0, NOBODY);
    const config = join(etc, "config.toml");
    const made = await runPombo(["init", "--config", config, "--data-dir", dataDir, "--hostname", "mail.pombo.test"]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const { uid, gid, mode } = lstatSync(config);
    expect([uid, gid, mode & 0o777]).toEqual([0, NOBODY, 0o640]);
    expect(readdirSync(dataDir).filter((name) => lstatSync(join(dataDir, name)).uid !== NOBODY)).toEqual([]);
    // The service's user reads it and cannot change it; both may ask.
    for (const through of [[], AS_NOBODY])
      expect(await runPombo(["workspace", "list", "--config", config], { through })).toMatchObject({ code: 0 });
    const empty = join(folder, "empty");
    mkdirSync(empty, { mode: 0o700 });
    chownSync(empty, NOBODY, NOBODY);
    const replica = join(folder, "replica");
    const restored = await runPombo([
      "restore",
      "--from",
      replica,
      "--new-key",
      "--config",
      join(etc, "other.toml"),
      "--data-dir",
      empty,
      "--hostname",
      "mail.pombo.test",
    ]);
    expect(restored.code).toBe(1);
    expect(readdirSync(empty).filter((name) => lstatSync(join(empty, name)).uid !== NOBODY)).toEqual([]);
    expect(lstatSync(join(etc, "other.toml")).uid).toBe(0);
  });
});
