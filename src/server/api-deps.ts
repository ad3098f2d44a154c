import type { AnyElysia } from "elysia";
import type { ApiOptions } from "../api/app.ts";
import type { RouteDeps } from "./api-routes.ts";
import type { Clock } from "../platform/clock.ts";
import type { Config } from "../config/config.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import type { KeyPairs } from "../protocols/dkim/keys.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { Keychain } from "../modules/domains/signing-keys.ts";
import type { Verifier } from "../modules/domains/verify.ts";
import type { DeletedDomainSweep } from "../modules/emails/delivery/deleted-domain-sweep.ts";
import type { HeldQueueExpiry } from "../modules/emails/delivery/held-queue-expiry.ts";
import { makeMailDueNow } from "../modules/emails/queue/make-due.ts";
import type { Preparer } from "../modules/emails/content/prepare-thread.ts";
import type { FindRelay } from "../modules/emails/delivery/relay.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import { keyVerifier } from "../modules/api-keys/verify.ts";
import type { Log } from "../platform/log.ts";
import type { SendingRates } from "../modules/plans/sending-block.ts";
import type { Worker } from "../platform/queue/worker.ts";
import type { Random } from "../platform/random.ts";
import { type OperatorView, operatorDeps } from "./operator-deps.ts";
import { namedPlanFinder, planFinder, type Stores } from "./stores.ts";
import type { TellOfEmail } from "../modules/emails/events.ts";
import type { Events } from "../modules/events/index.ts";
import type { Webhooks } from "../modules/webhooks/index.ts";
import type { Sms } from "../modules/sms/index.ts";
import type { BackgroundTask } from "../platform/background-task.ts";

type PlanOf = ReturnType<typeof planFinder>;

/** What server.ts has built by the time that the API is. */
export interface ServerObjects {
  config: Config;
  stores: Stores;
  common: { commit: Commit; clock: Clock; random: Random; log: Log; pages: ApiDeps["keys"]["pages"] };
  guard: DiskGuard;
  keyring: Keyring;
  keychain: Keychain;
  preparer: Preparer;
  bodies: ApiDeps["bodies"];
  bodyLimits: ApiDeps["bodyLimits"];
  findRelay: FindRelay;
  events: Events;
  tellOfEmail: TellOfEmail;
  webhooks: Webhooks;
  verifier: Verifier;
  abandoner: DeletedDomainSweep;
  worker: Worker;
  rates: SendingRates;
  heldExpiry: HeldQueueExpiry;
  removal: BackgroundTask;
  issues: ApiDeps["issues"];
  exampleDomain: string;
  beside: AnyElysia | null;
  makeKeys: () => Promise<KeyPairs>;
  overseen: OperatorView;
  texter: Sms;
}

/** What the API and the routes of each module are given. */
export type ApiDeps = Omit<ApiOptions, "routes"> & RouteDeps;

export function buildApiDeps(built: ServerObjects): ApiDeps {
  const { config, stores, common, guard, keyring, preparer, findRelay, events, tellOfEmail, worker, issues } = built;
  const { commit, clock, log } = common;
  const planOf = planFinder(config, stores);
  const planNames = Object.keys(config.plans);
  const verifyKey = keyVerifier({
    keys: stores.keys,
    commit,
    clock,
    log,
    operatorKeyHash: () => stores.settings.get("operator_key_hash"),
  });
  return {
    ...common,
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
    sms: built.texter,
    domains: domainPartsOf(built, planOf),
    keys: { ...stores, ...common, planOf },
    suppressions: { ...stores, ...common },
    webhooks: built.webhooks.createRoutes({ planOf, pages: common.pages }),
    events: events.createRoutes(verifyKey),
    workspaces: { ...stores, ...common, ...config.workspaces, planNames },
    operator: operatorPartsOf(built),
    usage: { ...stores, namedPlanOf: namedPlanFinder(config, stores), clock },
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

function domainPartsOf(built: ServerObjects, planOf: PlanOf): ApiDeps["domains"] {
  const { config, stores, common, keyring, keychain, verifier, abandoner, makeKeys } = built;
  return {
    ...stores,
    ...common,
    keyring,
    keychain,
    planOf,
    makeKeys,
    verifier,
    settings: settingsOf(config),
    deleteKeysOf: (domainId) => stores.keys.deleteOfDomain(domainId),
    deleted: () => abandoner.begin(),
  };
}

function settingsOf({ email }: Config) {
  return { bounceHost: email.bounceHost, dmarcRua: email.dmarcRua };
}

function operatorPartsOf(built: ServerObjects): ApiDeps["operator"] {
  const { config, stores, common, keychain, verifier, worker, rates, heldExpiry, removal, texter } = built;
  return {
    ...operatorDeps({ ...built, ...built.overseen }),
    suppressions: { ...stores, ...common },
    inbox: { ...stores, ...common },
    sms: texter,
    domains: {
      ...stores,
      ...common,
      verifier,
      lifted: (domain) => void makeMailDueNow(domain, { ...stores, ...common, nudge: nudgeBy(worker) }),
    },
    workspaces: {
      ...stores,
      ...common,
      planNames: Object.keys(config.plans),
      forgetRates: (workspaceId) => rates.forgetRates(workspaceId),
      holdChanged(workspaceId, isHeld) {
        if (isHeld) return heldExpiry.look();
        worker.release(workspaceId);
        texter.release();
      },
      deleted({ domainIds }) {
        for (const id of domainIds) keychain.forget(id);
        built.webhooks.sweepDeleted();
        removal.trigger();
      },
    },
  };
}

function nudgeBy(worker: Worker) {
  return (laneId: number, dueAt: number, expiresAt?: number) => worker.nudge(laneId, dueAt, expiresAt);
}
