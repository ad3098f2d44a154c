// The emails: accepted over HTTP, queued, delivered, and ended by what comes back about them.

import { type AnyElysia, Elysia } from "elysia";
import type { Config, Plan } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { Log } from "../../platform/log.ts";
import { createWalkingPurge, type WalkingPurgeDeps } from "../../platform/db/purge.ts";
import { SkippedRows } from "../../platform/db/skipped-rows.ts";
import { findLargeBuffer, type OpenThread, ThreadClient } from "../../platform/worker-threads/worker-thread.ts";
import type { DomainRow, DomainStore } from "../domains/store.ts";
import type { Recorder } from "../events/record.ts";
import type { IdempotencyStore } from "../idempotency/store.ts";
import { takeStorage } from "../plans/quota.ts";
import type { SendingRates } from "../plans/sending-block.ts";
import type { UsageStore } from "../plans/store.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { UnsubscribeLinks } from "../unsubscribe/links.ts";
import type { MayReadContent } from "../workspaces/read-content.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import { createRawAnswer, type RawDeps } from "./api/raw.ts";
import { type EmailDeps, emailFileRoutes, emailRoutes } from "./api/routes.ts";
import type { Content, GivenContent, StoredBody } from "./content/body.ts";
import { type Composed, type ComposeInput, createComposer, findLargeBuffers } from "./content/compose.ts";
import { createPreparer } from "./content/prepare-thread.ts";
import type { AttachmentStore } from "./attachments/store.ts";
import type { GivenAttachment, NotBase64, PackedAttachment } from "./attachments/pack.ts";
import { createStaging } from "./attachments/stage.ts";
import { createAttachmentSweep } from "./attachments/sweep.ts";
import type { ContentStore } from "./content/store.ts";
import { createDeletedDomainSweep } from "./delivery/deleted-domain-sweep.ts";
import { createEmailDelivery, type EmailDelivery, type EmailDeliveryDeps } from "./delivery/email-delivery.ts";
import { DeliveryHealth } from "./delivery/delivery-health.ts";
import { ExpiryClock } from "./delivery/expiry-clock.ts";
import { createHeldQueueExpiry } from "./delivery/held-queue-expiry.ts";
import { RefusalWatch, SHARE_OF_REPORTED } from "./delivery/refusal-watch.ts";
import { createEmailEvents, type RecordEmailEvent } from "./events.ts";
import { makeMailDueNow } from "./queue/make-due.ts";
import type { QueueStore } from "./queue/store.ts";
import { processReport, type Reported, type ReportTaken } from "./reports/process-report.ts";
import type { ReportStore } from "./reports/store.ts";
import type { EmailRetentionStore } from "./store/retention-store.ts";
import type { EmailStore } from "./store/store.ts";
import { type AcceptedSubmission, acceptSubmission, type Submission } from "./submitted/accept.ts";
import { createSubmissionReader } from "./submitted/read-thread.ts";
import type { GivenSubmission, ReadSubmission, SubmissionFault } from "./submitted/read-submitted.ts";
import { createContentReader, type ReadContent, type ShownBody } from "./submitted/show.ts";
import { createSystemMail, type QueueSystemMail, type SendSystemMail } from "./system-mail.ts";

export interface EmailStores {
  emails: EmailStore;
  queue: QueueStore;
  attachments: AttachmentStore;
  contents: ContentStore;
  retention: EmailRetentionStore;
  reports: ReportStore;
  domains: DomainStore;
  suppressions: SuppressionStore;
  workspaces: WorkspaceStore;
  usage: UsageStore;
  idempotency: IdempotencyStore;
}

export interface EmailModuleDeps extends Pick<
  EmailDeliveryDeps,
  "pause" | "resolver" | "memory" | "keychain" | "reporters" | "show"
> {
  recorder: Recorder;
  keyring: Keyring;
  pages: ListPages;
  rates: SendingRates;
  findPlan: (workspaceId: number) => Plan;
  /** Inside a transaction: calls `notify` after its commit. */
  afterCommit: (notify: () => void) => void;
  mayReadContent: MayReadContent;
  unsubscribeLinks: UnsubscribeLinks;
  openThread: OpenThread;
}

export interface Emails extends Required<Component>, Pick<EmailDelivery, "worker" | "sites" | "sessions" | "attempts"> {
  /** `requireReader` throws once the caller of a request may not read any more. */
  routes(requireReader: (request: Request) => void): AnyElysia;
  recordEvent: RecordEmailEvent;
  /** Inside a transaction: writes all that follows from a report about the email `uid`. */
  processReport(uid: string, reported: Reported): ReportTaken;
  /** The operator holds the queue of a workspace, or does so no more. */
  holdChanged(workspaceId: number, isHeld: boolean): void;
  sendSystemMail: SendSystemMail;
  readContent: ReadContent;
  /** Reads a message that came by SMTP, whose pieces are used up. Rejects with ThreadGone where its thread ended. */
  readSubmitted(pieces: Uint8Array[]): Promise<ReadSubmission | SubmissionFault>;
  /** Resolves once it is durable. Rejects with AppError. */
  acceptSubmission(submission: Submission): Promise<AcceptedSubmission>;
  queueSystemMail: QueueSystemMail;
  /** A sending domain is gone: what waits from it fails. */
  domainDeleted(): void;
  /** A domain's mail may go again: emails that wait for another attempt are tried now. */
  retryDomain(domain: DomainRow): Promise<void>;
}

