import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  createReadStream,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { CommandError } from "./failure.ts";

// Where the new executable of an update comes from: a file of this machine, or the network. It is copied beside the
// one that it will replace, hashed as it passes, so that what was checked is what is run; nothing of it is run
// before its checksum holds.

const LIMIT_BYTES = 1024 * 1024 * 1024;
const DOWNLOAD_MS = 15 * 60_000;
const CHECKSUM_LIMIT_BYTES = 64 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;
/** ELF: the magic, and the machine in bytes 18 and 19. */
const ELF_MAGIC = "\x7fELF";
const ELF_HEADER_BYTES = 20;
const MACHINES: Record<string, number> = { x64: 62, arm64: 183 };

export interface Source {
  /** A path, or a URL. */
  from: string;
  /** What the operator says that its SHA-256 is; undefined: a URL's stands in `URL.sha256`. */
  sha256: string | undefined;
}

/** Writes the executable to `draft`, checked and ready to run; its SHA-256. Throws CommandError, and leaves no draft then. */
export async function bringExecutable(source: Source, draft: string): Promise<string> {
  const given = source.sha256?.trim().toLowerCase();
  if (given !== undefined && !SHA256.test(given))
    throw new CommandError("--sha256 takes 64 hexadecimal digits, as sha256sum prints them.", 2);
  const url = urlOf(source.from);
  const expected = given ?? (url === null ? null : await fetchChecksum(url));
  try {
    const chunks = url === null ? createReadStream(source.from, { highWaterMark: 1024 * 1024 }) : await download(url);
    const found = await write(chunks as AsyncIterable<Uint8Array>, draft);
    if (expected !== null && found !== expected)
      throw new CommandError(
        `${source.from} is not what its checksum says: expected ${expected}, found ${found}. It was not used; nothing was changed.`,
      );
    requireExecutable(draft, source.from);
    return found;
  } catch (error) {
    rmSync(draft, { force: true });
    throw error instanceof CommandError ? error : notBrought(source.from, draft, error);
  }
}

/** Null: it names a file. Without a checksum from elsewhere the way must be one that nobody can change on. */
function urlOf(from: string): URL | null {
  if (!/^https?:\/\//i.test(from)) return null;
  if (!URL.canParse(from)) throw new CommandError(`${from} is no URL.`, 2);
  return new URL(from);
}

async function fetchChecksum(url: URL): Promise<string> {
  if (url.protocol !== "https:")
    throw new CommandError(
      `${url.href} is not https: give the executable's checksum with --sha256, or an https URL.`,
      2,
    );
  const place = new URL(url);
  place.pathname += ".sha256";
  let text: string;
  try {
    const response = await fetch(place, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    requireHttps(response);
    text = (await response.text()).slice(0, CHECKSUM_LIMIT_BYTES);
  } catch (error) {
    throw new CommandError(
      `The checksum at ${place.href} cannot be had (${reasonOf(error)}). Give it with --sha256; nothing was changed.`,
    );
  }
  const [digits = ""] = text.trim().toLowerCase().split(/\s/);
  if (SHA256.test(digits)) return digits;
  throw new CommandError(`${place.href} holds no SHA-256. Give it with --sha256; nothing was changed.`);
}

async function download(url: URL): Promise<AsyncIterable<Uint8Array>> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
  if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`);
  if (url.protocol === "https:") requireHttps(response);
  return response.body;
}

function requireHttps(response: Response): void {
  if (!response.url.startsWith("https://")) throw new Error(`it leads to ${response.url}, which is not https`);
}

async function write(chunks: AsyncIterable<Uint8Array>, draft: string): Promise<string> {
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  const hash = createHash("sha256");
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > LIMIT_BYTES) throw new Error("it is larger than any pombo");
      hash.update(chunk);
      for (let at = 0; at < chunk.length;) at += writeSync(descriptor, chunk, at);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  chmodSync(draft, 0o755);
  return hash.digest("hex");
}

/** One for another machine would end in words that nobody understands. */
function requireExecutable(file: string, from: string): void {
  const header = Buffer.alloc(ELF_HEADER_BYTES);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, header, 0, ELF_HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  if (header.toString("latin1", 0, ELF_MAGIC.length) !== ELF_MAGIC)
    throw new CommandError(`${from} is no executable for Linux. Nothing was changed.`);
  const machine = header.readUInt16LE(18);
  if (machine === MACHINES[process.arch]) return;
  const other = Object.keys(MACHINES).find((name) => MACHINES[name] === machine) ?? `machine ${machine}`;
  throw new CommandError(`${from} is for ${other}, and this machine is ${process.arch}. Nothing was changed.`);
}

function notBrought(from: string, draft: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  const folder = dirname(draft);
  if (code === "ENOSPC") {
    const stats = statfsSync(folder);
    const free = Math.floor((stats.bavail * stats.bsize) / 1024 / 1024);
    return new CommandError(`${folder} has no room for another executable (${free} MiB free). Nothing was changed.`);
  }
  if (code === "EACCES" || code === "EROFS" || code === "EPERM")
    return new CommandError(
      `${folder} cannot be written to, or ${from} not be read (${reasonOf(error)}): run the update as root. Nothing was changed.`,
    );
  return new CommandError(`${from} cannot be had: ${reasonOf(error)}. Nothing was changed.`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
