import type { Config, NamedPlan, Plan } from "../config/config.ts";
import { AfterCommit } from "../platform/db/after-commit.ts";
import { openInstanceSettings } from "../platform/db/instance-settings.ts";
import type { Db } from "../platform/db/open.ts";
import { openDomainStore } from "../modules/domains/store.ts";
import { openContentStore } from "../modules/emails/content/store.ts";
import { type EmailCounts, openEmailStore } from "../modules/emails/store/store.ts";
import { openReportStore } from "../modules/emails/reports/store.ts";
import { openEventStore } from "../modules/events/store.ts";
import { openIdempotencyStore } from "../modules/idempotency/store.ts";
import { openInboxStore } from "../modules/inbound-mail/store.ts";
import { openKeyStore } from "../modules/api-keys/store.ts";
import { workspaceGone } from "../modules/plans/sending-refusal.ts";
import { openUsageStore } from "../modules/plans/store.ts";
import { openQueueStore } from "../modules/emails/queue/store.ts";
import { openHeldStore } from "../modules/suppressions/held-store.ts";
import { openSuppressionStore } from "../modules/suppressions/store.ts";
import { openInboundStore } from "../modules/sms/inbound/store.ts";
import { openLinkStore } from "../modules/sms/gateway/link-store.ts";
import { openOrphanStore } from "../modules/sms/receipts/orphan-store.ts";
import { openReferenceStore } from "../modules/sms/queue/reference-store.ts";
import { openSeenStore } from "../modules/sms/inbound/duplicate-store.ts";
import { openSegmentStore, type SegmentStore } from "../modules/sms/queue/segment-store.ts";
import { type SettleDeps, settleMessage } from "../modules/sms/queue/settle-message.ts";
import { openMessageStore } from "../modules/sms/queue/message-store.ts";
import { openWorkStore } from "../modules/sms/queue/work-store.ts";
import { openCreditStore } from "../modules/workspaces/credit-store.ts";
import { openWorkspacePurgeStore } from "../modules/workspaces/purge-store.ts";
import { openSenderIdStore } from "../modules/workspaces/sender-store.ts";
import { openDeliveryStore } from "../modules/webhooks/delivery/delivery-store.ts";
import { openWebhookJobStore } from "../modules/webhooks/delivery/job-store.ts";
import { openWebhookStore } from "../modules/webhooks/store.ts";
import { openWorkspaceStore } from "../modules/workspaces/store.ts";

export type Stores = ReturnType<typeof openStores>;

/** All stores over one connection, each with its statements prepared; `counts` is told of the emails. */
export function openStores(db: Db, counts: EmailCounts) {
  const emails = openEmailStore(db, counts);
  const workspaces = openWorkspaceStore(db);
  const credits = openCreditStore(db);
  const usage = openUsageStore(db);
  const sms = openSmsStores(db, { workspaces, credits });
  return {
    settings: openInstanceSettings(db),
    workspaces,
    senderIds: openSenderIdStore(db),
    credits,
    sms,
    purges: openWorkspacePurgeStore(db, sms),
    keys: openKeyStore(db),
    domains: openDomainStore(db),
    emails,
    contents: openContentStore(db, (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes)),
    reports: openReportStore(db),
    inbox: openInboxStore(db),
    // The queue knows its rows, the emails their totals.
    queue: openQueueStore(db, { delayed: (owner, change) => emails.countDelayed(owner, change) }),
    idempotency: openIdempotencyStore(db),
    suppressions: openSuppressionStore(db),
    held: openHeldStore(db),
    usage,
    events: openEventStore(db),
    webhooks: openWebhookStore(db),
    webhookJobs: openWebhookJobStore(db),
    webhookDeliveries: openDeliveryStore(db),
  };
}

export type SmsStores = ReturnType<typeof openSmsStores>;

/** The stores of the texts: what changes segments is settled with their message. */
export function openSmsStores(db: Db, ledger: Pick<SettleDeps, "workspaces" | "credits">) {
  const messages = openMessageStore(db);
  const facts = new AfterCommit();
  db.listeners.push(facts);
  const counted = { ended: { sent: 0, delivered: 0, undelivered: 0, failed: 0, expired: 0 }, possibleDuplicates: 0 };
  const counts: SettleDeps["counts"] = {
    changed: (status) => facts.run(() => void (counted.ended[status] += 1)),
    duplicated: () => facts.run(() => void (counted.possibleDuplicates += 1)),
  };
  const segments: SegmentStore = openSegmentStore(db, (messageId) =>
    settleMessage(messageId, { messages, segments, counts, ...ledger }),
  );
  const forget = (messageId: number | null) => {
    messages.forget(messageId);
    segments.forget(messageId);
  };
  return {
    messages,
    segments,
    facts,
    /** Inside a transaction: a text's rows are changed or removed by others; null: those of any. */
    forget,
    references: openReferenceStore(db),
    orphans: openOrphanStore(db),
    inbound: openInboundStore(db),
    seen: openSeenStore(db),
    links: openLinkStore(db),
    work: openWorkStore(db, { forget }),
    /** Since the start. */
    counted,
  };
}

/** The plan of a workspace; throws 401 when that was deleted. */
export function planFinder(config: Config, stores: Stores): (workspaceId: number) => Plan {
  const find = namedPlanFinder(config, stores);
  return (workspaceId) => find(workspaceId).plan;
}

/** The same with its name. */
export function namedPlanFinder(config: Config, stores: Stores): (workspaceId: number) => NamedPlan {
  const { defaultPlan } = config.workspaces;
  return (workspaceId) => {
    const workspace = stores.workspaces.byId(workspaceId);
    if (workspace === undefined) throw workspaceGone();
    const { plan: name } = workspace;
    const plan = config.plans[name];
    if (plan !== undefined) return { name, plan };
    // A plan that was taken out of the configuration: the default one until the operator sets another.
    const fallback = config.plans[defaultPlan];
    if (fallback === undefined) throw new Error("there is no default plan");
    return { name: defaultPlan, plan: fallback };
  };
}
