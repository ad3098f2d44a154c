// The routes of all modules, in the order of the API docs.

import type { AnyElysia } from "elysia";
import { type KeyDeps, keyRoutes } from "../modules/api-keys/routes.ts";
import { type OperatorDomainDeps, operatorDomainRoutes } from "../modules/domains/operator-routes.ts";
import { type DomainDeps, domainRoutes } from "../modules/domains/routes.ts";
import { type EmailDeps, emailRoutes } from "../modules/emails/api/routes.ts";
import { type InboxDeps, inboxRoutes } from "../modules/inbound-mail/operator-routes.ts";
import type { StatusDeps } from "../modules/operator/instance-status.ts";
import { operatorPauseRoutes, type PauseRouteDeps } from "../modules/operator/pause-routes.ts";
import { type OperatorQueueDeps, operatorQueueRoutes } from "../modules/operator/queue-routes.ts";
import { operatorStatusRoutes } from "../modules/operator/status-routes.ts";
import { operatorTraceRoutes } from "../modules/operator/trace-routes.ts";
import type { TraceDeps } from "../modules/operator/trace.ts";
import { type UsageDeps, usageRoutes } from "../modules/plans/routes.ts";
import type { Sms } from "../modules/sms/index.ts";
import { type OperatorSuppressionDeps, operatorSuppressionRoutes } from "../modules/suppressions/operator-routes.ts";
import { type SuppressionDeps, suppressionRoutes } from "../modules/suppressions/routes.ts";
import { type BlockDeps, blockRoutes } from "../modules/workspaces/operator/block-routes.ts";
import { type CreditDeps, creditRoutes } from "../modules/workspaces/operator/credit-routes.ts";
import { type DeleteRouteDeps, deleteRoutes } from "../modules/workspaces/operator/delete-routes.ts";
import { type OperatorKeyDeps, operatorKeyRoutes } from "../modules/workspaces/operator/key-routes.ts";
import { type OperatorWorkspaceDeps, operatorWorkspaceRoutes } from "../modules/workspaces/operator/routes.ts";
import { type SenderIdDeps, senderIdRoutes } from "../modules/workspaces/operator/sender-id-routes.ts";
import { type WorkspaceDeps, workspaceRoutes } from "../modules/workspaces/routes.ts";

/** The dependencies of the operator's routes, by module. */
export interface OperatorDeps {
  workspaces: OperatorWorkspaceDeps & DeleteRouteDeps & BlockDeps & CreditDeps & SenderIdDeps & OperatorKeyDeps;
  suppressions: OperatorSuppressionDeps;
  domains: OperatorDomainDeps;
  inbox: InboxDeps;
  queue: OperatorQueueDeps;
  pause: PauseRouteDeps;
  status: StatusDeps;
  trace: TraceDeps;
  sms: Pick<Sms, "operatorRoutes">;
}

/** The dependencies of all routes, by module. */
export interface RouteDeps {
  emails: EmailDeps;
  sms: Pick<Sms, "routes">;
  domains: DomainDeps;
  keys: KeyDeps;
  workspaces: WorkspaceDeps;
  suppressions: SuppressionDeps;
  operator: OperatorDeps;
  usage: UsageDeps;
  webhooks: AnyElysia;
  events: AnyElysia;
}

export function createRoutes(deps: RouteDeps): AnyElysia[] {
  return [
    emailRoutes(deps.emails),
    deps.sms.routes(),
    domainRoutes(deps.domains),
    workspaceRoutes(deps.workspaces),
    usageRoutes(deps.usage),
    keyRoutes(deps.keys),
    suppressionRoutes(deps.suppressions),
    ...createOperatorRoutes(deps.operator),
    deps.webhooks,
    deps.events,
  ];
}

/** Those under /api/v1/operator; each asks who calls. */
export function createOperatorRoutes(deps: OperatorDeps): AnyElysia[] {
  const { workspaces } = deps;
  return [
    operatorWorkspaceRoutes(workspaces),
    deleteRoutes(workspaces),
    blockRoutes(workspaces),
    creditRoutes(workspaces),
    senderIdRoutes(workspaces),
    operatorKeyRoutes(workspaces),
    operatorSuppressionRoutes(deps.suppressions),
    operatorDomainRoutes(deps.domains),
    inboxRoutes(deps.inbox),
    operatorStatusRoutes(deps.status),
    operatorQueueRoutes(deps.queue),
    operatorPauseRoutes(deps.pause),
    operatorTraceRoutes(deps.trace),
    ...deps.sms.operatorRoutes(),
  ];
}
