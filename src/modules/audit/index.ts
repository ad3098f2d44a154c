// Audit: who changed what in a workspace, and in the instance.

import type { Context } from "../../platform/context.ts";
import { type AuditDeps, createRecorder } from "./record.ts";
import type { AuditStore } from "./store.ts";

export function createAudit(context: Context, stores: { audit: AuditStore }, module: Pick<AuditDeps, "findNetwork">) {
  const deps = { ...context, ...stores, ...module };
  return { recordAudit: createRecorder(deps) };
}
