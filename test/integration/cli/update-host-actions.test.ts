// What an update does with root's rights, and what it believes of a process that may be in the host of others.
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pickEnvironment } from "../../../src/cli/client/child-environment.ts";
import { type HostActions, createHostActions } from "../../../src/cli/commands/update/service.ts";
import { serveHostActions } from "../../../src/cli/commands/update/remote.ts";
import { waitUntil } from "../../support/peers/process.ts";

const uid = process.geteuid?.() ?? -1;
let folder = "";
let binary = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pombo-host-"));
  chmodSync(folder, 0o755);
  binary = join(folder, "pombo");
  copyFileSync("/bin/sleep", binary);
});
afterAll(() => rmSync(folder, { recursive: true }));

const source = (from: string) => ({ from, sha256: undefined, allowDowngrade: false });
const host = (changes = {}) => createHostActions({ binary, source: source(binary), uid, env: {}, ...changes });

async function withProcess(command: string[], env: Record<string, string>, run: (pid: number) => Promise<void>) {
  const child = Bun.spawn(command, { env, stdout: "ignore", stderr: "ignore" });
  try {
    // The system shows it a moment before its words.
    await waitUntil("its words", 15_000, () => readFileSync(`/proc/${child.pid}/cmdline`, "utf8") !== "");
    await run(child.pid);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

test("of an environment what pombo may be told goes on, and nothing that changes how programs run", () => {
  const hostile = {
    LD_PRELOAD: "/x.so",
    LD_LIBRARY_PATH: "/x",
    BUN_OPTIONS: "-r x",
    NODE_OPTIONS: "x",
    PATH: "/x",
    HOME: "/x",
    GCONV_PATH: "/x",
  };
  const useful = { POMBO_INSTANCE_KEY: "k", HTTPS_PROXY: "p", SSL_CERT_FILE: "f", TZ: "Africa/Maputo", LANG: "C" };
  const { PATH, ...passed } = pickEnvironment({ ...hostile, ...useful, POMBO_NOT_SET: undefined });
  expect(passed).toEqual(useful);
  expect(PATH).not.toContain("/x");
});

test("a process is looked at: its words and its environment, without what is hostile in it", async () => {
  await withProcess([binary, "60"], { LD_PRELOAD: "/nothing.so", POMBO_INSTANCE_KEY: "k" }, async (pid) => {
    const found = await host().inspect(pid);
    expect(found).toMatchObject({ pid, unit: null, args: ["60"] });
    expect(found.env).toEqual({ ...pickEnvironment({}), POMBO_INSTANCE_KEY: "k" });
  });
});

test("one of another user, another executable and numbers that are none are refused", async () => {
  const ask = async (by: HostActions, pid: number) => by.inspect(pid);
  await withProcess([binary, "60"], {}, async (pid) => {
    await expect(ask(host({ uid: uid + 1 }), pid)).rejects.toThrow(
      "does not belong to the owner of the data directory",
    );
  });
  const evil = join(folder, "evil\n[31m");
  copyFileSync("/bin/sleep", evil);
  await withProcess([evil, "60"], {}, async (pid) => {
    const refused = ask(host(), pid);
    await expect(refused).rejects.toThrow("is another executable");
    // Root is not told to run it, and nothing in its name moves the screen.
    await expect(refused).rejects.not.toThrow(/run .*evil|\n/);
  });
  for (const pid of [0, -1, 1, Number.NaN, 1.5, 4_194_305])
    await expect(ask(host(), pid)).rejects.toThrow("Nothing was changed");
});

test("a unit that somebody else names is not started: it must run this executable", async () => {
  for (const name of ["debug-shell.service", "../x.service", "reboot.target", "-H evil.service", ""])
    expect(await host().adopt(name)).toBe(false);
  await expect((async () => host().start())()).rejects.toThrow("no unit");
});

/** A machine with one process, whose number is 7, and a systemd that says what `units` hold. */
function fakeMachine(units: Record<string, string[]>, beforeMainPid = "") {
  const at = mkdtempSync(join(folder, "machine-"));
  const own = join(at, "7");
  mkdirSync(own);
  symlinkSync(binary, join(own, "exe"));
  symlinkSync("/", join(own, "cwd"));
  const start = (ticks: number) => `7 (a) b) S ${Array.from({ length: 18 }, () => 0).join(" ")} ${ticks} 0\n`;
  for (const [name, text] of Object.entries({
    status: `Name:\tpombo\nUid:\t${[uid, uid, uid, uid].join("\t")}\n`,
    cmdline: `${binary}\0serve\0`,
    environ: "",
    cgroup: "0::/system.slice/pombo.service\n",
    stat: start(100),
    "stat.next": start(101),
  }))
    writeFileSync(join(own, name), text);
  for (const [name, lines] of Object.entries(units)) writeFileSync(join(at, name), `${lines.join("\n")}\n`);
  const systemctl = join(at, "systemctl");
  writeFileSync(
    systemctl,
    `#!/bin/sh\ncd ${at}\ncase "$*" in *MainPID*) ${beforeMainPid} echo 7 ;; *show*) shift $(($# - 1)); cat "$1" ;; *) echo "$*" >> done ;; esac\n`,
    { mode: 0o755 },
  );
  return { machine: { proc: at, systemctl }, done: () => readFileSync(join(at, "done"), "utf8") };
}

// A person's own systemd runs all as that person.
test.skipIf(uid !== 0)(
  "of the units that run this executable only a service of the same owner is stopped and started",
  async () => {
    const others = join(folder, "others");
    copyFileSync("/bin/sleep", others);
    const program = (path: string) => `ExecStart={ path=${path} ; argv[]=${path} serve ; ignore_errors=no }`;
    const [service, own] = ["Type=exec", program(binary)];
    const units = {
      "named.service": [service, "User=nobody", own],
      "number.service": ["User=65534", own, service],
      "root.service": [own, "User=", service],
      "other-user.service": [service, "User=daemon", own],
      "no-user.service": [service, "User=nobody-has-this-name", own],
      "job.service": ["Type=oneshot", "User=nobody", own],
      "other.service": [service, "User=nobody", program(others)],
      "none.service": [service, "User=nobody"],
    };
    const { machine, done } = fakeMachine(units);
    const adopted = async (owner: number) => {
      const found: string[] = [];
      for (const name of Object.keys(units)) if (await host({ machine, uid: owner }).adopt(name)) found.push(name);
      return found;
    };
    expect(await adopted(65_534)).toEqual(["named.service", "number.service"]);
    expect(await adopted(0)).toEqual(["root.service"]);
    const by = host({ machine, uid: 65_534 });
    await by.adopt("named.service");
    await by.stop();
    await by.start();
    expect(done()).toBe("stop -- named.service\nreset-failed -- named.service\nstart -- named.service\n");
  },
);

test.skipIf(uid !== 0)(
  "a unit is taken for that of a process while this is the one that was looked at, and not one with its number",
  async () => {
    expect(await host(fakeMachine({})).inspect(7)).toMatchObject({ unit: "pombo.service", args: ["serve"] });
    for (const end of ["mv 7/stat.next 7/stat;", "rm -r 7;"]) {
      const by = host(fakeMachine({}, end));
      await expect((async () => by.inspect(7))()).rejects.toThrow("The running process 7 has just ended");
      await expect((async () => by.stop())()).rejects.toThrow("no unit");
    }
  },
);

test("what was brought takes the place, unless somebody changed it meanwhile, and goes back", async () => {
  const next = join(folder, "next");
  copyFileSync("/bin/cat", next);
  const before = readFileSync(binary);
  const by = host({ source: source(next) });
  expect(await host().bring()).toBeNull();
  const brought = await by.bring();
  expect(brought).toMatchObject({ draft: `${binary}.new`, version: null });
  await by.replace();
  expect(readFileSync(binary)).toEqual(readFileSync(next));
  expect(readFileSync(`${binary}.previous`)).toEqual(before);
  await by.putBack();
  expect(readFileSync(binary)).toEqual(before);
  await by.putBack();
  expect(readFileSync(binary)).toEqual(before);
  await by.bring();
  writeFileSync(`${binary}.new`, "another");
  await expect(by.replace()).rejects.toThrow("was changed after it was copied");
  expect(readFileSync(binary)).toEqual(before);
  await by.end();
});

test("a link in the place of the draft is not written through", async () => {
  const next = join(folder, "next");
  copyFileSync("/bin/cat", next);
  const victim = join(folder, "victim");
  writeFileSync(victim, "precious", { mode: 0o600 });
  symlinkSync(victim, `${binary}.new`);
  const by = host({ source: source(next) });
  await by.bring();
  expect([readFileSync(victim, "utf8"), statSync(victim).mode & 0o777]).toEqual(["precious", 0o600]);
  await by.end();
});

// Whose own the executable is matters to root alone.
test.skipIf(uid !== 0)("root replaces no executable that others could change", () => {
  const refused = () => expect(() => host()).toThrow("can be changed by users other than root");
  const open = (path: string, change: () => void) => {
    change();
    refused();
    chownSync(path, 0, 0);
    chmodSync(path, 0o755);
  };
  // Whoever can rename a folder above it changes it too.
  const top = mkdtempSync(join(tmpdir(), "pombo-host-"));
  const inner = join(top, "opt");
  mkdirSync(inner);
  chmodSync(top, 0o755);
  const own = binary;
  binary = join(inner, "pombo");
  copyFileSync(own, binary);
  try {
    for (const path of [top, inner, binary]) {
      for (const mode of [0o775, 0o757])
        open(path, () => {
          chownSync(path, 0, 4_001);
          chmodSync(path, mode);
        });
      open(path, () => chownSync(path, 4_001, 4_001));
    }
    // Beside it a draft is made: a sticky folder keeps nobody from being first.
    open(inner, () => chmodSync(inner, 0o1777));
    expect(() => host()).not.toThrow();
  } finally {
    binary = own;
    rmSync(top, { recursive: true });
  }
});

test("the process that stays root performs the known actions, answers each with one line, and ends with whoever asks", async () => {
  const done: string[] = [];
  const fake: HostActions = {
    bring: () => Promise.resolve(null),
    inspect: (pid) => Promise.reject(new Error(`no ${pid}`)),
    adopt: (unit) => Promise.resolve(unit === "pombo.service"),
    stop: async () => void done.push("stop"),
    start: async () => void done.push("start"),
    hasFailed: () => Promise.resolve(false),
    replace: async () => void done.push("replace"),
    putBack: async () => void done.push("putBack"),
    end: async () => void done.push("end"),
  };
  const asked = [
    { action: "adopt", argument: "pombo.service" },
    { action: "inspect", argument: "x; rm -rf /" },
    { action: "stop" },
    { action: "__proto__" },
    { action: "constructor" },
    "not JSON",
  ].map((each) => `${typeof each === "string" ? each : JSON.stringify(each)}\n`);
  const out: string[] = [];
  async function* input() {
    for (const each of asked) {
      yield Buffer.from(each.slice(0, 5));
      yield Buffer.from(each.slice(5));
    }
    yield Buffer.from("x".repeat(10_000));
    yield Buffer.from('\n{"action":"start"}\n');
  }
  await serveHostActions(fake, { input, out: (text) => void out.push(text) });
  expect(out.map((line) => JSON.parse(line) as object)).toEqual([
    { value: true },
    { fault: "no NaN", exitCode: 1 },
    { value: null },
    { fault: "there is no such action", exitCode: 1 },
    { fault: "there is no such action", exitCode: 1 },
    { fault: expect.any(String), exitCode: 1 },
  ]);
  // What is no question any more ends it.
  expect(done).toEqual(["stop", "end"]);
});
