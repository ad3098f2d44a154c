import { openInstanceSettings } from "../platform/db/instance-settings.ts";
import type { Db } from "../platform/db/open.ts";
import { openReviewStore } from "../modules/accounts/review-store.ts";
import { openLinkStore } from "../modules/accounts/link-store.ts";
import { openSessionStore } from "../modules/accounts/session-store.ts";
import { openUserStore } from "../modules/accounts/store.ts";
import { openAlertStore } from "../modules/alerts/store.ts";
import { openAuditStore } from "../modules/audit/store.ts";
import { openCertificateStore } from "../modules/certificates/store.ts";
import { openDeliveryLookStore } from "../modules/doctor/lately/delivery-store.ts";
import { openSmsLookStore } from "../modules/doctor/lately/sms-store.ts";
import { openShareStore } from "../modules/domains/share-store.ts";
import { openDomainStore } from "../modules/domains/store.ts";
import { openAttachmentStore } from "../modules/emails/attachments/store.ts";
import { openContentStore } from "../modules/emails/content/store.ts";
import { openEmailRetentionStore } from "../modules/emails/store/retention-store.ts";
import { openEmailRecipientStore } from "../modules/emails/store/recipient-store.ts";
import { type EmailCounts, openEmailStore } from "../modules/emails/store/store.ts";
import { openReportStore } from "../modules/emails/reports/store.ts";
import { openEventStore } from "../modules/events/store.ts";
import { openIdempotencyStore } from "../modules/idempotency/store.ts";
import { openInboxStore } from "../modules/inbound-mail/store.ts";
import { openKeyStore } from "../modules/api-keys/store.ts";
import { openInvitationStore } from "../modules/members/invitation-store.ts";
import { openMemberStore } from "../modules/members/store.ts";
import { openUsageStore } from "../modules/plans/store.ts";
import { openQueueStore } from "../modules/emails/queue/store.ts";
import { openRequestStore } from "../modules/requests/store.ts";
import { openHeldStore } from "../modules/suppressions/held-store.ts";
import { openSuppressionStore } from "../modules/suppressions/store.ts";
import { openSubscriptionStore } from "../modules/unsubscribe/store.ts";
import { openSmsStores } from "../modules/sms/stores.ts";
import { openCreditStore } from "../modules/workspaces/credit-store.ts";
import { openWorkspacePurgeStore } from "../modules/workspaces/purge-store.ts";
import { openSenderIdStore } from "../modules/workspaces/sender-store.ts";
import { openDeliveryStore } from "../modules/webhooks/delivery/delivery-store.ts";
import { openWebhookJobStore } from "../modules/webhooks/delivery/job-store.ts";
import { openWebhookStore } from "../modules/webhooks/store.ts";
import { openWorkspaceStore } from "../modules/workspaces/store.ts";

export type Stores = ReturnType<typeof openStores>;

/** All stores over one connection, each with its statements prepared; `counts` counts emails, `erasureKey` hashes suppressions. */
export function openStores(db: Db, counts: EmailCounts, erasureKey: Uint8Array) {
  const emails = openEmailStore(db, counts);
  const settings = openInstanceSettings(db);
  const workspaces = openWorkspaceStore(db);
  const credits = openCreditStore(db);
  const usage = openUsageStore(db);
  const sms = openSmsStores(db, { workspaces, credits });
  const attachments = openAttachmentStore(db, (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes));
  return {
    settings,
    alerts: openAlertStore(db),
    certificates: openCertificateStore(db, settings),
    workspaces,
    senderIds: openSenderIdStore(db),
    credits,
    sms,
    purges: openWorkspacePurgeStore(db, { sms, attachments }),
    keys: openKeyStore(db),
    users: openUserStore(db),
    sessions: openSessionStore(db),
    review: openReviewStore(db),
    links: openLinkStore(db),
    members: openMemberStore(db),
    invitations: openInvitationStore(db),
    audit: openAuditStore(db),
    requests: openRequestStore(db),
    deliveryLook: openDeliveryLookStore(db),
    smsLook: openSmsLookStore(db),
    domains: openDomainStore(db),
    domainShares: openShareStore(db),
    emails,
    attachments,
    contents: openContentStore(db, (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes)),
    retention: openEmailRetentionStore(db, {
      addTotal: (key, amount) => emails.addTotal(key, amount),
      giveStorageBack: (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes),
    }),
    recipientEmails: openEmailRecipientStore(db, (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes)),
    reports: openReportStore(db),
    inbox: openInboxStore(db),
    // The queue knows its rows, the emails their totals.
    queue: openQueueStore(db, { changed: (...change) => emails.countState(...change) }),
    idempotency: openIdempotencyStore(db),
    suppressions: openSuppressionStore(db, erasureKey),
    subscriptions: openSubscriptionStore(db),
    held: openHeldStore(db),
    usage,
    events: openEventStore(db),
    webhooks: openWebhookStore(db),
    webhookJobs: openWebhookJobStore(db),
    webhookDeliveries: openDeliveryStore(db),
  };
}
