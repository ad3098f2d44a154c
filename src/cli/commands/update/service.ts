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
import { syncFolder } from "../../../platform/db/snapshot.ts";
import { sha256Of } from "../../../platform/update/recover.ts";
import { passedOn } from "../../client/child-environment.ts";
import { CommandError } from "../../framework/failure.ts";
import { isRoot, openPlace, uidOfUser } from "../../client/data-owner.ts";
import { type Brought, bringExecutable, type Source } from "./source.ts";
import { plain } from "../../framework/text.ts";

// What an update does with the rights of whoever started it, which is root's where the instance is a service: the
// executable's own file, and systemctl. All else is done by the owner of the data directory, in another process
// then, whose words are not believed here: it may be in the hands of somebody who took over the service. Nothing is
// run that it names, and no file of the data directory is opened.

export interface Running {
  pid: number;
  /** The unit of systemd that runs it; null: it was started by hand, or by a supervisor that is not known here. */
  unit: string | null;
  /** Behind the executable. */
  args: string[];
  cwd: string;
  /** Of its environment what is passed on to a next one. */
  env: Record<string, string>;
}

export interface Hands {
  /** The new executable, checked, beside this one; null: it is this one. */
  bring(): Promise<Brought | null>;
  /** What runs as this process. Its unit is the one of the verbs below. Throws CommandError where it is not to be touched. */
  inspect(pid: number): Promise<Running>;
  /** The unit that an earlier update wrote down: whether it is a service that runs this executable as that owner. */
  adopt(unit: string): Promise<boolean>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Whether systemd has given the unit up. */
  hasFailed(): Promise<boolean>;
  /** The new executable takes the place of this one, which stays beside it. */
  replace(): Promise<void>;
  /** The other way round, where it did. */
  putBack(): Promise<void>;
  /** Nothing is left that an update does not leave. */
  end(): Promise<void>;
}

export interface HandsOptions {
  /** This executable's file. */
  binary: string;
  source: Source;
  /** Whom the instance must run as. */
  uid: number;
  env: Readonly<Record<string, string | undefined>>;
  /** Where the system shows its processes, and systemctl; null: it is not here. */
  machine?: Machine;
}

interface Machine {
  proc: string;
  systemctl: string | null;
}

const SYSTEMCTL = ["/usr/bin/systemctl", "/bin/systemctl", "/run/current-system/sw/bin/systemctl"];

function thisMachine(): Machine {
  return { proc: "/proc", systemctl: SYSTEMCTL.find((each) => existsSync(each)) ?? null };
}

const UNIT_NAME = /^[\w@.:\\-]+\.service$/;

/** Throws CommandError where others than root could change the executable that root is to replace. */
export function localHands({ binary, source, uid, env, machine = thisMachine() }: HandsOptions): Hands {
  if (isRoot()) requireRootsOwn(binary);
  const draft = `${binary}.new`;
  const systemd = systemdOf(env, machine);
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
      return sha256 === (await sha256Of(binary)) ? null : brought;
    },
    inspect(pid) {
      const at = join(machine.proc, String(pid));
      const startedAt = startOf(at);
      const found = inspect(pid, { at, binary, uid });
      unit = systemd.unitOf(pid, at);
      // Or what was seen last is another process, which got its number.
      if (startOf(at) !== startedAt) {
        unit = null;
        throw new CommandError(`The running process ${pid} has just ended: run this again. Nothing was changed.`);
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
      if (sha256 === null || (await sha256Of(draft)) !== sha256)
        throw new CommandError(`${draft} was changed after it was copied: another update may be running.`);
      keepPrevious(binary);
      renameSync(draft, binary);
      syncFolder(binary);
    },
    async putBack() {
      if (sha256 === null || (await sha256Of(binary)) !== sha256) return;
      renameSync(`${binary}.previous`, binary);
      syncFolder(binary);
    },
    end: () => Promise.resolve(rmSync(draft, { force: true })),
  };
}

