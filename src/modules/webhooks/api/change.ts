import type { Clock } from "../../../platform/clock.ts";
import type { Plan } from "../../../config/config.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { AppError } from "../../../platform/errors.ts";
import type { RecordEvent, Subscribers } from "../../events/record.ts";
import { validationError } from "../../../platform/http/errors.ts";
import { timeOf } from "../../../platform/http/times.ts";
import { newId } from "../../../platform/uuid.ts";
import type { Keyring } from "../../../platform/keyring/keyring.ts";
import type { Random } from "../../../platform/random.ts";
import type { DeliveryStore } from "../delivery/delivery-store.ts";
import type { WebhookJobStore } from "../delivery/job-store.ts";
import { MAX_OLD_SECRETS, type OldSecret, oldSecretsOf, sealContext } from "../secrets.ts";
import { makeSecret, showSecret } from "../sign.ts";
import type { WebhookRow, WebhookStore } from "../store.ts";
import { type Look, parseTarget, reach, type TargetRules } from "../delivery/target.ts";

// What the owner of a workspace does to its webhooks: make, change, give a new secret.

export interface WebhookDeps {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  subscribers: Pick<Subscribers, "nudge">;
  record: RecordEvent;
  keyring: Pick<Keyring, "seal">;
  look: Look;
  rules: TargetRules;
  commit: Commit;
  clock: Clock;
  random: Random;
  planOf: (workspaceId: number) => Plan;
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

/** Makes a webhook. Throws 402 at the plan's limit, 422 for a URL that must not be called. */
export async function createWebhook(
  workspaceId: number,
  request: WebhookRequest,
  deps: WebhookDeps,
): Promise<WithSecret> {
  await requireCallable(request.url, deps);
  return deps.commit(() => {
    refuseOverLimit(workspaceId, deps);
    const now = deps.clock.now();
    const uid = newId(now, deps.random);
    const secret = makeSecret(deps.random);
    const webhook = deps.webhooks.insert({
      uid,
      workspaceId,
      url: request.url,
      events: JSON.stringify([...new Set(request.events)]),
      description: request.description ?? null,
      isEnabled: request.enabled ?? true,
      secret: Buffer.from(deps.keyring.seal(secret, sealContext(uid))),
      createdAt: now,
    });
    return { webhook, secret: showSecret(secret) };
  });
}

/** Changes a webhook; null: there is none. Turning it on takes back what pombo turned off. */
export async function changeWebhook(
  place: { workspaceId: number; uid: string },
  change: Partial<WebhookRequest>,
  deps: WebhookDeps,
): Promise<WebhookRow | null> {
  if (change.url !== undefined) await requireCallable(change.url, deps);
  return deps.commit(() => {
    const webhook = deps.webhooks.byUid(place.workspaceId, place.uid);
    if (webhook === undefined) return null;
    const { url, events, description, enabled } = change;
    return deps.webhooks.update(webhook, {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: JSON.stringify([...new Set(events)]) }),
      ...(description === undefined ? {} : { description }),
      ...(enabled === undefined ? {} : { isEnabled: enabled, disabledReason: null }),
      // What failed before says nothing of what it is now.
      ...(enabled === true || url !== undefined ? { failingSince: null } : {}),
    });
  });
}

/**
 * Gives a webhook a new secret; the one before signs beside it for so many hours, and so do earlier ones until their own
 * time. 0: every earlier one ends at once. Null: there is no such webhook. Throws 422 when too many are valid still.
 */
export async function rotateSecret(
  place: { workspaceId: number; uid: string },
  graceHours: number,
  deps: WebhookDeps,
): Promise<WithSecret | null> {
  return deps.commit(() => {
    const webhook = deps.webhooks.byUid(place.workspaceId, place.uid);
    if (webhook === undefined) return null;
    const oldSecrets = graceHours > 0 ? replacedSecrets(webhook, graceHours, deps) : [];
    const secret = makeSecret(deps.random);
    const updated = deps.webhooks.update(webhook, {
      secret: Buffer.from(deps.keyring.seal(secret, sealContext(webhook.uid))),
      oldSecrets: JSON.stringify(oldSecrets),
    });
    return { webhook: updated, secret: showSecret(secret) };
  });
}

/** The secrets that still sign beside a new one. */
function replacedSecrets(webhook: WebhookRow, graceHours: number, { clock }: WebhookDeps): OldSecret[] {
  const now = clock.now();
  const earlier = oldSecretsOf(webhook, now);
  if (earlier.length >= MAX_OLD_SECRETS) {
    const free = timeOf(Math.min(...earlier.map(({ until }) => until)));
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

/** A name that DNS does not know now may come to be: only what is known to be wrong is refused. */
async function requireCallable(url: string, { rules, look }: WebhookDeps): Promise<void> {
  const parsed = parseTarget(url, rules);
  if (parsed.kind === "fault") {
    const { message, hint } = parsed;
    throw validationError([{ path: ["url"], message, ...(hint === undefined ? {} : { hint }) }]);
  }
  const reached = await reach(parsed.target, rules, look);
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

function refuseOverLimit(workspaceId: number, deps: WebhookDeps): void {
  const limit = deps.planOf(workspaceId).webhooks;
  if (limit < 0 || deps.webhooks.countOf(workspaceId) < limit) return;
  throw new AppError("PLAN_LIMIT_REACHED", `The plan allows ${limit} ${limit === 1 ? "webhook" : "webhooks"}`, {
    hint: "Delete an unused webhook, or ask the operator to raise the plan's limits.",
  });
}
