// Finds the Litestream executable. pombo carries it compressed (script/build); nothing can be run from
// inside it, so it is unpacked into the data directory, when replication or a restore wants it and not before.
// A run from source takes the one that script/litestream brought.

import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { BUILD } from "../../platform/build-info.ts";
import { getErrorMessage, StartError } from "../../platform/errors.ts";
import { runCommand } from "./run.ts";

/** The pinned one; script/litestream says the same. */
export const PINNED_VERSION = "0.5.17";

const EMBEDDED_NAME = /^litestream(-[a-z0-9]+)?\.zst$/;

/** The version of the daemon that this pombo has; null: it has none. */
export function getDaemonVersion(): string | null {
  if (BUILD.litestream !== undefined) return BUILD.litestream?.version ?? null;
  return existsSync(getSourcePath()) ? PINNED_VERSION : null;
}

/** The folder of a data directory in which everything of the daemon's is kept, 0700. Made when it is missing. */
export function createDaemonFolder(dataDir: string): string {
  const folder = join(dataDir, "litestream");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    throw buildUnpackError(folder, error);
  }
  return folder;
}

/**
 * The path of a daemon that can be run, unpacked into the data directory if it is not there yet, whole and of
 * the right version. Throws StartError with what to do where that cannot be had.
 */
export async function openDaemon(dataDir: string): Promise<string> {
  const path =
    BUILD.litestream === undefined
      ? findSourceDaemon()
      : await openUnpacked(createDaemonFolder(dataDir), BUILD.litestream);
  await requireVersion(path, getDaemonVersion() ?? "");
  return path;
}

function getSourcePath(): string {
  return join(import.meta.dir, "../../../.tools/litestream", PINNED_VERSION, process.arch, "litestream");
}

function findSourceDaemon(): string {
  const path = getSourcePath();
  if (!existsSync(path)) throw new StartError("Litestream is not here yet: run script/litestream, which brings it.");
  return path;
}

async function openUnpacked(folder: string, embedded: { version: string; sha256: string } | null): Promise<string> {
  if (embedded === null) {
    throw new StartError(
      "This pombo was built without Litestream and can neither replicate nor restore. " +
        "Use a released one, or build it without POMBO_LITESTREAM=none.",
    );
  }
  const name = `litestream-${embedded.version}`;
  const path = join(folder, name);
  try {
    // What a power cut or a full disk left half-written has another checksum.
    if (!existsSync(path) || hash(readFileSync(path)) !== embedded.sha256) await unpack(path, embedded.sha256);
    chmodSync(path, 0o700);
    for (const other of readdirSync(folder)) {
      if (other.startsWith("litestream-") && other !== name) rmSync(join(folder, other), { force: true });
    }
  } catch (error) {
    throw buildUnpackError(path, error);
  }
  return path;
}

async function unpack(path: string, sha256: string): Promise<void> {
  const packed = Bun.embeddedFiles.find((file) => EMBEDDED_NAME.test((file as Blob & { name: string }).name));
  if (packed === undefined) throw new Error("it is not in this executable, though it was built with it");
  const bytes = Bun.zstdDecompressSync(await packed.bytes());
  if (hash(bytes) !== sha256) throw new Error("what is in this executable is damaged: fetch pombo anew");
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, bytes, { mode: 0o700, flag: "wx" });
  renameSync(draft, path);
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function buildUnpackError(path: string, error: unknown): StartError {
  const reason = getErrorMessage(error);
  return new StartError(
    `Litestream could not be unpacked to ${path} (${reason}): see that the disk has room and that pombo's user may write there.`,
  );
}

const VERSION_MS = 60_000;

/** Also shows that it can be run at all where the data directory is. */
async function requireVersion(path: string, version: string): Promise<void> {
  let said: string;
  try {
    said = (await runCommand([path, "version"], { env: {}, limitMs: VERSION_MS })).out.trim();
  } catch (error) {
    const reason = getErrorMessage(error);
    throw new StartError(
      `Litestream cannot be run from ${path} (${reason}): its file system may be mounted with noexec; pombo's data_dir must not be.`,
    );
  }
  if (said !== version) {
    throw new StartError(`${path} should be Litestream ${version} and says ${JSON.stringify(said.slice(0, 100))}.`);
  }
}
