// The operator's socket as a file: who can open it, what it replaces, and what it leaves alone.
import { expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../../src/platform/errors.ts";
import { listenOnSocket } from "../../../src/platform/http/unix-socket.ts";

interface Folder extends Disposable {
  path: string;
  socket: string;
}

function temporary(): Folder {
  const path = mkdtempSync(join(tmpdir(), "pombo-socket-"));
  return {
    path,
    socket: join(path, "pombo.sock"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

const listenAt = (socket: string) => listenOnSocket(socket, (request) => Promise.resolve(new Response(request.url)));
const ask = async (socket: string) =>
  (await fetch("http://localhost/api/v1/x?y=z", { unix: socket, keepalive: false })).text();

/** A socket that a killed process leaves: bound, and nobody listens any more. */
async function leaveStale(socket: string): Promise<void> {
  const code = `Bun.serve({ unix: ${JSON.stringify(socket)}, fetch: () => new Response() }); console.log("bound")`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe" });
  await child.stdout.getReader().read();
  child.kill("SIGKILL");
  await child.exited;
}

function refusal(socket: string): string {
  try {
    void listenAt(socket).stop(0);
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
    return (error as StartError).message;
  }
  throw new Error("it was made");
}

test("the socket is its owner's alone, whatever the umask, and answers; the umask is as before", async () => {
  using folder = temporary();
  const before = process.umask(0);
  try {
    const listener = listenAt(folder.socket);
    expect(lstatSync(folder.socket).isSocket()).toBe(true);
    expect(lstatSync(folder.socket).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path)).toEqual(["pombo.sock"]);
    expect(await ask(folder.socket)).toBe("http://localhost/api/v1/x?y=z");
    await listener.stop(0);
    expect(readdirSync(folder.path)).toEqual([]);
  } finally {
    expect(process.umask(before)).toBe(0);
  }
});

test("a socket that a killed instance left is replaced, also one that it had not yet put in its place", async () => {
  using folder = temporary();
  await leaveStale(folder.socket);
  await leaveStale(join(folder.path, "sock.new"));
  await expect(ask(folder.socket)).rejects.toThrow("ECONNREFUSED");
  const listener = listenAt(folder.socket);
  expect(await ask(folder.socket)).toContain("/api/v1/x");
  expect(readdirSync(folder.path)).toEqual(["pombo.sock"]);
  await listener.stop(0);
});

test.each(["pombo.sock", "sock.new"])("a file named %s stays, and the sentence says what to do", (name) => {
  using folder = temporary();
  const file = join(folder.path, name);
  writeFileSync(file, "precious");
  expect(refusal(folder.socket)).toBe(
    `${file} is a file that pombo did not make, where its socket for the operator's commands belongs. Look at it, then move it away or delete it.`,
  );
  expect(readFileSync(file, "utf8")).toBe("precious");
});

test("a link is not followed, be it to a socket, and a directory stays too", async () => {
  using folder = temporary();
  const elsewhere = join(folder.path, "elsewhere");
  await leaveStale(elsewhere);
  symlinkSync(elsewhere, folder.socket);
  expect(refusal(folder.socket)).toContain("is a symbolic link that pombo did not make");
  expect(existsSync(elsewhere)).toBe(true);
  rmSync(folder.socket);
  mkdirSync(folder.socket);
  expect(refusal(folder.socket)).toContain("is a directory that pombo did not make");
  expect(lstatSync(folder.socket).isDirectory()).toBe(true);
});

test.skipIf(process.geteuid?.() !== 0)("another user's socket stays, and is named", async () => {
  using folder = temporary();
  await leaveStale(folder.socket);
  chownSync(folder.socket, 12_345, 12_345);
  expect(refusal(folder.socket)).toContain("is a socket of another user (uid 12345)");
  expect(lstatSync(folder.socket).uid).toBe(12_345);
});

test("where none can be made the sentence says so", () => {
  using folder = temporary();
  const socket = join(folder.path, "missing", "pombo.sock");
  expect(refusal(socket)).toContain(`The socket ${socket} for the operator's commands cannot be made (ENOENT`);
});

test("a stop removes the socket and nothing that has taken its place", async () => {
  using folder = temporary();
  const listener = listenAt(folder.socket);
  renameSync(folder.socket, join(folder.path, "moved"));
  writeFileSync(folder.socket, "precious");
  await listener.stop(0);
  expect(readFileSync(folder.socket, "utf8")).toBe("precious");
});
