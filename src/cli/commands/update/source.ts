// Fetches the new executable of an update from a local file or the network. It is copied beside the one that it will
// replace and hashed while it is copied, so that the file that was checked is the file that is run. A download is only
// run after its signature was verified: by the key that this executable was built with, for this file name, and not for
// an older version.

import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { BUILD } from "../../../platform/build-info.ts";
import {
  isSignedBy,
  type PublicKey,
  readPublicKey,
  readRelease,
  readSignature,
} from "../../../platform/update/minisign.ts";
import { CommandError } from "../../framework/definition.ts";
import { plain } from "../../framework/text.ts";
import { getErrorMessage } from "../../../platform/errors.ts";

const LIMIT_BYTES = 1024 * 1024 * 1024;
const DOWNLOAD_MS = 15 * 60_000;
const SIGNATURE_LIMIT_BYTES = 16 * 1024;
const MAX_REDIRECTS = 5;
const SHA256 = /^[0-9a-f]{64}$/;
/** ELF: the magic, and the machine in bytes 18 and 19. */
const ELF_MAGIC = "\x7fELF";
const ELF_HEADER_BYTES = 20;
const MACHINES: Record<string, number> = { x64: 62, arm64: 183 };

export interface Source {
  /** A path, or a URL. */
  from: string;
  /** As the operator gave it. */
  sha256: string | undefined;
  /** Whether a URL may lead to an older version. */
  allowDowngrade: boolean;
}

export interface Brought {
  draft: string;
  sha256: string;
  /** The version in its signature; null: a local file, which needs none. */
  version: string | null;
}

export interface SourceEnvironment {
  fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** The public key of releases, as minisign prints it; null: this executable was built without one. */
  releaseKey: string | null;
  /** Of this executable. */
  version: string;
}

const OWN_ENVIRONMENT: SourceEnvironment = {
  fetch: (url, init) => fetch(url, init),
  releaseKey: BUILD.releaseKey,
  version: BUILD.version,
};

/** Writes the executable to `draft`, checked and ready to run. Throws CommandError, and leaves no draft then. */
export async function bringExecutable(source: Source, draft: string, environment = OWN_ENVIRONMENT): Promise<Brought> {
  const expected = source.sha256?.trim().toLowerCase();
  if (expected !== undefined && !SHA256.test(expected))
    throw new CommandError("--sha256 takes 64 hexadecimal digits, as sha256sum prints them.", 2);
  const url = parseUrl(source.from);
  const key = url === null ? null : requireKey(environment.releaseKey);
  try {
    const signed = url === null || key === null ? null : await fetchSignature(url, source, key, environment);
    const chunks =
      url === null ? createReadStream(source.from, { highWaterMark: 1024 * 1024 }) : await ask(url, environment);
    const found = await write(chunks as AsyncIterable<Uint8Array>, draft);
    if (expected !== undefined && found.sha256 !== expected)
      throw new CommandError(
        `${source.from} does not match its checksum: expected ${expected}, found ${found.sha256}. It was not used; nothing was changed.`,
      );
    if (signed !== null && key !== null) {
      const content = signed.signature.algorithm === "ED" ? found.blake2b : readFileSync(draft);
      if (!isSignedBy(key, signed.signature, content))
        throw new CommandError(
          `${source.from} does not match its signature: it was modified or truncated. It was not used; nothing was changed.`,
        );
    }
    requireExecutable(draft, source.from);
    return { draft, sha256: found.sha256, version: signed?.release.version ?? null };
  } catch (error) {
    rmSync(draft, { force: true });
    throw error instanceof CommandError ? error : toCommandError(source.from, draft, error);
  }
}

