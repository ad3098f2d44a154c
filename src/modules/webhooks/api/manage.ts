// The actions of a workspace's owner on its webhooks: create, change, rotate the secret, test, replay.

import type { Plan } from "../../../config/config.ts";
import type { Context } from "../../../platform/context.ts";
import { AppError } from "../../../platform/errors.ts";
import { notFound, validationError } from "../../../platform/http/errors.ts";
import type { ListPages } from "../../../platform/http/pagination.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import type { Keyring } from "../../../platform/keyring/keyring.ts";
import { newId } from "../../../platform/uuid.ts";
import type { RecordAudit } from "../../audit/record.ts";
import type { Events } from "../../events/index.ts";
import type { EventStore } from "../../events/store.ts";
import { requireBelowLimit } from "../../plans/limit.ts";
import type { MayReadContent } from "../../workspaces/read-content.ts";
import type { DeliveryRow, DeliveryStore } from "../delivery/delivery-store.ts";
import type { WebhookJobStore } from "../delivery/job-store.ts";
import { type LookUpAddresses, parseTarget, resolveTarget, type TargetRules } from "../delivery/target.ts";
import { MAX_OLD_SECRETS, type OldSecret, listOldSecrets, getSealContext } from "../secrets.ts";
import { createSecret, formatSecret } from "../sign.ts";
import type { WebhookRow, WebhookStore } from "../store.ts";
import { showWebhook } from "./serialize.ts";

export interface WebhookDeps extends Pick<Context, "commit" | "clock" | "random"> {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  events: EventStore;
  record: Events["record"];
  keyring: Pick<Keyring, "seal">;
  look: LookUpAddresses;
  rules: TargetRules;
  findPlan: (workspaceId: number) => Plan;
  pages: ListPages;
  mayReadContent: MayReadContent;
  recordAudit: RecordAudit;
  /** After the commit: the webhook has something to deliver. */
  nudge: (webhookId: number, at: number) => void;
  /** After the commit: a webhook was deleted. */
  deleted: () => void;
}

/** A webhook as its owner names it. */
export interface Place {
  workspaceId: number;
  uid: string;
  /** Its caller is the one who changes it. */
  request: Request;
}

export interface WebhookRequest {
  url: string;
  events: string[];
  description?: string;
  enabled?: boolean;
}

/** A webhook and its secret, which is shown this once. */
export interface WithSecret {
  webhook: WebhookRow;
  secret: string;
}

/** Throws 404. */
export function findWebhook({ workspaceId, uid }: Place, { webhooks }: WebhookDeps): WebhookRow {
  const webhook = webhooks.byUid(workspaceId, uid);
  if (webhook === undefined) throw noSuchWebhook();
  return webhook;
}

export function noSuchWebhook(): AppError {
  return notFound("This workspace has no webhook with this id");
}

/** Throws 402 at the plan's limit, 422 for a URL that must not be called. */
export async function createWebhook(
  { workspaceId, request }: Omit<Place, "uid">,
  wanted: WebhookRequest,
  deps: WebhookDeps,
): Promise<WithSecret> {
  await requireCallable(wanted.url, deps);
  return deps.commit(() => {
    requireBelowLimit("webhook", deps.findPlan(workspaceId).webhooks, () =>
      deps.webhooks.countForWorkspace(workspaceId),
    );
    const now = deps.clock.now();
    const uid = newId(now, deps.random);
    const secret = createSecret(deps.random);
    const webhook = deps.webhooks.insert({
      uid,
      workspaceId,
      url: wanted.url,
      events: JSON.stringify([...new Set(wanted.events)]),
      description: wanted.description ?? null,
      isEnabled: wanted.enabled ?? true,
      secret: Buffer.from(deps.keyring.seal(secret, getSealContext(uid))),
      createdAt: now,
    });
    auditWebhook(webhook, { request, action: "webhook.created" }, deps);
    return { webhook, secret: formatSecret(secret) };
  });
}

/** Throws 404. */
export function deleteWebhook(place: Place, deps: WebhookDeps): Promise<WebhookRow> {
  return deps.commit(() => {
    const webhook = findWebhook(place, deps);
    deps.webhooks.delete(webhook);
    auditWebhook(webhook, { request: place.request, action: "webhook.deleted" }, deps);
    return webhook;
  });
}

/** The host says enough: the rest of some URLs is a secret. */
function auditWebhook(
  { workspaceId, uid, url }: WebhookRow,
  what: { request: Request; action: string; changed?: string[] },
  { recordAudit }: WebhookDeps,
): void {
  const { request, action, changed } = what;
  const detail = { id: uid, ...(changed === undefined ? {} : { changed }) };
  recordAudit({ workspaceId, request, action, target: new URL(url).host, detail });
}

/** Throws 404. Turning it on takes back that pombo turned it off. */
export async function changeWebhook(
  place: Place,
  change: Partial<WebhookRequest>,
  deps: WebhookDeps,
): Promise<WebhookRow> {
  if (change.url !== undefined) await requireCallable(change.url, deps);
  return deps.commit(() => {
    const webhook = findWebhook(place, deps);
    const { url, events, description, enabled } = change;
    const changed = deps.webhooks.update(webhook, {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: JSON.stringify([...new Set(events)]) }),
      ...(description === undefined ? {} : { description }),
      ...(enabled === undefined ? {} : { isEnabled: enabled, disabledReason: null }),
      // Earlier failures say nothing about the webhook as it is now.
      ...(enabled === true || url !== undefined ? { failingSince: null } : {}),
    });
    const { request } = place;
    auditWebhook(changed, { request, action: "webhook.changed", changed: Object.keys(change) }, deps);
    return changed;
  });
}

