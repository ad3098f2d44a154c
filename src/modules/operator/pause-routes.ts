import { Elysia } from "elysia";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { requestBody } from "../../platform/http/body/validate.ts";
import type { Log } from "../../platform/log.ts";
import type { DeliveryPause } from "../../platform/queue/delivery-pause.ts";
import { showPause } from "./overview.ts";
import { TAG } from "./queue-routes.ts";
import { DeliveryState, QueuePause } from "./queue-schema.ts";

export interface PauseRouteDeps {
  pause: Pick<DeliveryPause, "pause" | "hold" | "resume">;
  log: Log;
}

const NO_REASON = "The operator has paused it.";

/** All delivery waits for the operator, and goes on. */
export function operatorPauseRoutes({ pause, log }: PauseRouteDeps) {
  return new Elysia({ name: "operator pause", prefix: "/api/v1/operator/queue" })
    .post(
      "/pause",
      async ({ request, body }) => {
        operatorCaller(request);
        const { reason = NO_REASON } = body;
        await pause.hold(reason);
        log.event("delivery.paused", { reason }, "warn");
        return { data: { paused: showPause(pause.pause) } };
      },
      {
        body: requestBody(QueuePause),
        parse: "json",
        detail: describe({
          id: "pauseDelivery",
          tag: TAG,
          summary: "Pause all delivery",
          description:
            "Of emails, texts and calls to webhooks, also over a restart. What is under way ends; what is accepted waits, and expires on its time.",
          responses: answers(200, DeliveryState, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .post(
      "/resume",
      async ({ request }) => {
        operatorCaller(request);
        const before = pause.pause;
        await pause.resume();
        if (before !== null) log.event("delivery.resumed", { reason: before.reason });
        return { data: { paused: showPause(pause.pause) } };
      },
      {
        detail: describe({
          id: "resumeDelivery",
          tag: TAG,
          summary: "Let delivery go on",
          description:
            "After a restore this sends what was in the queue at the restore point, some of which may have been delivered before: drop it first where that must not be.",
          responses: answers(200, DeliveryState, [400, 401, 403, 413, 415, 503]),
        }),
      },
    );
}