/** Nothing begins to act before start(). Throws StartError. */
export function createEmails(
  context: Context & { guard: DiskGuard },
  stores: EmailStores,
  config: Config,
  module: EmailModuleDeps,
): Emails {
  const { clock } = context;
  const threads = openThreads(module.openThread, context.log);
  const deps = {
    ...context,
    ...stores,
    ...module,
    recordEvent: createEmailEvents(stores.emails, module.recorder),
    reportedRefusals: new RefusalWatch(SHARE_OF_REPORTED),
    expiry: new ExpiryClock(clock, context.steady),
    composer: createComposer(threads.composing),
    health: new DeliveryHealth(clock),
  };
  // A crash may undo these commits: the next start finds the work again.
  const local = { ...deps, commit: context.commitHere };
  const delivery = createEmailDelivery(config, local);
  const { worker, findTransport } = delivery;
  const nudge: EmailDeps["nudge"] = (laneId, dueAt, expiresAt) => worker.nudge(laneId, dueAt, expiresAt);
  const settings = toAcceptSettings(config, module.keyring);
  const { record } = module.recorder;
  const accepting = { ...deps, ...createContents(deps, threads), findTransport, nudge, record, settings };
  const heldExpiry = createHeldQueueExpiry({ ...local, clock: deps.expiry });
  const domainSweep = createDeletedDomainSweep(local);
  const skipped = new SkippedRows({ ...local, component: "database" });
  const purges = createPurges({ ...local, skipped }, stores, config);
  const stopTasks = () => Promise.all([heldExpiry, domainSweep, ...purges].map((task) => task.stop()));
  const queueSystemMail = createSystemMail({ ...deps, findTransport, nudge, settings, from: config.dashboard.from });
  return {
    ...delivery,
    recordEvent: deps.recordEvent,
    routes(requireReader) {
      const own = emailRoutes(accepting);
      return new Elysia({ name: "own emails" }).use(own).use(emailFileRoutes(deps, requireReader));
    },
    readContent: accepting.readContent,
    readSubmitted: createSubmissionReader(threads.reading),
    acceptSubmission: (submission) => acceptSubmission(submission, accepting),
    processReport: (uid, reported) => processReport(uid, reported, { ...deps, findTransport }),
    sendSystemMail: (mail) => queueSystemMail(mail) !== null,
    queueSystemMail,
    holdChanged(workspaceId, isHeld) {
      if (isHeld) heldExpiry.trigger();
      else worker.release(workspaceId);
    },
    domainDeleted: () => domainSweep.trigger(),
    retryDomain: (domain) => makeMailDueNow(domain, { ...local, nudge }),
    issues: () => [...delivery.issues(), skipped.issue].filter((issue) => issue !== null),
    async start() {
      heldExpiry.start();
      await worker.start();
      for (const task of [domainSweep, ...purges]) task.start();
    },
    async drain(graceMs) {
      const tasks = stopTasks();
      // Composing ends with the grace, as connections do.
      const cancel = clock.after(graceMs, () => threads.composing.close());
      const unrecorded = await worker.stop(graceMs);
      cancel();
      await Promise.all([tasks, delivery.closeSessions()]);
      return unrecorded;
    },
    async stop() {
      await stopTasks();
      for (const thread of Object.values(threads)) thread.close();
    },
  };
}

/** Contents are prepared, stored, and read again. */
function createContents(
  deps: Context & EmailStores & RawDeps & Pick<EmailModuleDeps, "findPlan">,
  { packing, preparing, showing }: ReturnType<typeof openThreads>,
) {
  const takeRoom = (workspaceId: number, bytes: number) =>
    takeStorage({ workspaceId, plan: deps.findPlan(workspaceId), bytes }, deps.usage);
  return {
    // The acceptance that follows is kept with all that was committed before it.
    ...createStaging({ ...deps, commit: deps.commitHere, packing, takeStorage: takeRoom }),
    preparer: createPreparer(preparing),
    readContent: createContentReader(showing, deps.log),
    answerRaw: createRawAnswer(deps),
  };
}

/** Contents go before their records do, and files after all that refers to them. */
function createPurges(
  deps: WalkingPurgeDeps,
  { attachments, contents, retention }: EmailStores,
  { email, records }: Config,
) {
  const ago = (ms: number) => deps.clock.now() - ms;
  return [
    createWalkingPurge(deps, "email contents", contents, () => ago(email.contentRetentionMs)),
    createWalkingPurge(deps, "email attachments", attachments.kept, () => ago(email.attachmentRetentionMs)),
    createWalkingPurge(deps, "email records", retention, () => ago(records.retentionMs)),
    createAttachmentSweep(deps, attachments),
  ];
}

function openThreads(open: OpenThread, log: Log) {
  const report = (why: string) => log.error("thread", new Error(`a thread was given up: ${why}`));
  return {
    preparing: new ThreadClient<GivenContent, StoredBody>({ open, report }),
    // It has a thread of its own: an attachment of megabytes would keep the contents of others waiting.
    packing: new ThreadClient<GivenAttachment, PackedAttachment | NotBase64>({
      open,
      report,
      findLarge: ({ base64 }) => [base64.buffer],
    }),
    composing: new ThreadClient<ComposeInput, Composed>({ open, report, findLarge: findLargeBuffers }),
    // A hostile message may end one of these two, and nothing else with it.
    reading: new ThreadClient<GivenSubmission, ReadSubmission | SubmissionFault>({
      open,
      report,
      findLarge: ({ submitted }) => submitted.flatMap(findLargeBuffer),
    }),
    showing: new ThreadClient<ShownBody, Content>({ open, report }),
  };
}

function toAcceptSettings({ email, idempotency }: Config, keyring: Keyring): EmailDeps["settings"] {
  return {
    bounceHost: email.bounceHost,
    lifetimeMs: email.lifetimeMs,
    maxMessageBytes: email.maxMessageBytes,
    keepAnswersMs: idempotency.retentionMs,
    returnPathKey: keyring.hmacKey("return-path"),
  };
}
