// Erases a recipient: cancels its waiting messages, and replaces its address, their contents and quotes of them.
//
// The records stay, and totals and usage with them. Each batch is one transaction that finds its rows by the address: an
// erased row is not found again, so that the same request continues after a crash. Emails and SMS in flight are erased too, since an attempt has all that it needs in memory;
// at its end the stores write no words, and nothing is tried again (emails/delivery, sms/queue/settle-message.ts).

import type { Context } from "../../platform/context.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { yieldToEventLoop } from "../../platform/queue/queue-admin.ts";
import { type EndDeps, endWaiting } from "../emails/events.ts";
import type { QueueStore } from "../emails/queue/store.ts";
import type { EmailRecipientStore } from "../emails/store/recipient-store.ts";
import type { EventStore } from "../events/store.ts";
import type { IdempotencyStore } from "../idempotency/store.ts";
import { eraseInbox, type EraseInboxDeps } from "./erase-inbox.ts";
import { NEWEST } from "../../platform/db/batches.ts";
import { dropMessage } from "../sms/queue/admin.ts";
import { isSameNumber, numberKey } from "../sms/encoding/phone-number.ts";
import { isReceiptTo } from "../sms/receipts/match-uncertain.ts";
import type { SmsStores } from "../sms/stores.ts";
import type { Channel } from "../suppressions/address.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { DeliveryStore } from "../webhooks/delivery/delivery-store.ts";
import type { WebhookStore } from "../webhooks/store.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import type { Erasure } from "./schema.ts";
import { ERASED_RECIPIENT } from "./erased.ts";

/** Messages that one transaction erases, with their attempts, events and calls: some milliseconds. */
const BATCH = 10;
/** A request answers after this time, and the next one continues: connections without an answer are closed. */
const BUDGET_MS = 5_000;

export interface EraseDeps extends Pick<Context, "commit" | "clock" | "steady" | "log">, EndDeps, EraseInboxDeps {
  workspaces: Pick<WorkspaceStore, "byId">;
  recipientEmails: EmailRecipientStore;
  queue: Pick<QueueStore, "removeWaiting">;
  idempotency: Pick<IdempotencyStore, "replaceInAnswers">;
  sms: SmsStores;
  events: EventStore;
  suppressions: SuppressionStore;
  webhooks: Pick<WebhookStore, "listIds">;
  webhookDeliveries: Pick<DeliveryStore, "eraseAnswers">;
}

/** In the form compared. */
export interface Recipient {
  channel: Channel;
  address: string;
}

/** `isInstance`: also records that belong to no workspace. */
export interface ErasureScope {
  workspaceIds: number[];
  isInstance: boolean;
}

type Counts = Omit<typeof Erasure.static, "erasedAt" | "complete">;

const NOTHING: Readonly<Counts> = {
  emails: 0,
  canceledEmails: 0,
  sms: 0,
  canceledSms: 0,
  inFlight: 0,
  inboundSms: 0,
  events: 0,
  webhookCalls: 0,
  suppressions: 0,
  inboxMails: 0,
};

export async function eraseRecipient(
  recipient: Recipient,
  scope: ErasureScope,
  deps: EraseDeps,
): Promise<typeof Erasure.static> {
  const until = deps.steady.now() + BUDGET_MS;
  const counts: Counts = { ...NOTHING };
  let isComplete = true;
  for (const step of listSteps(recipient, scope, deps)) {
    for (let isMore = step.isNeeded(); isMore && isComplete;) {
      const done = await deps.commit(step.run);
      for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += done.counts[name] ?? 0;
      isMore = done.isMore;
      // Looked at only after a batch: the search for rows must not use up every request.
      isComplete = deps.steady.now() < until;
    }
    if (!isComplete) break;
    // Most workspaces have no record of this address.
    await yieldToEventLoop();
  }
  if (isComplete && scope.isInstance && recipient.channel === "email")
    counts.inboxMails = await eraseInbox(recipient.address, deps);
  const [only = 0] = scope.workspaceIds;
  const whose = scope.isInstance ? {} : { workspace: deps.workspaces.byId(only)?.uid ?? null };
  // Without the address.
  deps.log.event("recipient.erased", { channel: recipient.channel, ...whose, complete: isComplete, ...counts });
  return { erasedAt: toIsoTime(deps.clock.now()), complete: isComplete, ...counts };
}

interface BatchResult {
  counts: Partial<Counts>;
  isMore: boolean;
}

interface Step {
  /** Outside of a transaction: whether there is anything to do. */
  isNeeded: () => boolean;
  /** Inside one: a batch. */
  run: () => BatchResult;
}

function* listSteps(
  recipient: Recipient,
  { workspaceIds, isInstance }: ErasureScope,
  deps: EraseDeps,
): Generator<Step> {
  for (const workspaceId of workspaceIds) {
    const owned = { workspaceId, ...recipient };
    yield stepSuppressions(owned, deps);
    if (recipient.channel === "email") yield stepEmails(owned, deps);
    else yield* [stepSms(owned, deps), stepInbound(owned, deps)];
  }
  if (recipient.channel === "email") return;
  yield stepNumber(recipient.address, isInstance, deps);
  if (isInstance) yield stepInbound({ workspaceId: null, ...recipient }, deps);
}

