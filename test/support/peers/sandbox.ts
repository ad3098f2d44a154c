// `pombo dev` as a test suite of a user's starts it: a process of its own on any port, told by one line of
// JSON what it made.

import { dirname } from "node:path";
import { findPombo } from "./pombo.ts";
import { startProcess, waitUntil, type Cleanup, type Running } from "./process.ts";

const START_TIMEOUT_MS = 20_000;

export interface Sandbox {
  readonly process: Running;
  /** Its folder. */
  readonly data: string;
  readonly url: string;
  /** As people type it: passkeys need a name. */
  readonly origin: string;
  /** Where a person is signed in at once. */
  readonly dashboardUrl: string;
  readonly apiKey: string;
  readonly operatorKey: string;
  readonly workspaceId: string;
  readonly domain: string;
  /** Host and port where mail comes in. */
  readonly inbound: string;
  /** And where programs hand it in. */
  readonly submission: string;
}

export interface SandboxOptions {
  /** One that is started again has to be found where it was. */
  port?: number;
  /** A folder that outlives it. */
  data?: string;
}

/** Starts a sandbox that writes to `logFile` and keeps its files beside it until it is ended. */
export async function startSandbox(logFile: string, cleanup: Cleanup, options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, data = `${logFile}.data` } = options;
  const command = [...findPombo().command, "dev", "--port", String(port), "--json", "--data", data];
  const sandbox = startProcess({ command, logFile, env: { TMPDIR: dirname(logFile) } });
  cleanup.add(() => sandbox.stop());
  const firstLine = () => /^\{.*\}$/m.exec(sandbox.output())?.[0] ?? null;
  await waitUntil("the sandbox is ready", START_TIMEOUT_MS, () => {
    if (!sandbox.isAlive()) throw new Error(`the sandbox ended at once:\n${sandbox.output()}`);
    return firstLine() !== null;
  });
  const ready = JSON.parse(firstLine() ?? "{}") as Omit<Sandbox, "process" | "data" | "origin">;
  return { process: sandbox, data, origin: `http://localhost:${new URL(ready.url).port}`, ...ready };
}
