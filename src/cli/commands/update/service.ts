// The actions of an update that need the rights of the user who started it, root's for a service: replacing the
// executable, and systemctl. Everything else is done by the owner of the data directory, for a service in another
// process, which is not trusted here, as an attacker may control it: nothing that it names is run, and no file of the
// data directory is opened.

import { spawnSync } from "node:child_process";
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { syncFolder } from "../../../platform/db/file/snapshot.ts";
import { hashFile } from "../../../platform/update/recover.ts";
import { pickEnvironment } from "../../client/child-environment.ts";
import { CommandError } from "../../framework/definition.ts";
import { isRoot, openPlace, findUid } from "../../client/data-owner.ts";
import { type Brought, bringExecutable, type Source } from "./source.ts";
import { plain } from "../../framework/text.ts";
import { getErrorMessage } from "../../../platform/errors.ts";

export interface Running {
  pid: number;
  /** The systemd unit that runs it; null: it was started by hand, or by another supervisor. */
  unit: string | null;
  /** After the executable. */
  args: string[];
  cwd: string;
  /** The part of its environment that the next one gets. */
  env: Record<string, string>;
}

export interface HostActions {
  /** Fetches and checks the new executable, beside this one; null: it is the same. */
  bring(): Promise<Brought | null>;
  /** Examines a process; its unit is the one of the actions below. Throws CommandError if it must not be touched. */
  inspect(pid: number): Promise<Running>;
  /** Whether the unit that an earlier update recorded is a service that runs this executable as that owner. */
  adopt(unit: string): Promise<boolean>;
  stop(): Promise<void>;
  start(): Promise<void>;
  hasFailed(): Promise<boolean>;
  /** Puts the new executable in the place of this one, which stays beside it. */
  replace(): Promise<void>;
  /** Undoes `replace`. */
  putBack(): Promise<void>;
  /** Removes temporary files. */
  end(): Promise<void>;
}

export interface HostActionsOptions {
  binary: string;
  source: Source;
  /** The user that the instance must run as. */
  uid: number;
  env: Readonly<Record<string, string | undefined>>;
  /** /proc, and systemctl (null: not installed). */
  machine?: Machine;
}

interface Machine {
  proc: string;
  systemctl: string | null;
}

const SYSTEMCTL = ["/usr/bin/systemctl", "/bin/systemctl", "/run/current-system/sw/bin/systemctl"];

const UNIT_NAME = /^[\w@.:\\-]+\.service$/;

/** Throws CommandError if others than root can change the executable that root would replace. */
export function createHostActions({
  binary,
  source,
  uid,
  env,
  machine = { proc: "/proc", systemctl: SYSTEMCTL.find((each) => existsSync(each)) ?? null },
}: HostActionsOptions): HostActions {
  if (isRoot()) requireRootsOwn(binary);
  const draft = `${binary}.new`;
  const systemd = openSystemd(env, machine);
  let unit: Unit | null = null;
  let sha256: string | null = null;
  const mustHave = () => {
    if (unit === null) throw new CommandError("systemd has no unit that runs this pombo.");
    return unit;
  };
  return {
    async bring() {
      const brought = await bringExecutable(source, draft);
      sha256 = brought.sha256;
      return sha256 === (await hashFile(binary)) ? null : brought;
    },
    inspect(pid) {
      const at = join(machine.proc, String(pid));
      const startedAt = readStartTime(at);
      const found = inspect(pid, { at, binary, uid });
      unit = systemd.findUnit(pid, at);
      // Otherwise the process has ended, and another one got its number.
      if (readStartTime(at) !== startedAt) {
        unit = null;
        throw new CommandError(
          `The running process ${pid} has just ended: run the command again. Nothing was changed.`,
        );
      }
      if (unit?.isUsers === false && !isRoot())
        throw new CommandError(`systemd runs this pombo (${unit.name}): run the update as root. Nothing was changed.`);
      return Promise.resolve({ ...found, unit: unit?.name ?? null });
    },
    adopt(name) {
      const found = { name, isUsers: !isRoot() };
      if (UNIT_NAME.test(name) && systemd.runs(found, { binary, uid })) unit = found;
      return Promise.resolve(unit !== null);
    },
    stop: () => Promise.resolve(systemd.must(mustHave(), "stop")),
    start() {
      systemd.call(mustHave(), ["reset-failed"]);
      return Promise.resolve(systemd.must(mustHave(), "start"));
    },
    hasFailed: () => Promise.resolve(systemd.call(mustHave(), ["is-failed"]).code === 0),
    async replace() {
      if (sha256 === null || (await hashFile(draft)) !== sha256)
        throw new CommandError(`${draft} was changed after it was copied: another update may be running.`);
      keepPrevious(binary);
      renameSync(draft, binary);
      syncFolder(binary);
    },
    async putBack() {
      if (sha256 === null || (await hashFile(binary)) !== sha256) return;
      renameSync(`${binary}.previous`, binary);
      syncFolder(binary);
    },
    end: () => Promise.resolve(rmSync(draft, { force: true })),
  };
}