/** A recipient among one workspace's records. */
export interface WorkspaceRecipient extends Recipient {
  workspaceId: number;
}

function stepSuppressions(owned: WorkspaceRecipient, deps: EraseDeps): Step {
  const { suppressions, events } = deps;
  const { workspaceId, channel, address } = owned;
  return {
    isNeeded: () =>
      suppressions.listOfAddress(owned).some(({ isErased }) => !isErased) ||
      suppressions.findHeld(owned) !== undefined ||
      events.listAbout(workspaceId, address, 1).length > 0,
    run() {
      const erased = suppressions.erase({ workspaceId, address });
      const about = eraseEvents(workspaceId, [address], deps, ERASED_RECIPIENT[channel]);
      return { counts: { suppressions: erased, ...about }, isMore: false };
    },
  };
}

function stepEmails({ workspaceId, address }: WorkspaceRecipient, deps: EraseDeps): Step {
  const list = (limit: number) => deps.recipientEmails.listToErase(workspaceId, address, limit);
  return {
    isNeeded: () => list(1).length > 0,
    run() {
      const batch = list(BATCH);
      const end = { status: "canceled", endedAt: deps.clock.now() } as const;
      let canceledEmails = 0;
      for (const { id, uid, recipient, status, createdAt } of batch) {
        if (status === "queued" && endWaiting(id, end, deps) !== null) canceledEmails += 1;
        deps.recipientEmails.erase({ id, workspaceId });
        // The answer to a send names its recipients if there were several.
        const shown = (person: string) => JSON.stringify({ id: uid, address: person }).slice(0, -1);
        deps.idempotency.replaceInAnswers({ workspaceId, createdAt }, shown(recipient), shown(ERASED_RECIPIENT.email));
      }
      const inFlight = batch.filter(({ isRunning }) => isRunning).length;
      const uids = batch.map(({ uid }) => uid);
      const counts = { emails: batch.length, canceledEmails, inFlight, ...eraseEvents(workspaceId, uids, deps) };
      return { counts, isMore: batch.length === BATCH };
    },
  };
}

function stepSms({ workspaceId, address }: WorkspaceRecipient, deps: EraseDeps): Step {
  const { messages, segments } = deps.sms;
  const list = (limit: number) => messages.listTo(workspaceId, address, NEWEST, limit);
  return {
    isNeeded: () => list(1).length > 0,
    run() {
      const batch = list(BATCH);
      const end = { reason: "Its recipient was erased", now: deps.clock.now() };
      const results = batch.map(({ id, isFinal }) => {
        const result = isFinal ? "gone" : dropMessage(id, end, segments);
        segments.erase(id);
        return result;
      });
      const uids = batch.map(({ uid }) => uid);
      const counts = {
        sms: batch.length,
        canceledSms: results.filter((result) => result === "dropped").length,
        inFlight: results.filter((result) => result === "running").length,
        ...eraseEvents(workspaceId, uids, deps),
      };
      return { counts, isMore: batch.length === BATCH };
    },
  };
}

function stepInbound({ workspaceId, address }: Recipient & { workspaceId: number | null }, deps: EraseDeps): Step {
  const { inbound } = deps.sms;
  const list = (limit: number) => inbound.listFrom(workspaceId, address, NEWEST, limit);
  return {
    isNeeded: () => list(1).length > 0,
    run() {
      const batch = list(BATCH);
      for (const { id } of batch) inbound.erase(id);
      const uids = batch.map(({ uid }) => uid);
      const about = workspaceId === null ? {} : eraseEvents(workspaceId, uids, deps);
      return { counts: { inboundSms: batch.length, ...about }, isMore: batch.length === BATCH };
    },
  };
}

/** Records that belong to no workspace: receipts and parts that wait for their message have none yet. */
function stepNumber(number: string, isInstance: boolean, { sms }: EraseDeps): Step {
  const { references, orphans, inbound } = sms;
  return {
    isNeeded: () => true,
    run() {
      references.forget(number);
      if (!isInstance) return { counts: {}, isMore: false };
      const receipts = orphans.listByNumber(numberKey(number) ?? "").filter((each) => isReceiptTo(each, number));
      for (const { id } of receipts) orphans.remove(id);
      const sources = inbound.listPartSources().filter((source) => isSameNumber(source, number));
      for (const source of sources) inbound.removePartsFrom(source);
      return { counts: {}, isMore: false };
    },
  };
}

function eraseEvents(
  workspaceId: number,
  resources: string[],
  { events, webhooks, webhookDeliveries }: EraseDeps,
  renamed?: string,
): Pick<Counts, "events" | "webhookCalls"> {
  const ids = resources.flatMap((resource) => events.erase(workspaceId, resource, renamed));
  const called = ids.length === 0 ? [] : webhooks.listIds(workspaceId);
  return {
    events: ids.length,
    webhookCalls: called.length === 0 ? 0 : webhookDeliveries.eraseAnswers(called, ids),
  };
}
