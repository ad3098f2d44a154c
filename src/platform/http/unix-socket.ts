// The socket in the data directory over which the operator's commands reach the instance.

import { lstatSync, renameSync, type Stats, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { getErrorMessage, StartError } from "../errors.ts";
import { endWithin, forRouter, IDLE_TIMEOUT_S, type Listener } from "./listen.ts";

// Only its owner (and root) can open the socket, so that requests over it need no key. The listener holds the directory's
// lock: a socket that is there already was left by a killed instance.
//
// It is bound under another name and then renamed: at a stop Bun removes the path that it has bound, whatever is there
// by then, and this way nothing is.

/** Of the answers of a machine that stands by: it has no database open, and knows no command. */
export const STANDING_BY_HEADER = "x-pombo-standing-by";

/** Shorter than the socket's own name, whose length the configuration has made room for. */
const DRAFT = "sock.new";
/** Only for the owner from its first moment, in a directory that others may enter too. */
const UMASK = 0o177;

export function getSocketFile(dataDir: string): string {
  return join(dataDir, "pombo.sock");
}

/**
 * Listens on the socket `path`, mode 0600; a stale one is replaced. Throws StartError with what to do when
 * something else stands in its place, or it cannot be made.
 */
export function listenOnSocket(path: string, handle: (request: Request) => Promise<Response>): Pick<Listener, "stop"> {
  const draft = join(dirname(path), DRAFT);
  removeStale(path);
  removeStale(draft);
  const server = bindAt(draft, path, (request) => handle(forRouter(request)));
  let own: Stats;
  try {
    renameSync(draft, path);
    own = lstatSync(path);
  } catch (error) {
    void server.stop(true);
    throw notMade(path, error);
  }
  return {
    /** Removes the file first. */
    async stop(graceMs) {
      removeOwn(path, own);
      await endWithin(server, graceMs);
    },
  };
}

function bindAt(draft: string, path: string, fetch: (request: Request) => Promise<Response>): Bun.Server<undefined> {
  const umask = process.umask(UMASK);
  try {
    // Bun's types know no idleTimeout for sockets; Bun does. And without `development: false` it would answer what
    // is thrown here with its source.
    const options = {
      unix: draft,
      idleTimeout: IDLE_TIMEOUT_S,
      development: false,
      fetch,
    } as unknown as Bun.Serve.Options<undefined>;
    return Bun.serve(options);
  } catch (error) {
    throw notMade(path, error);
  } finally {
    process.umask(umask);
  }
}

/** Removes the socket of a killed instance, and nothing else. */
function removeStale(path: string): void {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    requireOwnSocket(path, found);
    unlinkSync(path);
  } catch (error) {
    throw error instanceof StartError ? error : notMade(path, error);
  }
}

function requireOwnSocket(path: string, found: Stats): void {
  if (!found.isSocket()) {
    const what = found.isSymbolicLink() ? "a symbolic link" : found.isDirectory() ? "a directory" : "a file";
    throw new StartError(
      `${path} is ${what} that pombo did not make, where its socket for the operator's commands belongs. ` +
        "Look at it, then move it away or delete it.",
    );
  }
  if (found.uid !== process.geteuid?.()) {
    throw new StartError(
      `${path} is a socket of another user (uid ${found.uid}). Run pombo as the user that owns the data directory, ` +
        "or delete the socket once you know where it comes from.",
    );
  }
}

/** At a stop: unless something else has taken the place. */
function removeOwn(path: string, own: Stats): void {
  try {
    const found = lstatSync(path);
    if (found.isSocket() && found.ino === own.ino && found.dev === own.dev) unlinkSync(path);
  } catch {
    // It is gone already, or will be found stale at the next start.
  }
}

function notMade(path: string, error: unknown): StartError {
  return new StartError(
    `The socket ${path} for the operator's commands cannot be made (${getErrorMessage(error)}): run pombo as the user that owns ` +
      "the data directory, on a file system of this machine that is writable and knows sockets.",
  );
}
