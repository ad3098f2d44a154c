// Starts that cannot go well: each says in words what is wrong and what to do, exits with 1, and has
// changed nothing. And what a good start leaves on the disk is nobody else's to read.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPombo, spawnPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { call, createWorld, emailTo, HOSTNAME, type World } from "./world.ts";

setDefaultTimeout(30_000);

interface Scratch {
  folder: string;
  config: string;
  dataDir: string;
  [Symbol.dispose](): void;
}

function scratch(): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "pombo-boot-"));
  return {
    folder,
    config: join(folder, "pombo.toml"),
    dataDir: join(folder, "data"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const init = (at: Scratch, more: string[] = []) =>
  runPombo(["init", "--json", "--config", at.config, "--data-dir", at.dataDir, "--hostname", HOSTNAME, ...more]);
const serve = (config: string, env: Record<string, string> = {}) => runPombo(["serve", "--config", config], { env });

async function takenPort(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function withWorld(test_: (world: World) => Promise<void>): Promise<void> {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await test_(world);
  expect(mx.connections).toBe(0);
}

/** Refused in words for a person: no stack, nothing on stdout. */
function expectRefusal(ended: Awaited<ReturnType<typeof runPombo>>, lines = 1, code = 1): string {
  expect(ended).toMatchObject({ code, signal: null, stdout: "" });
  expect(ended.stderr).not.toMatch(/^\s+at /m);
  expect(ended.stderr.trimEnd().split("\n")).toHaveLength(lines);
  return ended.stderr;
}

test("a database of a newer pombo is refused and left as it is", () =>
  withWorld(async (world) => {
    const file = join(world.dataDir, "pombo.db");
    {
      using database = new Database(file);
      database.run("PRAGMA user_version = 99");
      database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    const before = readFileSync(file);
    // As one that starting again does not help.
    const said = expectRefusal(await serve(world.configFile), 1, 78);
    expect(said).toContain(`The database ${file} was written by a newer pombo (schema 99;`);
    expect(said).toContain("restore a backup");
    expect(readFileSync(file).equals(before)).toBe(true);
  }));

test("a missing, foreign, damaged or open instance key is refused with what to do, and the right one is taken again", () =>
  withWorld(async (world) => {
    const file = join(world.dataDir, "instance.key");
    const right = readFileSync(file, "utf8");
    rmSync(file);
    expect(expectRefusal(await serve(world.configFile))).toContain(`There is no instance key at ${file}.`);

    using other = scratch();
    const { recoveryKey } = JSON.parse((await init(other)).stdout) as { recoveryKey: string };
    writeFileSync(file, `${recoveryKey}\n`, { mode: 0o600 });
    expect(expectRefusal(await serve(world.configFile))).toContain(
      "The instance key is not the one that this database was sealed with.",
    );
    writeFileSync(file, right.replace(/.\s*$/, ""));
    expect(expectRefusal(await serve(world.configFile))).toContain(`The file ${file} holds no usable instance key.`);
    writeFileSync(file, right);
    chmodSync(file, 0o644);
    expect(expectRefusal(await serve(world.configFile))).toContain(`chmod 600 ${file}`);
    rmSync(file);
    expect(expectRefusal(await serve(world.configFile, { POMBO_INSTANCE_KEY: recoveryKey }))).toContain(
      "is not the one",
    );

    writeFileSync(file, right, { mode: 0o600 });
    await using served = await world.serve();
    expect((await call(served.url, world.key, { path: "/api/v1/emails" })).status).toBe(200);
  }));

test("all errors of the configuration are listed at once, with file, key, what was found and what is expected", async () => {
  using at = scratch();
  writeFileSync(
    at.config,
    'hostname = "x"\ndata_dir = "relative"\n[http]\nlisten = "nowhere"\n[email]\nretry_schedule = ["soon"]\nlifetimes = "1h"\n[disk]\nmin_free = -1\n',
  );
  const ended = await serve(at.config);
  expect(ended).toMatchObject({ code: 1, stdout: "" });
  const lines = ended.stderr.trimEnd().split("\n");
  for (const key of ["data_dir", "http.listen", "email.retry_schedule", "email.lifetimes", "disk.min_free"]) {
    expect(lines.filter((line) => line.startsWith(`${at.config}: ${key}`) && line.includes("expected"))).toHaveLength(
      1,
    );
  }
  expect(lines.at(-1)).toMatch(/^Correct these \d errors, then start pombo again\.$/);
  expect(readdirSync(at.folder)).toEqual(["pombo.toml"]);

  writeFileSync(at.config, "hostname = \n");
  expect(expectRefusal(await serve(at.config), 2)).toContain("Correct this error, then start pombo again.");
  expect(expectRefusal(await serve(join(at.folder, "none.toml")))).toContain("There is no configuration at");
  expect(expectRefusal(await serve(at.folder))).toContain("cannot be read (");
  expect(
    expectRefusal(await runPombo(["serve"], { cwd: at.folder, env: { POMBO_CONFIG: join(at.folder, "none.toml") } })),
  ).toContain("none.toml");
});

test("pombo init never touches what is there: not the configuration, not the database, not a key", async () => {
  using at = scratch();
  expect((await init(at)).code).toBe(0);
  const kept = ["instance.key", "pombo.db"].map((name) => readFileSync(join(at.dataDir, name)));
  expect(expectRefusal(await init(at))).toContain(
    `${at.config} and its data directory ${at.dataDir} are set up already`,
  );
  const second: Scratch = { ...at, config: join(at.folder, "second.toml") };
  expect(expectRefusal(await init(second))).toContain(`${at.dataDir} already holds an instance`);
  expect(existsSync(second.config)).toBe(false);
  expect(["instance.key", "pombo.db"].map((name) => readFileSync(join(at.dataDir, name)))).toEqual(kept);

  using other = scratch();
  mkdirSync(other.dataDir);
  writeFileSync(join(other.dataDir, "instance.key"), "a key of an older database", { mode: 0o600 });
  expect(expectRefusal(await init(other))).toContain("never overwritten");
  expect(readdirSync(other.folder)).toEqual(["data"]);
  expect(readFileSync(join(other.dataDir, "instance.key"), "utf8")).toBe("a key of an older database");
});

test("pombo init sets up what a configuration written by hand says, and leaves the file as it is", async () => {
  using at = scratch();
  const text = `hostname = "mail.example.net"\ndata_dir = "${at.dataDir}"\n[http]\nlisten = "127.0.0.1:0"\n`;
  writeFileSync(at.config, text);
  const elsewhere = await runPombo(["init", "--config", at.config, "--data-dir", join(at.folder, "elsewhere")]);
  expect(expectRefusal(elsewhere)).toContain("differs from --hostname, --data-dir, --listen or --https");
  const made = await runPombo(["init", "--config", at.config]);
  expect(made.code).toBe(0);
  expect(made.stdout).toContain("svc_");
  expect(readFileSync(at.config, "utf8")).toBe(text);
  expect(existsSync(join(at.dataDir, "pombo.db"))).toBe(true);
});

test("the configuration is for its user and group alone, and a folder that is made for it is told", async () => {
  using at = scratch();
  const config = join(at.folder, "etc", "pombo", "pombo.toml");
  const made = await init({ ...at, config });
  const told = `Created the folder ${join(at.folder, "etc", "pombo")} for the configuration.\n`;
  expect([made.code, made.stderr]).toEqual([0, told]);
  // Of root's it is not known who runs pombo.
  expect(statSync(config).mode & 0o777).toBe(process.geteuid?.() === 0 ? 0o644 : 0o640);
  using other = scratch();
  expect((await init(other)).stderr).toBe("");
});

test("an init that cannot write its configuration makes no instance whose keys nobody has seen", async () => {
  using at = scratch();
  writeFileSync(join(at.folder, "file"), "");
  const said = expectRefusal(await init({ ...at, config: join(at.folder, "file", "pombo.toml") }));
  expect(said).toContain("cannot be written");
  expect(existsSync(join(at.dataDir, "pombo.db"))).toBe(false);
  expect((await init(at)).code).toBe(0);
});

test("a directory that was never set up is told so, and is still free for init", async () => {
  using at = scratch();
  using other = scratch();
  const { recoveryKey } = JSON.parse((await init(other)).stdout) as { recoveryKey: string };
  writeFileSync(at.config, `hostname = "${HOSTNAME}"\ndata_dir = "${at.dataDir}"\n[http]\nlisten = "127.0.0.1:0"\n`);
  const env = { POMBO_INSTANCE_KEY: recoveryKey };
  expect(expectRefusal(await serve(at.config, env))).toContain(`The data directory ${at.dataDir} does not exist`);
  mkdirSync(at.dataDir);
  expect(expectRefusal(await serve(at.config, env))).toContain("was not set up yet: run pombo init first");
  expect(existsSync(join(at.dataDir, "pombo.db"))).toBe(false);
  const made = await runPombo(
    ["init", "--config", join(at.folder, "new.toml"), "--data-dir", at.dataDir, "--hostname", HOSTNAME],
    { env },
  );
  expect(made.code).toBe(0);
});

test("a port in use is told in one sentence with the way out, by serve and by dev, and nothing was sent", async () => {
  const taken = await takenPort();
  const { port } = taken.address() as AddressInfo;
  try {
    await withWorld(async (world) => {
      const config = world.writeConfig("taken.toml", { http: { listen: `127.0.0.1:${port}` } });
      const said = expectRefusal(await serve(config));
      expect(said).toBe(
        `Port ${port} on 127.0.0.1 is in use by another program. Stop that one, or choose another port ([http] listen).\n`,
      );
      // The lock is free again.
      await using served = await world.serve();
      expect(served.isAlive).toBe(true);
    });
    using at = scratch();
    const dev = await runPombo(["dev", "--port", String(port)], { env: { TMPDIR: at.folder } });
    expect(expectRefusal(dev)).toBe(
      `Port ${port} on 127.0.0.1 is in use by another program. Stop that one, or start this one with another, such as --port ${port === 65_535 ? port - 1 : port + 1}.\n`,
    );
    expect(readdirSync(at.folder)).toEqual([]);
  } finally {
    taken.close();
  }
});

test("database, WAL, keys and locks can be read by their owner alone, whatever the umask", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using served = await world.serve({ through: ["sh", "-c", 'umask 000; exec "$@"', "sh"] });
  await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo("a@one.test", "mode") });
  const modes = Object.fromEntries(
    readdirSync(world.dataDir).map((name) => [name, (statSync(join(world.dataDir, name)).mode & 0o777).toString(8)]),
  );
  for (const name of ["pombo.db", "pombo.db-wal", "pombo.db-shm", "instance.key", "lock", "lock.pid"])
    expect({ name, mode: modes[name] }).toEqual({ name, mode: "600" });
  expect(Object.values(modes)).toEqual(Object.values(modes).map(() => "600"));
  expect((statSync(world.dataDir).mode & 0o777).toString(8)).toBe("700");

  using at = scratch();
  await using made = spawnPombo(["init", "--config", at.config, "--data-dir", at.dataDir, "--hostname", HOSTNAME], {
    through: ["sh", "-c", 'umask 000; exec "$@"', "sh"],
  });
  expect((await made.ended).code).toBe(0);
  for (const name of readdirSync(at.dataDir))
    expect({ name, mode: statSync(join(at.dataDir, name)).mode & 0o777 }).toEqual({ name, mode: 0o600 });
});

test("pombo version says what it is, and an unknown command, option or port what there is instead", async () => {
  for (const word of ["version", "--version"]) {
    const { code, stdout, stderr } = await runPombo([word]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^pombo \d+\.\d+\.\d+\S* \(commit \S+\), Bun \d+\.\d+\.\d+, SQLite 3\.\d+\.\d+, Litestream (0\.5\.\d+|none)\n$/,
    );
  }
  const made = await runPombo(["version", "--json"]);
  expect(Object.keys(JSON.parse(made.stdout))).toEqual([
    "version",
    "commit",
    "bun",
    "sqlite",
    "litestream",
    "arch",
    "schema",
    "releaseKey",
  ]);
  for (const words of [[], ["help"], ["--help"]]) {
    const { code, stdout } = await runPombo(words);
    expect(code).toBe(0);
    for (const command of ["dev", "init", "serve", "version"]) expect(stdout).toContain(`  pombo ${command}`);
  }
  const unknown = await runPombo(["frobnicate"]);
  expect(unknown).toMatchObject({ code: 2, stdout: "" });
  expect(unknown.stderr).toStartWith("pombo has no command frobnicate.");
  expect(unknown.stderr).toContain("pombo --help lists them all.");
  const option = await runPombo(["serve", "--port", "1"]);
  expect(option).toMatchObject({ code: 2, stdout: "" });
  expect(option.stderr).toStartWith("pombo serve: There is no option --port.\n\nUsage: pombo serve");
  expect(option.stderr).toContain("[--config FILE]");
  const port = await runPombo(["dev", "--port", "70000"]);
  expect(port).toMatchObject({ code: 2, stdout: "" });
  expect(port.stderr).toStartWith("pombo dev: --port must be a number from 0 to 65535");
});
