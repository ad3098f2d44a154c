import { systemClock } from "../../../platform/clock.ts";
import { takeLock } from "../../../platform/instance-lock.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { readConfig } from "../../client/settings.ts";
import { type Command, CommandError } from "../../framework/definition.ts";
import { findState } from "../health.ts";
import { HAND_OVER_SIGNAL } from "../serve.ts";

const ASK_MS = 5_000;
/** A stop takes 60 s at most, and the lease is given up behind it. */
const PATIENCE_MS = 90_000;
const LOOK_EVERY_MS = 100;

export const HAND_OVER: Command = {
  name: "standby hand-over",
  arguments: [],
  options: { config: { value: "FILE", about: "the configuration, as for serve" } },
  about:
    "Stop pombo on this machine, which has the lease, and give the lease up, so that another machine takes over at once. The service then starts again and stands by.",
  async run(args, terminal) {
    const config = readConfig(args.text("config"), terminal.env);
    becomeOwner(config.dataDir);
    if (config.standby.leaseMs === 0)
      throw new CommandError(
        'This is the only machine: [standby] lease is "0s". To stop it: sudo systemctl stop pombo.',
      );
    const state = await findState(config.dataDir, ASK_MS);
    if (state === "stands by") throw new CommandError("This machine stands by: run this on the one that works.");
    if (state === null) throw new CommandError("pombo does not run on this machine.");
    const lock = takeLock(config.dataDir, "command");
    if (lock.kind === "locked") lock.release();
    if (lock.kind === "locked" || lock.pid === null || lock.byCommand === true)
      throw new CommandError("The process of pombo was not found: look again in a moment.");
    process.kill(lock.pid, HAND_OVER_SIGNAL);
    if (!(await isGone(lock.pid)))
      throw new CommandError(
        `Process ${lock.pid} has not ended within ${PATIENCE_MS / 1_000} s. It goes on with that; its log says what it waits for.`,
      );
    terminal.say(
      "pombo has ended here. A machine that stands by takes over within seconds; if there is none, this one goes on. " +
        "/ready of the other machine says so, and journalctl -u pombo how it ended here.",
    );
  },
};

async function isGone(pid: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_EVERY_MS) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await new Promise<void>((resolve) => systemClock.after(LOOK_EVERY_MS, resolve));
  }
  return false;
}
