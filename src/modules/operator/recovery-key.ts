// Whether somebody keeps the recovery key elsewhere. The key itself stays out of the API: `pombo recovery-key check` compares it.

import { Elysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import type { InstanceSettings } from "../../platform/db/instance-settings.ts";
import { dateTime } from "../../platform/http/answer-schemas.ts";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe, namedObject } from "../../platform/http/openapi.ts";

export interface RecoveryKeyDeps extends Pick<Context, "clock" | "commit"> {
  settings: Pick<InstanceSettings, "get" | "set">;
}

export const KeptRecoveryKey = namedObject("KeptRecoveryKey", {
  checkedAt: dateTime("When it was confirmed."),
});

export function recoveryKeyRoutes({ settings, commit, clock }: RecoveryKeyDeps) {
  return new Elysia({ name: "recovery-key", prefix: "/api/v1/operator" }).post(
    "/recovery-key/kept",
    async ({ request }) => {
      operatorCaller(request);
      const now = clock.now();
      await commit(() => settings.set("recovery_key_checked", String(now)));
      return { data: { checkedAt: new Date(now).toISOString() } };
    },
    {
      detail: describe({
        id: "confirmRecoveryKey",
        tag: "Operator",
        summary: "Confirm that the recovery key is kept elsewhere",
        description:
          "Ends the doctor's finding `recovery_key`. `pombo recovery-key check` compares the kept key with the instance's, then does this.",
        responses: answers(200, KeptRecoveryKey, [400, 401, 403, 413, 415, 503]),
      }),
    },
  );
}
