// The routes of all modules, in the order of the API docs.

import type { AnyElysia } from "elysia";
import { type EmailDeps, emailRoutes } from "../modules/emails/api/routes.ts";
import type { StatusDeps } from "../modules/operator/instance-status.ts";
import { operatorPauseRoutes, type PauseRouteDeps } from "../modules/operator/pause-routes.ts";
import { type OperatorQueueDeps, operatorQueueRoutes } from "../modules/operator/queue-routes.ts";
import { operatorStatusRoutes } from "../modules/operator/status-routes.ts";
import { operatorTraceRoutes } from "../modules/operator/trace-routes.ts";
import type { TraceDeps } from "../modules/operator/trace.ts";
import type { LinkOverview } from "../modules/sms/api/link-overview.ts";
import { linkRoutes } from "../modules/sms/api/operator-routes.ts";
import { type SmsDeps, smsRoutes } from "../modules/sms/api/routes.ts";
import { type LinkTestRouteDeps, linkTestRoutes } from "../modules/sms/link-test/routes.ts";

interface ModuleWithRoutes {
  routes(): AnyElysia;
}

interface ModuleForOperator {
  operatorRoutes(): AnyElysia[];
}

/** Modules with operator's routes, and the dependencies of those that are no modules yet. */
export interface OperatorDeps {
  workspaces: ModuleForOperator;
  suppressions: ModuleForOperator;
  domains: ModuleForOperator;
  inboundMail: ModuleForOperator;
  queue: OperatorQueueDeps;
  pause: PauseRouteDeps;
  status: StatusDeps;
  trace: TraceDeps;
  sms: LinkTestRouteDeps & { overview: LinkOverview };
}

/** The same for all routes. */
export interface RouteDeps {
  emails: EmailDeps;
  sms: SmsDeps;
  domains: ModuleWithRoutes;
  workspaces: ModuleWithRoutes;
  plans: ModuleWithRoutes;
  apiKeys: ModuleWithRoutes;
  suppressions: ModuleWithRoutes;
  operator: OperatorDeps;
  webhooks: AnyElysia;
  events: AnyElysia;
}

export function createRoutes(deps: RouteDeps): AnyElysia[] {
  return [
    emailRoutes(deps.emails),
    smsRoutes(deps.sms),
    ...[deps.domains, deps.workspaces, deps.plans, deps.apiKeys, deps.suppressions].map((each) => each.routes()),
    ...createOperatorRoutes(deps.operator),
    deps.webhooks,
    deps.events,
  ];
}

/** Those under /api/v1/operator; each asks who calls. */
export function createOperatorRoutes(deps: OperatorDeps): AnyElysia[] {
  const { workspaces, suppressions, domains, inboundMail, sms } = deps;
  return [
    ...[workspaces, suppressions, domains, inboundMail].flatMap((each) => each.operatorRoutes()),
    operatorStatusRoutes(deps.status),
    operatorQueueRoutes(deps.queue),
    operatorPauseRoutes(deps.pause),
    operatorTraceRoutes(deps.trace),
    linkRoutes(sms),
    linkTestRoutes(sms),
  ];
}
