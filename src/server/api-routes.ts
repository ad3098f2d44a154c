// The routes of all modules, in the order of the API docs.

import type { AnyElysia } from "elysia";
import { type KeyDeps, keyRoutes } from "../modules/api-keys/routes.ts";
import { type OperatorDomainDeps, operatorDomainRoutes } from "../modules/domains/operator-routes.ts";
import { type DomainDeps, domainRoutes } from "../modules/domains/routes.ts";
import { type EmailDeps, emailRoutes } from "../modules/emails/api/routes.ts";
import { type InboxDeps, inboxRoutes } from "../modules/inbound-mail/operator-routes.ts";
import { type OperatorDeps as QueueOperatorDeps, operatorRoutes } from "../modules/operator/index.ts";
import { type UsageDeps, usageRoutes } from "../modules/plans/routes.ts";
import type { LinkOverview } from "../modules/sms/api/link-overview.ts";
import { linkRoutes } from "../modules/sms/api/operator-routes.ts";
import { type SmsDeps, smsRoutes } from "../modules/sms/api/routes.ts";
import { type LinkTestRouteDeps, linkTestRoutes } from "../modules/sms/link-test/routes.ts";
import { type OperatorSuppressionDeps, operatorSuppressionRoutes } from "../modules/suppressions/operator-routes.ts";
import { type SuppressionDeps, suppressionRoutes } from "../modules/suppressions/routes.ts";
import { type OperatorWorkspaceDeps, operatorWorkspaceRoutes } from "../modules/workspaces/operator/index.ts";
import { type WorkspaceDeps, workspaceRoutes } from "../modules/workspaces/routes.ts";

/** The dependencies of the operator's routes, by module. */
export interface OperatorDeps {
  workspaces: OperatorWorkspaceDeps;
  suppressions: OperatorSuppressionDeps;
  domains: OperatorDomainDeps;
  inbox: InboxDeps;
  queues: QueueOperatorDeps;
  sms: LinkTestRouteDeps & { overview: LinkOverview };
}

/** The dependencies of all routes, by module. */
export interface RouteDeps {
  emails: EmailDeps;
  sms: SmsDeps;
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
    smsRoutes(deps.sms),
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
  const { sms } = deps;
  return [
    ...operatorWorkspaceRoutes(deps.workspaces),
    operatorSuppressionRoutes(deps.suppressions),
    operatorDomainRoutes(deps.domains),
    inboxRoutes(deps.inbox),
    ...operatorRoutes(deps.queues),
    linkRoutes(sms),
    linkTestRoutes(sms),
  ];
}