function requireRootsOwn(binary: string): void {
  // Its folder too is a place where something is made: the draft.
  const open = openPlace(dirname(binary), 0) ?? openPlace(binary, 0);
  if (open === null) return;
  throw new CommandError(
    `${plain(open)} can be changed by users other than root, and so can ${plain(binary)}: give it to root (chown root:root, chmod 755), move the executable to a folder of root's, or run the update as its owner. Nothing was changed.`,
  );
}

/** What is read of another process is taken for text, whatever it is. */
function inspect(pid: number, of: { at: string; binary: string; uid: number }): Omit<Running, "unit"> {
  if (!Number.isSafeInteger(pid) || pid < 1)
    throw new CommandError("The running process is not known. Nothing was changed.");
  if (pid === 1)
    throw new CommandError(
      "This pombo is the first process of a container: update it by its image, with the same volume. Nothing was changed.",
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
      env: passedOn(Object.fromEntries(entries)),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `The running process ${pid} cannot be examined (${reason}): run the update as root. Nothing was changed.`,
    );
  }
  if (users.length === 0 || users.some((each) => each !== String(of.uid)))
    throw new CommandError(
      `The running process ${pid} does not belong to the owner of the data directory (uid ${of.uid}): run the update as root, or end the process and run this again. Nothing was changed.`,
    );
  if (executable !== of.binary)
    throw new CommandError(
      `The running process ${pid} is another executable (${plain(executable)}) than this one (${of.binary}): end it and run this again, or run the update with that executable. Nothing was changed.`,
    );
  return found;
}

/** What tells a process from a later one with its number (proc_pid_stat(5), field 22); null: there is none. */
function startOf(at: string): string | null {
  const text = textOf(join(at, "stat"));
  // Behind the name in parentheses, which may hold anything, comes the third field.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

interface Unit {
  name: string;
  /** Of a person's own systemd. */
  isUsers: boolean;
}

function systemdOf(env: HandsOptions["env"], { systemctl: path }: Machine) {
  const { XDG_RUNTIME_DIR = "", DBUS_SESSION_BUS_ADDRESS = "" } = env;
  const call = ({ name, isUsers }: Unit, words: string[]): { code: number | null; output: string } => {
    if (path === null) return { code: null, output: "systemctl is not here" };
    const { status, stdout, stderr } = spawnSync(path, [...(isUsers ? ["--user"] : []), ...words, "--", name], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...passedOn({}), ...(isUsers ? { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } : {}) },
    });
    return { code: status, output: `${stdout ?? ""}${stderr ?? ""}` };
  };
  return {
    call,
    must(unit: Unit, verb: "start" | "stop"): void {
      const { code, output } = call(unit, [verb]);
      if (code !== 0) throw new CommandError(`systemctl ${verb} ${unit.name} failed: ${output.trim()}`);
    },
    /** Whose main process it is. */
    unitOf(pid: number, at: string): Unit | null {
      const group = (textOf(join(at, "cgroup")) ?? "")
        .split("\n")
        .map((line) => /^(?:0:|\d+:name=systemd):(.*)$/.exec(line)?.[1])
        .find((found) => found !== undefined);
      const name = group?.split("/").at(-1) ?? "";
      if (!UNIT_NAME.test(name)) return null;
      const unit = { name, isUsers: group?.includes("/user@") ?? false };
      // What a unit runs may start a pombo by hand too: a session, a job of a build.
      return call(unit, ["show", "--property=MainPID", "--value"]).output.trim() === String(pid) ? unit : null;
    },
    /** As a service: what a job runs has an end, and is no instance. */
    runs(unit: Unit, of: { binary: string; uid: number }): boolean {
      const lines = call(unit, ["show", "--property=Type,User,ExecStart"]).output.split("\n");
      const said = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
      const program = /^\{ path=(\S+) ;/.exec(said["ExecStart"] ?? "")?.[1];
      if (program === undefined || !existsSync(program) || realpathSync(program) !== of.binary) return false;
      // A person's own systemd runs all as that person.
      return said["Type"] !== "oneshot" && (unit.isUsers || uidOfUser(said["User"] ?? "") === of.uid);
    },
  };
}

/** The executable that is about to be replaced stays beside it. */
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
