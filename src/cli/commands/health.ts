import { getSocketFile, STANDING_BY_HEADER } from "../../platform/http/unix-socket.ts";
import { type Command, CommandError } from "../framework/definition.ts";
import { becomeOwner } from "../client/data-owner.ts";
import { findInstance } from "../client/settings.ts";

const ASK_MS = 5_000;

/** `pombo health`: whether the instance answers, for a container's health check. Health issues do not count. */
export const health: Command = {
  name: "health",
  arguments: [],
  options: {
    config: { value: "FILE", about: "the configuration, as for serve" },
    "data-dir": { value: "DIR", about: "the data directory, instead of the configuration" },
  },
  about: "Exit with 0 if the instance answers, else with 1: for the health check of a container.",
  async run(args, terminal) {
    const { dataDir } = findInstance({ config: args.text("config"), dataDir: args.text("data-dir") }, terminal.env);
    becomeOwner(dataDir);
    if (!(await isAnswering(dataDir, ASK_MS)))
      throw new CommandError(`No pombo on ${dataDir} answered within ${ASK_MS / 1_000} s.`);
    terminal.say("pombo answers.");
  },
};

/** Whether an instance takes the operator's commands there, or is well and stands by. */
export async function isAnswering(dataDir: string, patienceMs: number): Promise<boolean> {
  return (await findState(dataDir, patienceMs)) !== null;
}

/** Null: nothing answers there. */
export async function findState(dataDir: string, patienceMs: number): Promise<"works" | "stands by" | null> {
  try {
    const response = await fetch("http://localhost/api/v1/operator/workspaces?limit=1", {
      unix: getSocketFile(dataDir),
      keepalive: false,
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.text();
    if (response.headers.has(STANDING_BY_HEADER)) return "stands by";
    return response.ok ? "works" : null;
  } catch {
    return null;
  }
}
