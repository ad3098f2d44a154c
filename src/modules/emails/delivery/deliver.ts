// One attempt at one email: load it, look once more whether it may still go, and hand it to its transport. Nothing is
// written here: record-result.ts turns each result into rows, which the worker commits with the queue's row.

import type { Clock } from "../../../platform/clock.ts";
import { SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";
import type { AttemptContext, JobHandler, JobResult } from "../../../platform/queue/handler.ts";
import type { PlainKey } from "../../../protocols/dkim/keys.ts";
import { comparableAddress, parseAddress, parseMailbox, requireMailbox } from "../../../protocols/mime/address.ts";
import type { Keychain } from "../../domains/signing-keys.ts";
import type { DomainRow, DomainStore } from "../../domains/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { getMessageId } from "../api/serialize.ts";
import { storedBody, type StoredBody } from "../content/body.ts";
import type { Composed, Composer } from "../content/compose.ts";
import { endEmail } from "../events.ts";
import { NO_CONNECTION } from "./connection-attempts.ts";
import type { EmailJob, EmailState } from "../queue/store.ts";
import type { DeliveryHealth } from "./delivery-health.ts";
import { formatExpiredReason } from "./held-queue-expiry.ts";
import { type Attempt, recordOutcome, type RecordResultDeps, toJobResult } from "./record-result.ts";
import type { DeliveryResult, FindTransport, OutgoingMessage, Refusal } from "./transport.ts";

/** The failedReason of what was still queued from a deleted domain. */
export const DOMAIN_DELETED = "The sending domain was deleted before this email could be delivered";
const RECIPIENT_ERASED = "The recipient was erased";
const DOMAIN_GONE: Refusal = { kind: "refused", status: "failed", category: "unknown", reason: DOMAIN_DELETED };

export interface DeliverDeps extends RecordResultDeps {
  domains: DomainStore;
  suppressions: SuppressionStore;
  keychain: Keychain;
  composer: Composer;
  workspaces: { byId(id: number): { uid: string } | undefined };
  findTransport: FindTransport;
  health: DeliveryHealth;
  /** The clock by which emails expire. */
  expiry: Pick<Clock, "now">;
}

/** The worker's handler for emails. */
export function createEmailHandler(deps: DeliverDeps): JobHandler<EmailState> {
  return {
    async attempt(job, context) {
      const loaded = loadOrGiveUp(job, deps);
      if (loaded === "unreadable") return failUnreadable(job, deps);
      if (loaded === "erased") return cancelErased(job, deps);
      if (loaded === null) return { action: { kind: "complete" }, isReached: null };
      const result = await deliver(loaded, context);
      deps.health.note(result, loaded.email.recipient);
      return toJobResult(loaded, result);
    },
    recordUncertain(job) {
      deps.emails.insertAttempt({
        emailId: job.id,
        number: job.attempts,
        startedAt: job.startedAt,
        endedAt: job.uncertainSince,
        ...NO_CONNECTION,
        stage: "dot",
        reply: "pombo was cut off before the answer to the message came",
        outcome: "unknown",
        category: "bad_connection",
      });
      deps.emails.setSentAt(job.id, job.uncertainSince);
      deps.emails.setPossibleDuplicate(job.id);
    },
    recordOutcome: (outcome) => recordOutcome(outcome, deps),
    stateAfterError: ({ state }) => ({ ...state, lastReply: "pombo failed inside; see its log" }),
    getName: (id) => deps.emails.findStateById(id)?.email.uid ?? null,
  };
}

/** An email and what is needed around it. */
interface Loaded extends Attempt {
  deps: DeliverDeps;
  body: StoredBody;
  /** It signs. Null: it was deleted; of pombo's own mail: nobody here has verified it. */
  domain: DomainRow | null;
}

/** Whether it is pombo's own. */
function isOwn({ workspaceId }: Pick<Attempt["email"], "workspaceId">): boolean {
  return workspaceId === SYSTEM_WORKSPACE_ID;
}

/** A stored email that cannot be read is an internal error, tried again as every other, but not past its life. */
function loadOrGiveUp(job: EmailJob, deps: DeliverDeps): Loaded | null | "erased" | "unreadable" {
  try {
    return load(job, deps);
  } catch (error) {
    if (deps.expiry.now() < job.expiresAt) throw error;
    deps.log.error("load", error);
    return "unreadable";
  }
}

function failUnreadable(job: EmailJob, deps: DeliverDeps): JobResult<EmailState> {
  const failedReason = "4.4.7 Not delivered in its time: pombo could not read it from its database";
  const endedAt = deps.clock.now();
  return {
    action: { kind: "complete" },
    isReached: null,
    record(ownsRow) {
      if (ownsRow) endEmail(job.id, { status: "failed", endedAt, failedReason, attempts: job.attempt - 1 }, deps);
    },
  };
}

/** Its recipient was erased between its claim and now, or while an earlier attempt ran that a crash cut off. */
function cancelErased(job: EmailJob, deps: DeliverDeps): JobResult<EmailState> {
  const endedAt = deps.clock.now();
  return {
    action: { kind: "complete" },
    isReached: null,
    record(ownsRow) {
      if (ownsRow) endEmail(job.id, { status: "canceled", endedAt, attempts: job.attempt - 1 }, deps);
    },
  };
}

function load(job: EmailJob, deps: DeliverDeps): Loaded | null | "erased" {
  const found = deps.emails.findForDelivery(job.id);
  if (found === undefined) return null;
  const { email, body } = found;
  // A report has ended it between its claim and now.
  if (email.status !== "queued") return null;
  if (email.isErased) return "erased";
  // Only what is final loses its content: an empty mail in its place would be worse than none.
  if (body === null) throw new Error("the content of an email that is not final is missing");
  return {
    job,
    email,
    to: requireMailbox(parseAddress(email.recipient)),
    body: storedBody(body),
    domain: (isOwn(email) ? deps.domains.verified(email.senderDomain) : deps.domains.byId(email.domainId)) ?? null,
    deps,
  };
}

async function deliver(loaded: Loaded, context: AttemptContext): Promise<DeliveryResult> {
  const { job, email, to, domain, deps } = loaded;
  const refusal = findRefusal(loaded) ?? findGoneDomain(loaded);
  if (refusal !== null) return refusal;
  // Held, not failed: the operator may well lift it.
  if (domain?.status === "suspended") {
    const reason = `The operator has suspended ${domain.name}: this email waits until that is lifted`;
    return { kind: "temporary_failure", reason, stage: null, category: "policy", badDomainAt: job.state.badDomainAt };
  }
  const { htmlBytes, textBytes } = loaded.body;
  const message: OutgoingMessage = {
    workspaceId: email.workspaceId,
    envelope: { from: email.returnPath, to: to.address },
    recipientDomain: to.domain,
    header: findHeaderEcho(email),
    contentBytes: (htmlBytes ?? 0) + (textBytes ?? 0),
    attempt: job.attempt,
    badDomainAt: job.state.badDomainAt,
  };
  return deps.findTransport(email.senderDomain).deliver(message, {
    ...context,
    compose: () => composeAndSign(loaded),
    refuse: () => findRefusal(loaded) ?? findGoneDomain(loaded),
  });
}

/** pombo's own mail belongs to no domain. */
function findGoneDomain({ email, deps }: Loaded): Refusal | null {
  return isOwn(email) || deps.domains.byId(email.domainId) !== undefined ? null : DOMAIN_GONE;
}

/** The sender's own words in the header, which the server may repeat. */
function findHeaderEcho({ sender, replyTo, subject }: Attempt["email"]): OutgoingMessage["header"] {
  const from = requireMailbox(parseMailbox(sender));
  const addresses = [from, ...(replyTo === null ? [] : [requireMailbox(parseAddress(replyTo))])].map(
    ({ address }) => address,
  );
  return { addresses, texts: from.displayName === null ? [subject] : [subject, from.displayName] };
}

/** Why the email must not go now; null when it may. */
function findRefusal({ job, email, to, deps }: Loaded): Refusal | null {
  if (deps.expiry.now() >= job.expiresAt) {
    const reason = formatExpiredReason({
      createdAt: email.createdAt,
      expiresAt: job.expiresAt,
      lastReply: job.state.lastReply,
    });
    return { kind: "refused", status: "failed", category: "expired", reason };
  }
  if (deps.emails.isErased(job.id))
    return { kind: "refused", status: "canceled", category: "policy", reason: RECIPIENT_ERASED };
  const suppressed = deps.suppressions.reasonFor(email.workspaceId, comparableAddress(to));
  if (suppressed === null) return null;
  const reason = `The recipient became suppressed (${suppressed}) after the email was accepted`;
  return { kind: "refused", status: "suppressed", category: "policy", reason };
}

async function composeAndSign({ email, body, domain, deps }: Loaded): Promise<Composed> {
  let keys: PlainKey[] | null;
  try {
    keys = domain === null ? null : deps.keychain.keysFor(domain);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "unsigned", reason: `Not sent, because it could not be signed: ${why}` };
  }
  const { uid, workspaceId, createdAt, sender, recipient, replyTo, subject, returnPath } = email;
  return deps.composer({
    uid,
    // Gone with a deletion: then the email's own rows go too. pombo's own mail has none.
    workspaceUid: deps.workspaces.byId(workspaceId)?.uid ?? "system",
    createdAt,
    sender,
    recipient,
    replyTo,
    subject,
    returnPath,
    messageId: getMessageId(email),
    domain: email.senderDomain,
    body,
    keys,
    at: deps.clock.now(),
  });
}