function requireRootsOwn(binary: string): void {
  // The draft is created in its folder.
  const open = openPlace(dirname(binary), 0) ?? openPlace(binary, 0);
  if (open === null) return;
  throw new CommandError(
    `${plain(open)} can be changed by users other than root, and so can ${plain(binary)}: give it to root (chown root:root, chmod 755), move the executable to a folder that belongs to root, or run the update as its owner. Nothing was changed.`,
  );
}

function inspect(pid: number, of: { at: string; binary: string; uid: number }): Omit<Running, "unit"> {
  if (!Number.isSafeInteger(pid) || pid < 1)
    throw new CommandError("The running process is unknown. Nothing was changed.");
  if (pid === 1)
    throw new CommandError(
      "This pombo runs in a container: update its image, and keep the volume. Nothing was changed.",
    );
  const { at } = of;
  let executable: string;
  let found: Omit<Running, "unit">;
  let users: string[];
  try {
    users = /^Uid:\s+(.*)$/m.exec(readFileSync(`${at}/status`, "utf8"))?.[1]?.split(/\s+/) ?? [];
    executable = readlinkSync(`${at}/exe`).replace(/ \(deleted\)$/, "");
    const words = (file: string) => readFileSync(`${at}/${file}`, "utf8").split("\0");
    const env = words("environ").filter((line) => line.includes("="));
    const entries = env.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
    found = {
      pid,
      args: words("cmdline").slice(1, -1),
      cwd: readlinkSync(`${at}/cwd`),
      env: pickEnvironment(Object.fromEntries(entries)),
    };
  } catch (error) {
    throw new CommandError(
      `The running process ${pid} cannot be examined (${getErrorMessage(error)}): run the update as root. Nothing was changed.`,
    );
  }
  if (users.length === 0 || users.some((each) => each !== String(of.uid)))
    throw new CommandError(
      `The running process ${pid} does not belong to the owner of the data directory (uid ${of.uid}): run the update as root, or stop the process and run the command again. Nothing was changed.`,
    );
  if (executable !== of.binary)
    throw new CommandError(
      `The running process ${pid} is another executable (${plain(executable)}) than this one (${of.binary}): stop it and run the command again, or run the update with that executable. Nothing was changed.`,
    );
  return found;
}

/** Tells a process from a later one with the same number (proc_pid_stat(5), field 22); null: there is none. */
function readStartTime(at: string): string | null {
  const text = tryRead(join(at, "stat"));
  // The third field follows the name in parentheses, which may hold anything.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

function tryRead(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

interface Unit {
  name: string;
  /** It belongs to a user's own systemd. */
  isUsers: boolean;
}

function openSystemd(env: HostActionsOptions["env"], { systemctl: path }: Machine) {
  const { XDG_RUNTIME_DIR = "", DBUS_SESSION_BUS_ADDRESS = "" } = env;
  const call = ({ name, isUsers }: Unit, words: string[]): { code: number | null; output: string } => {
    if (path === null) return { code: null, output: "systemctl is not installed" };
    const { status, stdout, stderr } = spawnSync(path, [...(isUsers ? ["--user"] : []), ...words, "--", name], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...pickEnvironment({}), ...(isUsers ? { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } : {}) },
    });
    return { code: status, output: `${stdout ?? ""}${stderr ?? ""}` };
  };
  return {
    call,
    must(unit: Unit, verb: "start" | "stop"): void {
      const { code, output } = call(unit, [verb]);
      if (code !== 0) throw new CommandError(`systemctl ${verb} ${unit.name} failed: ${output.trim()}`);
    },
    /** The unit whose main process it is. */
    findUnit(pid: number, at: string): Unit | null {
      const group = (tryRead(join(at, "cgroup")) ?? "")
        .split("\n")
        .map((line) => /^(?:0:|\d+:name=systemd):(.*)$/.exec(line)?.[1])
        .find((found) => found !== undefined);
      const name = group?.split("/").at(-1) ?? "";
      if (!UNIT_NAME.test(name)) return null;
      const unit = { name, isUsers: group?.includes("/user@") ?? false };
      // A process of a unit may start a pombo by hand, as in a session or a build job.
      return call(unit, ["show", "--property=MainPID", "--value"]).output.trim() === String(pid) ? unit : null;
    },
    /** Only as a service: a oneshot unit does not run an instance. */
    runs(unit: Unit, of: { binary: string; uid: number }): boolean {
      const lines = call(unit, ["show", "--property=Type,User,ExecStart"]).output.split("\n");
      const properties = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
      const program = /^\{ path=(\S+) ;/.exec(properties["ExecStart"] ?? "")?.[1];
      if (program === undefined || !existsSync(program) || realpathSync(program) !== of.binary) return false;
      // A user's own systemd runs everything as that user.
      return properties["Type"] !== "oneshot" && (unit.isUsers || findUid(properties["User"] ?? "") === of.uid);
    },
  };
}

function keepPrevious(binary: string): void {
  const draft = `${binary}.previous.new`;
  rmSync(draft, { force: true });
  try {
    linkSync(binary, draft);
  } catch {
    copyFileSync(binary, draft, constants.COPYFILE_EXCL);
  }
  renameSync(draft, `${binary}.previous`);
}
