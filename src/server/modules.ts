// The modules of the product, joined: each is given what it needs of the others.

import type { AnyElysia } from "elysia";
import { requireDashboard } from "../config/dashboard-place.ts";
import { createAccounts } from "../modules/accounts/index.ts";
import { createAlerts } from "../modules/alerts/index.ts";
import { createApiKeys } from "../modules/api-keys/index.ts";
import { createAudit } from "../modules/audit/index.ts";
import { createCertificates } from "../modules/certificates/index.ts";
import { createDoctor } from "../modules/doctor/index.ts";
import { createDomains } from "../modules/domains/index.ts";
import { openKeychain } from "../modules/domains/signing-keys.ts";
import { createEmails } from "../modules/emails/index.ts";
import { createPreviews } from "../modules/emails/preview/index.ts";
import { createEvents } from "../modules/events/index.ts";
import type { Receive } from "../modules/inbound-mail/inbound-message.ts";
import { createInboundMail } from "../modules/inbound-mail/index.ts";
import { KnownReporters } from "../modules/inbound-mail/server/known-reporters.ts";
import { type OperatorDeps, operatorRoutes, recoveryKeyRoutes } from "../modules/operator/index.ts";
import { createLive } from "../modules/live/index.ts";
import { createMembers } from "../modules/members/index.ts";
import { createPlans } from "../modules/plans/index.ts";
import { SendingRates } from "../modules/plans/sending-block.ts";
import { createUsedUpScan } from "../modules/plans/used-up.ts";
import { createRecipients } from "../modules/recipients/index.ts";
import { createRequests } from "../modules/requests/index.ts";
import { createSms } from "../modules/sms/index.ts";
import { createSharedLimits } from "../modules/plans/shared-limits.ts";
import { createSubmission } from "../modules/submission/index.ts";
import { createSuppressions } from "../modules/suppressions/index.ts";
import { createUnsubscribe } from "../modules/unsubscribe/index.ts";
import { createWebhooks } from "../modules/webhooks/index.ts";
import { createWorkspaces } from "../modules/workspaces/index.ts";
import { createContentRule } from "../modules/workspaces/read-content.ts";
import { BUILD } from "../platform/build-info.ts";
import type { Context } from "../platform/context.ts";
import { requireStillValid } from "../platform/http/auth.ts";
import { clientNetwork } from "../platform/http/client-address.ts";
import { createListPages } from "../platform/http/pagination.ts";
import { AfterCommit } from "../platform/db/after-commit.ts";
import type { Db } from "../platform/db/open.ts";
import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";
import { createDatabaseGrowth } from "../platform/db/file/growth.ts";
import { createPurge } from "../platform/db/purge.ts";
import { createFileShrink } from "../platform/db/file/shrink.ts";
import { parseRanges } from "../platform/ip/address.ts";
import { redact } from "../platform/log.ts";
import { generateKeyPairs, type KeyPairs } from "../protocols/dkim/keys.ts";
import type { Core, CoreOptions } from "./core.ts";
import { emitRateEvent, emitStoreEvents } from "./event-sources.ts";
import type { Resolvers } from "./resolvers.ts";
import { openThread as openNewThread } from "./start-mail-worker.ts";

export interface ModuleOptions extends Pick<CoreOptions, "config" | "environment"> {
  /** For a domain that is registered; default: new ones. */
  makeKeys?: () => Promise<KeyPairs>;
  /** False: sending is never blocked for its rates, as in the sandbox, whose mail bounces on purpose. */
  isRateBlocking?: boolean;
  /** True: this is `pombo dev`. */
  isSandbox?: boolean;
  /** Takes inbound mail in place of the module; default: the module does. */
  receive?: Receive;
  /** Default: a new one each time. */
  openThread?: OpenThread;
}

export type Modules = ReturnType<typeof createModules>;

