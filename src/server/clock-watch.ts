import { ClockStepWatch } from "../platform/clock-step-watch.ts";
import type { Environment } from "../platform/context.ts";
import type { Worker } from "../platform/queue/worker.ts";
import type { Sms } from "../modules/sms/index.ts";
import type { Webhooks } from "../modules/webhooks/index.ts";
import type { Stores } from "./stores.ts";

/** When the database was last written, Unix ms; null: never. */
export function getLastTime({ settings }: Pick<Stores, "settings">): number | null {
  const at = Number(settings.get("last_at") ?? Number.NaN);
  return Number.isFinite(at) ? at : null;
}

/** Everything that waits for a stored time follows when the clock is set back. */
export function watchClock(of: {
  environment: Environment;
  worker: Worker;
  webhooks: Webhooks;
  sms: Sms;
  stores: Stores;
}) {
  const { environment, worker, webhooks, sms, stores } = of;
  return new ClockStepWatch({
    ...environment,
    steady: environment.steady ?? environment.clock,
    async follow(step, isStart) {
      await Promise.all([worker.rescheduleAfterSetBack(), webhooks.worker.rescheduleAfterSetBack()]);
      // Last, and with the note that it is done: SMS must not follow the same step twice.
      const note = () => stores.settings.set("last_at", String(environment.clock.now()));
      await sms.followSetBack(step, isStart, note);
    },
  });
}
