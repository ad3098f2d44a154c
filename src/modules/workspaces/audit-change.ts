// Writes down which settings of a workspace changed.

import type { RecordAudit } from "../audit/record.ts";
import type { WorkspaceChange, WorkspaceRow } from "./store.ts";

/** Inside the transaction of the change: of each setting that differs, what it was and what it is. */
export function auditChange(
  before: WorkspaceRow,
  change: WorkspaceChange,
  request: Request,
  recordAudit: RecordAudit,
): void {
  const changed = (Object.keys(change) as (keyof typeof change)[]).filter((name) => before[name] !== change[name]);
  if (changed.length === 0) return;
  const detail = Object.fromEntries(changed.map((name) => [name, { before: before[name], after: change[name] }]));
  recordAudit({ workspaceId: before.id, request, action: "workspace.changed", target: null, detail });
}
