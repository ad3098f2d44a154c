import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { syncFolder } from "../db/file/snapshot.ts";
import { createAccessError, getErrorCode, getErrorMessage, StartError } from "../errors.ts";
import { parseInstanceKey } from "./keyring.ts";

/** A key and a line break are 82 bytes; whatever is much longer is another file. */
const KEY_FILE_MAX_BYTES = 4096;
const OTHERS = 0o077;

/**
 * The 32 bytes of the instance key: from the environment variable POMBO_INSTANCE_KEY when it is set and
 * not empty, else from `file`. (POMBO_INSTANCE_KEY_FILE is already in `file`: config/config.ts reads it.)
 * Throws StartError with the cure.
 */
export function loadInstanceKey(source: { file: string; env: Record<string, string | undefined> }): Uint8Array {
  const given = source.env["POMBO_INSTANCE_KEY"] ?? "";
  const origin = given === "" ? `The file ${source.file}` : "The variable POMBO_INSTANCE_KEY";
  const parsed = parseInstanceKey(given === "" ? readKeyFile(source.file) : given);
  if (parsed.kind === "key") return parsed.key;
  throw new StartError(`${origin} holds no usable instance key. ${parsed.message}`);
}

/** The text of a file with a recovery key, which a restore was told of. Throws StartError with the cure. */
export function readRecoveryKey(file: string): string {
  if (existsSync(file)) return readKeyFile(file).trim();
  throw new StartError(
    `There is no file ${file}. Put the recovery key that pombo init printed into it (chmod 600); if that is lost, --new-key goes on without it.`,
  );
}

/**
 * Writes a recovery key to a new file, 0600 and synced with its folder: after this returns, the key
 * outlives a power cut. Never overwrites: the key of an existing database could not be made again.
 * Throws StartError with the cure.
 */
export function writeInstanceKey(file: string, key: string): void {
  if (parseInstanceKey(key).kind === "fault") throw new Error("this is no instance key");
  const descriptor = createKeyFile(file);
  try {
    writeFileSync(descriptor, `${key}\n`);
    fsyncSync(descriptor);
  } catch (error) {
    // Half a key would stand in the way of the next try.
    unlinkSync(file);
    throw new StartError(`The instance key could not be written to ${file}: ${getErrorMessage(error)}`);
  } finally {
    closeSync(descriptor);
  }
  syncFolder(file);
}

function createKeyFile(file: string): number {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    return openSync(file, O_CREAT | O_EXCL | O_WRONLY, 0o600);
  } catch (error) {
    if (getErrorCode(error) === "EEXIST") {
      throw new StartError(
        `${file} exists already and is never overwritten: without the key in it, secrets in its database are lost. ` +
          "Move it away if you are sure that no database needs it.",
      );
    }
    throw new StartError(`The instance key could not be written to ${file}: ${getErrorMessage(error)}`);
  }
}

function readKeyFile(file: string): string {
  // O_NONBLOCK: opening a pipe by mistake would otherwise wait for ever.
  const descriptor = openKeyFile(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // Asked of the open file, not of its path, which might change hands in between.
    const { mode, size } = fstatSync(descriptor);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > KEY_FILE_MAX_BYTES) {
      throw new StartError(`${file} is not the file of an instance key.`);
    }
    if ((mode & OTHERS) !== 0) {
      throw new StartError(
        `The instance key in ${file} can be read or changed by other users of this machine: run chmod 600 ${file}`,
      );
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function openKeyFile(file: string, flags: number): number {
  try {
    return openSync(file, flags);
  } catch (error) {
    if (getErrorCode(error) === "ENOENT") {
      throw new StartError(
        `There is no instance key at ${file}. For a new instance run pombo init; for an existing database put the ` +
          "recovery key that pombo init printed into that file (chmod 600) or into POMBO_INSTANCE_KEY.",
      );
    }
    throw createAccessError(
      error,
      `The instance key in ${file} cannot be read (${getErrorMessage(error)}): run pombo as the user that owns the file.`,
    );
  }
}
