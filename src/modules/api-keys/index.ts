// API keys: made, listed and deleted over the API, and verified at each request.

import type { Context } from "../../platform/context.ts";
import type { InstanceSettings } from "../../platform/db/instance-settings.ts";
import { type KeyDeps, keyRoutes } from "./routes.ts";
import { createKeyVerifier } from "./verify.ts";

export function createApiKeys(
  context: Context,
  stores: Pick<KeyDeps, "keys" | "domains"> & { settings: Pick<InstanceSettings, "get"> },
  module: Pick<KeyDeps, "pages" | "findPlan" | "recordAudit">,
) {
  return {
    routes: () => keyRoutes({ ...context, ...stores, ...module }),
    verifyKey: createKeyVerifier({
      ...context,
      keys: stores.keys,
      getOperatorKeyHash: () => stores.settings.get("operator_key_hash"),
    }),
  };
}
