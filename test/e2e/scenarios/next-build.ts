/**
 * Another pombo than the one under test, made from the sources of this checkout: a later version with one more
 * migration, which fails in the way that the variable POMBO_TEST_FAULT names.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PINNED_VERSION } from "../../../src/backup/litestream/executable.ts";

const PROJECT = join(import.meta.dir, "../../..");

export const NEXT_VERSION = "0.2.0";

/**
 * What the next pombo does wrong:
 * - `probe`: it ends in the middle of its probe, after the migration
 * - `migration`: its migration fails
 * - `start`: its probe succeeds, and its real start fails
 * - `silent`: it starts, and takes no commands and no mail
 * - `late`: it starts whole, and is killed a second later, with nothing accepted or sent
 * - `accepted`: it dies a moment after it has accepted an email with the subject "accepted"
 */
export type Fault = "probe" | "migration" | "start" | "silent" | "late" | "accepted";

/** Changes of the sources: file, what stands there, what stands there instead. */
const CHANGES: [string, string, string][] = [
  [
    "src/platform/db/schema/migrations.ts",
    "sql: first }];",
    `sql: first }, { name: "0002_next.sql", sql: process.env["POMBO_TEST_FAULT"] === "migration"
      ? "CREATE TABLE next (id INTEGER) STRICT; CREATE TABLE email (id INTEGER) STRICT"
      : "CREATE TABLE next (id INTEGER) STRICT; INSERT INTO next VALUES (1)" }];`,
  ],
  [
    "src/server/probe.ts",
    "await askThread(",
    'if (process.env["POMBO_TEST_FAULT"] === "probe") process.exit(7); await askThread(',
  ],
  [
    "src/cli/commands/serve.ts",
    "const app = node?.app ?? (await startApp(options));",
    `if (process.env["POMBO_TEST_FAULT"] === "start") throw new Error("the next pombo fails at its start");
  if (process.env["POMBO_TEST_FAULT"] === "silent") await terminal.stopSignal().then(() => process.exit(0));
  const app = node?.app ?? (await startApp(options));`,
  ],
  [
    "src/cli/commands/serve.ts",
    "const signal = await (stoppingEarly ?? terminal.stopSignal());",
    `if (process.env["POMBO_TEST_FAULT"] === "late") setTimeout(() => process.kill(process.pid, "SIGKILL"), 1_500);
  if (process.env["POMBO_TEST_FAULT"] === "accepted") {
    const emails = app.db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM email WHERE subject = 'accepted'");
    setInterval(() => emails.get()?.n !== 0 && setTimeout(() => process.kill(process.pid, "SIGKILL"), 100), 10);
  }
  const signal = await (stoppingEarly ?? terminal.stopSignal());`,
  ],
];

/** Builds it in `folder`; its path. */
export async function buildNext(folder: string): Promise<string> {
  const sources = join(folder, "next");
  mkdirSync(sources);
  for (const name of ["src", "migrations", "monitoring", "config.example.toml", "package.json", "tsconfig.json"])
    cpSync(join(PROJECT, name), join(sources, name), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(sources, "node_modules"));
  for (const [name, is, becomes] of CHANGES) {
    const file = join(sources, name);
    const text = readFileSync(file, "utf8");
    if (text.split(is).length !== 2) throw new Error(`${name} has not exactly one place to change: ${is}`);
    writeFileSync(
      file,
      text.replace(is, () => becomes),
    );
  }
  const binary = join(folder, "pombo-next");
  await build(sources, NEXT_VERSION, binary);
  rmSync(sources, { recursive: true });
  return binary;
}

/** Builds the pombo of this checkout, where the one under test is its source, or is to know a key of releases. */
export async function buildThis(folder: string, releaseKey = ""): Promise<string> {
  const binary = join(folder, `pombo-this${releaseKey === "" ? "" : "-knowing"}`);
  await build(PROJECT, "0.1.0", binary, releaseKey);
  return binary;
}

async function build(sources: string, version: string, binary: string, releaseKey = ""): Promise<void> {
  const daemon = await packDaemon(dirname(binary));
  const child = Bun.spawn(
    [
      process.execPath,
      ...[
        "build",
        "--root",
        "src",
        "--entry-naming",
        "[name].[ext]",
        "src/main.ts",
        "src/server/mail-worker.ts",
        daemon.file,
        "--compile",
      ],
      ...["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"],
      ...["--define", `POMBO_VERSION="${version}"`, "--define", 'POMBO_COMMIT="test"'],
      ...["--define", `POMBO_LITESTREAM="${daemon.version}"`, "--define", `POMBO_LITESTREAM_SHA256="${daemon.sha256}"`],
      ...["--define", `POMBO_RELEASE_PUBLIC_KEY="${releaseKey}"`],
      ...["--outfile", binary],
    ],
    { cwd: sources, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  );
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`the next pombo cannot be built:\n${said}`);
}

/** The replicating daemon as script/build embeds it. */
async function packDaemon(folder: string): Promise<{ file: string; version: string; sha256: string }> {
  const brought = Bun.spawnSync(["bash", join(PROJECT, "script/litestream")], { stderr: "inherit" });
  const path = brought.stdout.toString().trim();
  const bytes = await Bun.file(path).bytes();
  const file = join(folder, "litestream.zst");
  await Bun.write(file, Bun.zstdCompressSync(bytes, { level: 1 }));
  return { file, version: PINNED_VERSION, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") };
}
