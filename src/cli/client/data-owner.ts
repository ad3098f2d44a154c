import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { StartError } from "../../platform/errors.ts";
import { plain } from "../framework/text.ts";

// Only the owner works on a data directory. The service's user can replace whatever it can write: by
// links to files of root's, by a database that is made to deceive. So root becomes the owner before the first file
// of the directory is looked at, for good, and reads no configuration of another user as root.

export interface Owner {
  uid: number;
  gid: number;
}

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** From here on this process is the data directory's owner, where root has started it. Throws StartError. */
export function becomeOwner(dataDir: string): void {
  const owner = ownerBesideRoot(dataDir);
  if (owner !== null) become(owner);
}

/**
 * The owner of a data directory that is not root's own, while root asks; null: there is nobody to become. Of one that
 * is not there yet, that of the folder that it will be made in. Throws StartError where root must not go.
 */
export function ownerBesideRoot(dataDir: string): Owner | null {
  if (!isRoot()) return null;
  const { path, stats } = nearest(resolve(dataDir));
  if (stats.isSymbolicLink())
    throw new StartError(
      `${plain(path)} is a link, and root follows no link to a data directory: set data_dir to the folder that it leads to.`,
    );
  const open = openPlace(path, stats.uid);
  if (open === path && stats.uid === 0)
    throw new StartError(
      `Users other than root can write to ${plain(path)}, so root makes nothing there: make a folder in it yourself (mkdir -m 700), and let that be the data directory.`,
    );
  if (open !== null)
    throw new StartError(
      `${plain(path)} belongs to ${nameOf(stats.uid)}, and ${plain(open)} on the way to it can be changed by others: give both one owner, and run pombo as that user.`,
    );
  return stats.uid === 0 ? null : ownerOf(stats);
}

/**
 * From here on root is the owner of a configuration: what that says is where this process will work. Throws StartError
 * where yet others could change it, and as lstat does where there is none.
 */
export function becomeOwnerOfConfig(file: string): void {
  if (!isRoot()) return;
  const path = resolve(file);
  const stats = lstatSync(path);
  const open = openPlace(path, stats.uid);
  if (open !== null)
    throw new StartError(
      `${plain(path)} belongs to ${nameOf(stats.uid)} and says what root does, and ${plain(open)} can be changed by others: give both to root (chown root:pombo, chmod 640 the file and 750 its folder), or run pombo as their owner.`,
    );
  if (stats.uid !== 0) become(ownerOf(stats));
}

/** Throws StartError where others could lead root elsewhere, when it makes a file in that folder. */
export function requireRootsPlace(folder: string): void {
  if (!isRoot()) return;
  const open = openPlace(nearest(resolve(folder)).path, 0);
  if (open === null) return;
  throw new StartError(
    `Users other than root can write to ${plain(open)}, so root makes no configuration there: name one in a folder of root's (--config /etc/pombo/config.toml), or run pombo as the user whose folder it is. Nothing was set up.`,
  );
}

function nameOf(uid: number): string {
  return uid === 0 ? "root" : `uid ${uid}`;
}

/** The owner of a file or folder. The group is never root's. */
function ownerOf({ uid, gid }: Stats): Owner {
  return { uid, gid: gid === 0 ? groupOfUser(uid) : gid };
}

/** For good: uid, gid, and none of root's other groups. Throws StartError where this is not allowed. */
export function become({ uid, gid }: Owner): void {
  try {
    process.setgroups?.([]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `Root must become the owner of the data directory (uid ${uid}) and cannot (${reason}): run pombo as that user.`,
    );
  }
  const isStill = process.getuid?.() !== uid || process.geteuid?.() !== uid || process.getegid?.() !== gid;
  if (isStill) throw new Error("this process did not become the owner of the data directory");
}

/** What is there of a path: its folder, or the one that it would be made in; or a link, to a folder or to nothing. */
function nearest(path: string): { path: string; stats: Stats } {
  for (let at = path; ; at = dirname(at)) {
    const stats = statsOf(at);
    // Below a file nothing can be made: whoever tries says so.
    if (stats?.isDirectory() === true || stats?.isSymbolicLink() === true) return { path: at, stats };
  }
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

/** As Linux has it. */
const MAX_LINKS = 40;

/**
 * Where on the way to a path another user than root and `owner` could make it lead elsewhere; null: nowhere. The way is
 * the system's: each folder that it passes, each link that it follows and each folder that this leads through. The
 * last place counts as one where something will be made.
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

/** Of what is the owner's already, the owner says who else writes there. */
function isOpen(stats: Stats, owner: number, isLast: boolean): boolean {
  const { uid, gid, mode } = stats;
  if (uid !== 0) return uid !== owner;
  // In a sticky folder what is root's or the owner's is safe; what will be, others may make first.
  if (stats.isSymbolicLink() || ((mode & STICKY) !== 0 && !isLast)) return false;
  return (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && gid !== 0);
}

const NOBODYS_GROUP = 65_534;

/** The one that the user logs in with. */
function groupOfUser(uid: number): number {
  const gid = Number(users().find((fields) => fields[2] === String(uid))?.[3] ?? NOBODYS_GROUP);
  return Number.isInteger(gid) && gid > 0 ? gid : NOBODYS_GROUP;
}

/** Of the user that a unit of systemd's names, by number or not at all too; null: there is none here. */
export function uidOfUser(name: string): number | null {
  if (name === "") return 0;
  const uid = /^\d+$/.test(name) ? name : users().find(([each]) => each === name)?.[2];
  return uid === undefined ? null : Number(uid);
}

/** The fields of each. */
function users(): string[][] {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
}
