// The log of requests: what programs asked of the API lately, and how it was answered.

import type { Context } from "../../platform/context.ts";
import { createPurge } from "../../platform/db/purge.ts";
import type { KeyStore } from "../api-keys/store.ts";
import { RequestRecorder, type RecorderDeps } from "./record.ts";
import { type RequestRouteDeps, requestRoutes } from "./routes.ts";
import type { RequestStore } from "./store.ts";

/** How long a request stays in the log; docs/privacy.md names it. */
const RETENTION_MS = 30 * 24 * 3_600_000;

export function createRequests(
  context: Context & Pick<RecorderDeps, "guard">,
  { requests, keys }: { requests: RequestStore; keys: KeyStore },
  shared: Pick<RequestRouteDeps, "pages">,
) {
  const recorder = new RequestRecorder({ ...context, requests });
  const purge = createPurge(context, "requests", () => requests.purge(context.clock.now() - RETENTION_MS));
  return {
    recorder,
    routes: () => requestRoutes({ requests, keys, ...shared }),
    start: () => purge.start(),
    async stop() {
      await purge.stop();
      await recorder.stop();
    },
  };
}