/**
 * Gives a webhook a new secret; the one before signs beside it for so many hours, and so do earlier ones until their own
 * time. 0: every earlier one ends at once. Throws 404, and 422 when too many are valid still.
 */
export async function rotateSecret(place: Place, graceHours: number, deps: WebhookDeps): Promise<WithSecret> {
  return deps.commit(() => {
    const webhook = findWebhook(place, deps);
    const oldSecrets = graceHours > 0 ? keepOldSecrets(webhook, graceHours, deps) : [];
    const secret = createSecret(deps.random);
    const updated = deps.webhooks.update(webhook, {
      secret: Buffer.from(deps.keyring.seal(secret, getSealContext(webhook.uid))),
      oldSecrets: JSON.stringify(oldSecrets),
    });
    auditWebhook(updated, { request: place.request, action: "webhook.secret_rotated" }, deps);
    return { webhook: updated, secret: formatSecret(secret) };
  });
}

/** The secrets that still sign beside a new one. */
function keepOldSecrets(webhook: WebhookRow, graceHours: number, { clock }: WebhookDeps): OldSecret[] {
  const now = clock.now();
  const earlier = listOldSecrets(webhook, now);
  if (earlier.length >= MAX_OLD_SECRETS) {
    const free = toIsoTime(Math.min(...earlier.map(({ until }) => until)));
    throw new AppError(
      "VALIDATION_ERROR",
      `${earlier.length} earlier secrets of this webhook still sign, the most that can`,
      {
        field: "graceHours",
        hint: `Wait until ${free}, when the first of them ends, or end them all at once with {"graceHours": 0}.`,
      },
    );
  }
  return [{ sealed: webhook.secret.toString("base64"), until: now + graceHours * 3_600_000 }, ...earlier];
}

/** Sends the event webhook.test to this webhook only; the event's id. Throws 404. */
export async function testWebhook(place: Place, deps: WebhookDeps): Promise<string> {
  return queueCall(deps, (at) => {
    const webhook = findWebhook(place, deps);
    requireEnabled(webhook);
    const { workspaceId, uid: resource } = webhook;
    const event = deps.record({ workspaceId, type: "webhook.test", resource, at, data: () => showWebhook(webhook) });
    if (event === null) throw noSuchWebhook();
    return { webhook, event };
  });
}

/** Delivers the event of one delivery once more; its id. Throws 404. */
export async function replayDelivery(place: Place, deliveryUid: string, deps: WebhookDeps): Promise<string> {
  return queueCall(deps, () => {
    const { webhook, delivery } = findDelivery(place, deliveryUid, deps);
    requireEnabled(webhook);
    const event = deps.events.byId(delivery.eventId);
    if (event === undefined) throw notFound("The event of this webhook delivery has expired");
    return { webhook, event };
  });
}

/** Throws 404. */
export function findDelivery(
  { workspaceId, uid }: Place,
  deliveryUid: string,
  { webhooks, deliveries }: WebhookDeps,
): { webhook: WebhookRow; delivery: DeliveryRow } {
  const webhook = webhooks.byUid(workspaceId, uid);
  const delivery = webhook === undefined ? undefined : deliveries.byUid(webhook.id, deliveryUid);
  if (webhook === undefined || delivery === undefined) throw notFound("This workspace has no such webhook delivery");
  return { webhook, delivery };
}

/** Queues a call of the webhook with the event that `find` finds in the transaction; the event's id. */
async function queueCall(
  { commit, clock, jobs, nudge }: WebhookDeps,
  find: (now: number) => { webhook: { id: number }; event: { id: number; uid: string } },
): Promise<string> {
  const { webhook, event, at } = await commit(() => {
    const now = clock.now();
    const found = find(now);
    jobs.add({ webhookId: found.webhook.id, eventId: found.event.id, nextAt: now, again: "always" });
    return { ...found, at: now };
  });
  nudge(webhook.id, at);
  return event.uid;
}

/** Throws 422 for a webhook that is turned off. */
export function requireEnabled(webhook: WebhookRow): void {
  if (webhook.isEnabled) return;
  throw new AppError("VALIDATION_ERROR", "The webhook is disabled", {
    hint: `Enable it first: PATCH /api/v1/webhooks/${webhook.uid} with {"enabled": true}.`,
  });
}

/** A name that DNS does not know now may come to exist: only a known fault is refused. */
async function requireCallable(url: string, { rules, look }: WebhookDeps): Promise<void> {
  const parsed = parseTarget(url, rules);
  if (parsed.kind === "fault") {
    const { message, hint } = parsed;
    throw validationError([{ path: ["url"], message, ...(hint === undefined ? {} : { hint }) }]);
  }
  const reached = await resolveTarget(parsed.target, rules, look);
  if (reached.kind === "refused") {
    throw validationError([
      {
        path: ["url"],
        message: `cannot be called: ${reached.reason}`,
        hint: "Use a host that is reachable from the internet.",
      },
    ]);
  }
}