/** Null: it names a file. */
function parseUrl(from: string): URL | null {
  if (!/^https?:\/\//i.test(from)) return null;
  if (!URL.canParse(from)) throw new CommandError(`${from} is not a URL.`, 2);
  const url = new URL(from);
  if (url.protocol === "https:") return url;
  throw new CommandError(`${url.href} is not https: give an https URL, or a local file.`, 2);
}

function requireKey(releaseKey: string | null): PublicKey {
  const key = releaseKey === null ? null : readPublicKey(releaseKey);
  if (key !== null) return key;
  throw new CommandError(
    "This pombo was built without the public key of its releases (POMBO_RELEASE_PUBLIC_KEY), so it cannot verify a download: download and verify the executable yourself, and give its path. Nothing was changed.",
  );
}

/** Fetches the signature, and checks by its comment that it is for this file and not for an older version. */
async function fetchSignature(url: URL, source: Source, key: PublicKey, environment: SourceEnvironment) {
  const place = new URL(url);
  place.pathname += ".minisig";
  let text: string;
  try {
    text = await readText(await ask(place, environment));
  } catch (error) {
    throw new CommandError(
      `The signature at ${place.href} could not be fetched (${plain(getErrorMessage(error))}), and pombo installs no download without one. Nothing was changed.`,
    );
  }
  const signature = readSignature(text);
  if (signature === null) throw new CommandError(`${place.href} holds no minisign signature. Nothing was changed.`);
  if (!signature.keyId.equals(key.id))
    throw new CommandError(`${place.href} was made with another key than this pombo trusts. Nothing was changed.`);
  const release = readRelease(signature.trustedComment);
  const name = decodeURIComponent(url.pathname.split("/").at(-1) ?? "");
  if (release === null || release.file !== name)
    throw new CommandError(
      `The signature at ${place.href} is not for ${plain(name)} of a release: its comment says "${plain(signature.trustedComment)}". Nothing was changed.`,
    );
  if (Bun.semver.order(release.version, environment.version) < 0 && !source.allowDowngrade)
    throw new CommandError(
      `${url.href} is pombo ${release.version}, and this is ${environment.version}: the older version lacks later fixes. To install it anyway, add --allow-downgrade. Nothing was changed.`,
    );
  return { signature, release };
}

/** Follows redirects itself: each must be https. */
async function ask(start: URL, environment: SourceEnvironment): Promise<AsyncIterable<Uint8Array>> {
  let url = start;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    if (url.protocol !== "https:") throw new Error(`it redirects to ${url.href}, which is not https`);
    const response = await environment.fetch(url, { redirect: "manual", signal: AbortSignal.timeout(DOWNLOAD_MS) });
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location !== null && URL.canParse(location, url.href)) {
      url = new URL(location, url.href);
      continue;
    }
    if (response.ok && response.body !== null) return response.body;
    throw new Error(`it answered ${response.status}`);
  }
  throw new Error(`it redirects more than ${MAX_REDIRECTS} times`);
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > SIGNATURE_LIMIT_BYTES) throw new Error("it is larger than a signature");
    read.push(chunk);
  }
  return Buffer.concat(read).toString();
}

async function write(chunks: AsyncIterable<Uint8Array>, draft: string) {
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  const [sha256, blake2b] = [new Bun.CryptoHasher("sha256"), new Bun.CryptoHasher("blake2b512")];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > LIMIT_BYTES) throw new Error("it is larger than any pombo");
      sha256.update(chunk);
      blake2b.update(chunk);
      for (let at = 0; at < chunk.length;) at += writeSync(descriptor, chunk, at);
    }
    fchmodSync(descriptor, 0o755);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return { sha256: sha256.digest("hex"), blake2b: blake2b.digest() };
}

/** Running one for another platform would end in an error that nobody understands. */
function requireExecutable(file: string, from: string): void {
  const header = Buffer.alloc(ELF_HEADER_BYTES);
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    readSync(descriptor, header, 0, ELF_HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  if (header.toString("latin1", 0, ELF_MAGIC.length) !== ELF_MAGIC)
    throw new CommandError(`${from} is not an executable for Linux. Nothing was changed.`);
  const machine = header.readUInt16LE(18);
  if (machine === MACHINES[process.arch]) return;
  const other = Object.keys(MACHINES).find((name) => MACHINES[name] === machine) ?? `machine ${machine}`;
  throw new CommandError(`${from} is for ${other}, and this machine is ${process.arch}. Nothing was changed.`);
}

function toCommandError(from: string, draft: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  const folder = dirname(draft);
  if (code === "ENOSPC") {
    const stats = statfsSync(folder);
    const free = Math.floor((stats.bavail * stats.bsize) / 1024 / 1024);
    return new CommandError(`${folder} has no room for another executable (${free} MiB free). Nothing was changed.`);
  }
  if (code === "EACCES" || code === "EROFS" || code === "EPERM")
    return new CommandError(
      `${folder} cannot be written, or ${from} cannot be read (${getErrorMessage(error)}): run the update as root. Nothing was changed.`,
    );
  return new CommandError(`${from} cannot be fetched: ${getErrorMessage(error)}. Nothing was changed.`);
}
