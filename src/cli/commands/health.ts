import { getSocketFile } from "../../platform/http/unix-socket.ts";
import type { Terminal } from "../framework/terminal.ts";
import { becomeOwner } from "../client/data-owner.ts";
import { CommandError } from "../framework/failure.ts";
import { findInstance } from "../client/settings.ts";

const ASK_MS = 5_000;

export interface HealthOptions {
  config: string | undefined;
  dataDir: string | undefined;
}

/** `pombo health`: whether the instance answers, for what restarts a container. Its issues do not count. */
export async function health(options: HealthOptions, terminal: Terminal): Promise<void> {
  const { dataDir } = findInstance(options, terminal.env);
  becomeOwner(dataDir);
  if (!(await isAnswering(dataDir, ASK_MS)))
    throw new CommandError(`No pombo answers on ${dataDir} within ${ASK_MS / 1_000} s.`);
  terminal.out("pombo answers.");
}

/** Whether an instance takes the operator's commands there. */
export async function isAnswering(dataDir: string, patienceMs: number): Promise<boolean> {
  try {
    const response = await fetch("http://localhost/api/v1/operator/workspaces?limit=1", {
      unix: getSocketFile(dataDir),
      keepalive: false,
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.text();
    return response.ok;
  } catch {
    return false;
  }
}
