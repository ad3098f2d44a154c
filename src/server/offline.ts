import { start } from "./server.ts";
import type { AppOptions } from "./app.ts";
import { takeLock } from "../platform/instance-lock.ts";

/** The operator's routes over a data directory; `held`: an instance has it, or another command. */
export type Offline =
  | { kind: "open"; handle(request: Request): Promise<Response>; close(): Promise<void> }
  | { kind: "held"; pid: number | null };

/**
 * For the operator's commands while no instance runs: everything that an instance is made of, but nothing of it
 * listens or sends. Throws StartError as a start does.
 */
export async function openOffline(options: AppOptions): Promise<Offline> {
  const lock = takeLock(options.config.dataDir, "command");
  if (lock.kind === "held") return lock;
  try {
    const started = await start(options, "command", () => lock.release());
    if (started.kind !== "command") throw new Error("a command's start began to act");
    return {
      kind: "open",
      handle: (request) => started.handle(request),
      close: () => started.close(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
