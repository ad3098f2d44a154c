// Only the owner of a data directory works on it. The service's user could replace its files by links to root's files,
// or by a malicious database. So root becomes the owner for good before it opens the first file of the directory, and
// reads no configuration of another user as root.

import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { getErrorMessage, StartError } from "../../platform/errors.ts";
import { plain } from "../framework/text.ts";

export interface Owner {
  uid: number;
  gid: number;
}

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** If root started this process, it becomes the data directory's owner. Throws StartError. */
export function becomeOwner(dataDir: string): void {
  const owner = ownerBesideRoot(dataDir);
  if (owner !== null) switchUser(owner);
}

/**
 * The owner of a data directory, if this is root and the owner is not; else null. For a directory that does not exist
 * yet, the owner of the folder it will be created in. Throws StartError where root must not work.
 */
export function ownerBesideRoot(dataDir: string): Owner | null {
  if (!isRoot()) return null;
  const { path, stats } = nearest(resolve(dataDir));
  if (stats.isSymbolicLink())
    throw new StartError(
      `${plain(path)} is a symbolic link, which root does not follow to a data directory: set data_dir to its target.`,
    );
  const open = openPlace(path, stats.uid);
  if (open === path && stats.uid === 0)
    throw new StartError(
      `Users other than root can write to ${plain(path)}, so root creates nothing there: create a folder in it yourself (mkdir -m 700), and use that as the data directory.`,
    );
  if (open !== null)
    throw new StartError(
      `${plain(path)} belongs to ${formatUser(stats.uid)}, but others can change ${plain(open)} on the path to it: give both the same owner, and run pombo as that user.`,
    );
  return stats.uid === 0 ? null : getOwner(stats);
}

/**
 * Root becomes the owner of the configuration, which decides where this process works. Throws StartError if others
 * could change it, and an error of lstat if there is none.
 */
export function becomeOwnerOfConfig(file: string): void {
  if (!isRoot()) return;
  const path = resolve(file);
  const stats = lstatSync(path);
  const open = openPlace(path, stats.uid);
  if (open !== null)
    throw new StartError(
      `${plain(path)} belongs to ${formatUser(stats.uid)} and decides what root does, but others can change ${plain(open)}: give both to root (chown root:pombo, chmod 640 the file and 750 its folder), or run pombo as their owner.`,
    );
  if (stats.uid !== 0) switchUser(getOwner(stats));
}

/** Throws StartError if others could redirect a file that root creates in that folder. */
export function requireRootsPlace(folder: string): void {
  if (!isRoot()) return;
  const open = openPlace(nearest(resolve(folder)).path, 0);
  if (open === null) return;
  throw new StartError(
    `Users other than root can write to ${plain(open)}, so root writes no configuration there: name one in a folder that belongs to root (--config /etc/pombo/config.toml), or run pombo as the owner of the folder. Nothing was set up.`,
  );
}

function formatUser(uid: number): string {
  return uid === 0 ? "root" : `uid ${uid}`;
}

/** The owner of a file or folder. The group is never root's. */
function getOwner({ uid, gid }: Stats): Owner {
  return { uid, gid: gid === 0 ? getPrimaryGroup(uid) : gid };
}

/** For good: uid, gid, and none of root's other groups. Throws StartError if the system refuses. */
export function switchUser({ uid, gid }: Owner): void {
  try {
    process.setgroups?.([]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new StartError(
      `Root cannot become the owner of the data directory (uid ${uid}; ${getErrorMessage(error)}): run pombo as that user.`,
    );
  }
  const isStill = process.getuid?.() !== uid || process.geteuid?.() !== uid || process.getegid?.() !== gid;
  if (isStill) throw new Error("this process did not become the owner of the data directory");
}

/** The part of a path that exists: its folder, or the one that it would be made in; or a link, to a folder or to nothing. */
function nearest(path: string): { path: string; stats: Stats } {
  for (let at = path; ; at = dirname(at)) {
    const stats = readStats(at);
    // Below a file nothing can be made: whoever tries says so.
    if (stats?.isDirectory() === true || stats?.isSymbolicLink() === true) return { path: at, stats };
  }
}

function readStats(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

/** The limit of Linux. */
const MAX_LINKS = 40;

/**
 * The first place on a path that a user other than root and `owner` could redirect; null: there is none. Checks each
 * folder, each link that is followed, and each folder on the way of a link, as the system resolves them. The last place
 * counts as one where something will be created.
 */
export function openPlace(path: string, owner: number): string | null {
  const names = path.split("/");
  for (let at = "/", links = 0; ;) {
    const name = names.shift();
    if (name === undefined) return null;
    const next = resolve(at, name);
    const stats = lstatSync(next);
    if (isOpen(stats, owner, names.length === 0)) return next;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) return next;
    const target = readlinkSync(next);
    if (target.startsWith("/")) at = "/";
    names.unshift(...target.split("/"));
  }
}

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** In places that belong to the owner, the owner decides who else may write. */
function isOpen(stats: Stats, owner: number, isLast: boolean): boolean {
  const { uid, gid, mode } = stats;
  if (uid !== 0) return uid !== owner;
  // In a sticky folder existing files of root or the owner are safe, but others may create a new one first.
  if (stats.isSymbolicLink() || ((mode & STICKY) !== 0 && !isLast)) return false;
  return (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && gid !== 0);
}

const NOBODYS_GROUP = 65_534;

function getPrimaryGroup(uid: number): number {
  const gid = Number(users().find((fields) => fields[2] === String(uid))?.[3] ?? NOBODYS_GROUP);
  return Number.isInteger(gid) && gid > 0 ? gid : NOBODYS_GROUP;
}

/** A user of this machine, with its primary group; null: there is none of that name. */
export function findUser(name: string): Owner | null {
  const uid = findUid(name);
  return uid === null ? null : { uid, gid: getPrimaryGroup(uid) };
}

/** The uid for `User=` of a systemd unit, a name, a number or empty; null: there is no such user. */
export function findUid(name: string): number | null {
  if (name === "") return 0;
  const uid = /^\d+$/.test(name) ? name : users().find(([each]) => each === name)?.[2];
  return uid === undefined ? null : Number(uid);
}

/** The name of the user that this process runs as, or its uid where it has none. */
export function formatOwnUser(): string {
  const uid = String(process.geteuid?.());
  return users().find((fields) => fields[2] === uid)?.[0] ?? uid;
}

/** The fields of /etc/passwd. */
function users(): string[][] {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
}
