// Audit: who changed what in a workspace, and in the instance.

import type { Context } from "../../platform/context.ts";
import { createPurge } from "../../platform/db/purge.ts";
import { type AuditDeps, createRecorder } from "./record.ts";
import { type AuditRouteDeps, auditRoutes } from "./routes.ts";
import type { AuditStore } from "./store.ts";

export function createAudit(
  context: Context,
  { audit }: { audit: AuditStore },
  { retentionMs, findNetwork }: Pick<AuditDeps, "findNetwork"> & { retentionMs: number },
) {
  const purge = createPurge(context, "audit", () => audit.purge(context.clock.now() - retentionMs));
  return {
    recordAudit: createRecorder({ ...context, audit, findNetwork }),
    routes: (module: Pick<AuditRouteDeps, "pages">) => auditRoutes({ audit, ...module }),
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
