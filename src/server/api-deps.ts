import type { AnyElysia } from "elysia";
import type { ApiOptions } from "../api/app.ts";
import type { OperatorDeps, RouteDeps } from "./api-routes.ts";
import type { Clock } from "../platform/clock.ts";
import type { Config } from "../config/config.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { Preparer } from "../modules/emails/content/prepare-thread.ts";
import type { FindRelay } from "../modules/emails/delivery/relay.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import type { Log } from "../platform/log.ts";
import type { ListPages } from "../platform/http/pagination.ts";
import type { Worker } from "../platform/queue/worker.ts";
import type { Random } from "../platform/random.ts";
import { routingOf } from "../modules/sms/api/routing.ts";
import { type OperatorView, operatorDeps } from "./operator-deps.ts";
import type { Plan } from "../config/config.ts";
import type { Stores } from "./stores.ts";
import type { TellOfEmail } from "../modules/emails/events.ts";
import type { Events } from "../modules/events/index.ts";
import type { Webhooks } from "../modules/webhooks/index.ts";
import type { SmsGateway } from "./sms-gateway.ts";

type PlanOf = (workspaceId: number) => Plan;

/** What server.ts has built by the time that the API is. */
export interface ServerObjects {
  config: Config;
  stores: Stores;
  common: { commit: Commit; clock: Clock; random: Random; log: Log; pages: ListPages };
  guard: DiskGuard;
  keyring: Keyring;
  preparer: Preparer;
  bodies: ApiDeps["bodies"];
  bodyLimits: ApiDeps["bodyLimits"];
  findRelay: FindRelay;
  events: Events;
  tellOfEmail: TellOfEmail;
  webhooks: Webhooks;
  modules: Pick<RouteDeps, "domains" | "workspaces" | "suppressions"> &
    Pick<OperatorDeps, "domains" | "workspaces" | "suppressions" | "inboundMail"> & {
      plans: RouteDeps["plans"] & { planOf: PlanOf };
      apiKeys: RouteDeps["apiKeys"] & Pick<ApiDeps, "verifyKey">;
    };
  worker: Worker;
  issues: ApiDeps["issues"];
  exampleDomain: string;
  beside: AnyElysia | null;
  overseen: OperatorView;
  texter: Pick<SmsGateway, "nudge" | "operator">;
}

/** What the API and the routes of each module are given. */
export type ApiDeps = Omit<ApiOptions, "routes"> & RouteDeps;

export function buildApiDeps(built: ServerObjects): ApiDeps {
  const { config, stores, common, guard, keyring, preparer, findRelay, events, tellOfEmail, worker } = built;
  const { issues, modules } = built;
  const { planOf } = modules.plans;
  const { verifyKey } = modules.apiKeys;
  const planNames = Object.keys(config.plans);
  return {
    ...common,
    ...modules,
    emails: {
      ...stores,
      ...common,
      guard,
      planOf,
      standingOf: (workspaceId) => stores.workspaces.byId(workspaceId),
      preparer,
      nudge: nudgeBy(worker),
      findRelay,
      tellOfEmail,
      record: events.record,
      settings: {
        ...settingsOf(config),
        lifetimeMs: config.email.lifetimeMs,
        keepAnswersMs: config.idempotency.retentionMs,
        returnPathKey: keyring.hmacKey("return-path"),
      },
    },
    sms: smsPartsOf(built, planOf),
    webhooks: built.webhooks.createRoutes({ planOf, pages: common.pages }),
    events: events.createRoutes(verifyKey),
    operator: operatorPartsOf(built),
    verifyKey,
    creation: config.workspaces.creation,
    planNames,
    bodies: built.bodies,
    bodyLimits: built.bodyLimits,
    rateLimits: config.rateLimits,
    trustedProxies: config.http.trustedProxies,
    exampleDomain: built.exampleDomain,
    issues,
    beside: built.beside,
  };
}

function settingsOf({ email }: Config) {
  return { bounceHost: email.bounceHost, dmarcRua: email.dmarcRua };
}

function smsPartsOf(built: ServerObjects, planOf: PlanOf): ApiDeps["sms"] {
  const { config, stores, common, guard, events } = built;
  const { otpLifetimeMs: otp, transactionalLifetimeMs: transactional, bulkLifetimeMs: bulk } = config.sms;
  return {
    ...stores,
    ...common,
    guard,
    planOf,
    record: events.record,
    routing: routingOf(config.sms.routes),
    prefixes: config.sms.prefixes,
    nudge: (work) => built.texter.nudge(work),
    settings: { lifetimesMs: { otp, transactional, bulk }, keepAnswersMs: config.idempotency.retentionMs },
  };
}

function operatorPartsOf(built: ServerObjects): ApiDeps["operator"] {
  return { ...operatorDeps({ ...built, ...built.overseen }), ...built.modules, sms: built.texter.operator };
}

function nudgeBy(worker: Worker) {
  return (laneId: number, dueAt: number, expiresAt?: number) => worker.nudge(laneId, dueAt, expiresAt);
}