/** Nothing begins to act before its start(). `getPort`: the API's; 0: none was taken yet. Throws StartError. */
export function createModules(
  options: ModuleOptions,
  core: Core & { db: Db },
  resolvers: Resolvers,
  getPort: () => number,
) {
  const { config, environment, openThread = openNewThread } = options;
  const { db, stores, keyring, committer, guard, pause, counters } = core;
  const { clock, random, log, steady = clock } = environment;
  const { commit } = core;
  const commitHere = committer.commit;
  const kept = core.barrier?.kept;
  const context: Context & Pick<Core, "guard"> = { commit, commitHere, kept, clock, steady, random, log, guard };
  // For what a crash may undo harmlessly: it is found, or done, again.
  const local = { ...context, commit: commitHere };
  const keychain = openKeychain(stores.domains, keyring);
  const reporters = new KnownReporters(clock);

  const trusted = parseRanges(config.http.trustedProxies);
  const audit = createAudit(context, stores, {
    findNetwork: (request) => clientNetwork(request, trusted),
    retentionMs: config.records.retentionMs,
  });
  const { recordAudit } = audit;
  const mayReadContent = createContentRule({ ...context, ...stores, recordAudit });
  const pages = createListPages(keyring.hmacKey("list-cursor"));
  const shared = { pages, keyring, pause, openThread, recordAudit, mayReadContent };
  const findPlace = () => requireDashboard(config, getPort());
  const unsubscribing = createUnsubscribe(context, stores, {
    // The sandbox's mail is read on its own machine.
    findOrigin: () => config.http.publicUrl ?? (options.isSandbox === true ? findPlace().origin : null),
    mailHost: config.inbound.listen === null ? null : config.email.bounceHost,
    key: keyring.hmacKey("unsubscribe"),
    findNetwork: (request) => clientNetwork(request, trusted),
    failuresPerMinute: config.rateLimits.failedAuthPerMinute,
  });
  const members = createMembers(context, stores, config, { ...audit, findPlace });
  const plans = createPlans(context, stores, config);
  const { findPlan } = plans;
  const events = createEvents(context, stores, { db, keyring });
  const { record } = events;
  emitStoreEvents(stores, events, clock);
  const webhooks = createWebhooks(context, stores, config, { ...shared, events, resolver: resolvers.callResolver });
  const rates = new SendingRates({
    ...stores,
    clock,
    log,
    isBlocking: options.isRateBlocking ?? true,
    notify: (notice) => emitRateEvent(notice, events),
  });
  db.listeners.push(rates);
  const afterCommit = new AfterCommit();
  db.listeners.push(afterCommit);
  const emails = createEmails(context, stores, config, {
    ...shared,
    recorder: events,
    keychain,
    rates,
    reporters,
    resolver: resolvers.resolver,
    findPlan,
    unsubscribeLinks: unsubscribing.links,
    memory: environment.memory,
    afterCommit: (notify) => afterCommit.run(notify),
    show: config.log.addresses === "full" ? (words) => words : redact,
  });
  const accounts = createAccounts(context, stores, {
    site: { url: config.dashboard.url, trustedProxies: trusted },
    hostname: config.hostname,
    instance: {
      version: BUILD.version,
      isSandbox: options.isSandbox ?? false,
      canMail: config.dashboard.from !== null,
      magicLinks: config.dashboard.magicLinks,
    },
    findSubmission: () => submission.findPlace(),
    members,
    recordAudit,
    keyring,
    sendSystemMail: emails.sendSystemMail,
    pages: shared.pages,
    findPlace: config.dashboard.enabled ? findPlace : null,
    signInsPerMinute: config.rateLimits.failedAuthPerMinute,
  });
  const smsContext = { ...context, ...shared, commitSoon: committer.commitSoon, record, findPlan };
  const sms = createSms({ ...smsContext, resolver: resolvers.callResolver }, stores, config);
  const domains = createDomains(context, stores, config, {
    ...shared,
    findPlan,
    keychain,
    record,
    resolver: resolvers.checkResolver,
    dashboard: config.dashboard.enabled ? { url: config.dashboard.url, findPlace } : null,
    makeKeys: options.makeKeys ?? generateKeyPairs,
    deleted: () => emails.domainDeleted(),
    lifted: (domain) => void emails.retryDomain(domain),
  });
  const workspaces = createWorkspaces(context, stores, config, {
    ...shared,
    findNamedPlan: plans.findNamedPlan,
    buildUsage: plans.buildUsage,
    smsNetwork: { isConnected: config.sms.routes.length > 0, example: sms.numbering.example },
    forgetLanes: (laneIds) => emails.worker.forgetLanes(laneIds),
    deleted(domainIds) {
      for (const id of domainIds) keychain.forget(id);
      webhooks.sweepDeleted();
    },
    forgetRates: (workspaceId) => rates.forgetRates(workspaceId),
    holdChanged(workspaceId, isHeld) {
      emails.holdChanged(workspaceId, isHeld);
      if (!isHeld) sms.release();
    },
  });
  const certificates = createCertificates(context, stores, config, {
    keyring,
    resolver: resolvers.checkResolver,
    counts: counters.certificates,
  });
  const usedUp = createUsedUpScan({ ...stores, findNamedPlan: plans.findNamedPlan, clock });
  events.subscribe({
    isInterested: () => false,
    receive({ type, workspaceId }) {
      if (type === "workspace.quota_warning") usedUp.note(workspaceId);
      return null;
    },
  });
  const alerts = createAlerts(local, stores, config, {
    keyring,
    resolver: resolvers.callResolver,
    queueMail: emails.queueSystemMail,
    sendSms: sms.sendSystemSms,
  });
  const inboundMail = createInboundMail(context, stores, config, {
    ...shared,
    reporters,
    certificate: certificates.source,
    resolver: resolvers.checkResolver,
    counts: counters.inbound,
    receive: options.receive,
    processReport: (uid, reported) => emails.processReport(uid, reported),
    unsubscribe: unsubscribing.unsubscribe,
    readUnsubscribe: unsubscribing.links.readLocalPart,
  });
  const doctor = createDoctor(local, stores, config, {
    ...resolvers.doctor,
    queueMail: emails.queueSystemMail,
    attempts: emails.attempts,
  });
  const apiKeys = createApiKeys(context, stores, { ...shared, findPlan });
  const sharedLimits = createSharedLimits(config.rateLimits);
  const submission = createSubmission(context, stores, config, {
    verifyKey: apiKeys.verifyKey,
    emails,
    shared: sharedLimits,
    certificate: certificates.source,
    counts: counters.submission,
    mayAuthenticateInClear: options.isSandbox ?? false,
  });
  const suppressions = createSuppressions(context, stores, shared);
  const { recordEvent, readContent } = emails;
  const recipients = createRecipients(context, stores, { ...shared, recordEvent, readContent });
  const previews = createPreviews(context, stores, { ...shared, readContent });
  const requests = createRequests(local, stores, shared);
  const live = createLive(context, stores, {
    changes: db.changes,
    attempts: emails.attempts,
    verifyKey: apiKeys.verifyKey,
    openShare: (request) => domains.openShare(request),
    watchDomain: (domainId) => domains.watch(domainId),
  });
  const { retentionMs } = config.idempotency;
  const idempotency = createPurge(local, "idempotency", () => stores.idempotency.purge(clock.now() - retentionMs));
  const fileShrink = createFileShrink(local, core.db);
  const growth = createDatabaseGrowth({ ...local, ...stores, db: core.db });
  const forOperator = {
    accounts,
    workspaces,
    suppressions,
    recipients,
    domains,
    inboundMail,
    certificates,
    alerts,
    doctor,
    sms,
  };
  return {
    accounts,
    audit,
    members,
    plans,
    events,
    webhooks,
    emails,
    sms,
    domains,
    workspaces,
    certificates,
    alerts,
    usedUp,
    doctor,
    inboundMail,
    submission,
    sharedLimits,
    suppressions,
    unsubscribing,
    recipients,
    apiKeys,
    requests,
    live,
    previews,
    idempotency,
    fileShrink,
    growth,
    /** In the order of the API docs. */
    routes: (operator: OperatorDeps): AnyElysia[] => [
      ...[emails, previews, sms, domains, workspaces, plans, apiKeys, suppressions, recipients].flatMap((each) =>
        each.routes((request) => requireStillValid(request, apiKeys.verifyKey)),
      ),
      ...accounts.routes(),
      ...createOperatorRoutes(forOperator, operator),
      ...workspaces.ownRoutes(),
      audit.routes(shared),
      requests.routes(),
      ...members.routes({ ...shared, findPlan, sendSystemMail: emails.sendSystemMail }),
      webhooks.createRoutes({ findPlan, ...shared }),
      events.createRoutes(apiKeys.verifyKey),
      ...live.routes(),
    ],
    /** Those of the operator's socket. */
    socketRoutes: (operator: OperatorDeps): AnyElysia[] => [
      workspaces.routes(),
      ...createOperatorRoutes(forOperator, operator),
    ],
  };
}

type ForOperator = Record<
  | "accounts"
  | "workspaces"
  | "suppressions"
  | "recipients"
  | "domains"
  | "inboundMail"
  | "certificates"
  | "alerts"
  | "doctor"
  | "sms",
  { operatorRoutes(): AnyElysia[] }
>;

/** Those under /api/v1/operator; each asks who calls. */
export function createOperatorRoutes(modules: ForOperator, operator: OperatorDeps): AnyElysia[] {
  const { accounts, workspaces, suppressions, recipients, domains, inboundMail, certificates, alerts, doctor, sms } =
    modules;
  return [
    ...[workspaces, suppressions, recipients, domains, inboundMail, accounts, certificates, alerts, doctor].flatMap(
      (each) => each.operatorRoutes(),
    ),
    operatorRoutes(operator),
    recoveryKeyRoutes(operator),
    ...sms.operatorRoutes(),
  ];
}
