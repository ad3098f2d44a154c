// SOCKS5 proxies of others: Dante, which asks for no password here, and microsocks, which does.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { type Cleanup, freePort, type Running, startProcess, waitForListener } from "./process.ts";

export const DANTE: Tool = { program: "danted", package: "dante-server" };
export const MICROSOCKS: Tool = { program: "microsocks", package: "microsocks" };

export interface Proxy {
  readonly port: number;
  readonly process: Running;
  /** SIGKILL to it and to its children. */
  kill(): void;
}

interface ProxyOptions {
  folder: string;
  /** The address that connections leave from. */
  from: string;
  port?: number;
  cleanup: Cleanup;
}

/** `isClosed`: its rules let nobody out. */
export async function startDante(options: ProxyOptions & { isClosed?: boolean }): Promise<Proxy> {
  const { from, isClosed = false } = options;
  const port = options.port ?? (await freePort());
  const folder = join(options.folder, `dante-${port}${isClosed ? "-closed" : ""}`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "danted.conf");
  const lines = [
    `errorlog: ${folder}/errors`,
    `internal: 127.0.0.1 port = ${port}`,
    `external: ${from}`,
    "clientmethod: none",
    "socksmethod: none",
    "user.privileged: root",
    "user.unprivileged: nobody",
    "client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }",
    isClosed
      ? "socks block { from: 0.0.0.0/0 to: 0.0.0.0/0 }"
      : "socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 command: connect }",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  return await start([pathOf("danted"), "-f", file, "-p", join(folder, "pid")], { ...options, port });
}

export async function startMicrosocks(options: ProxyOptions & { username: string; password: string }): Promise<Proxy> {
  const { from, username, password } = options;
  const port = options.port ?? (await freePort());
  const command = [pathOf("microsocks"), "-i", "127.0.0.1", "-p", String(port), "-b", from];
  return await start([...command, "-u", username, "-P", password], { ...options, port });
}

async function start(command: string[], options: { port: number; folder: string; cleanup: Cleanup }): Promise<Proxy> {
  const { port, folder, cleanup } = options;
  // A group of its own, so that its children end with it.
  const process_ = startProcess({ command: ["setsid", ...command], logFile: join(folder, `proxy-${port}.log`) });
  const kill = () => {
    if (process_.isAlive()) process.kill(-process_.pid, "SIGKILL");
  };
  cleanup.add(async () => {
    kill();
    await process_.stop();
  });
  await waitForListener(port);
  return { port, process: process_, kill };
}
