// One attempt at one email: load it, look once more whether it may still go, and hand it to its transport. Nothing is
// written here: record-result.ts turns each result into rows, which the worker commits with the queue's row.

import type { Clock } from "../../../platform/clock.ts";
import { SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";
import type { AttemptContext, JobHandler, JobResult } from "../../../platform/queue/handler.ts";
import type { PlainKey } from "../../../protocols/dkim/keys.ts";
import { comparableAddress, parseAddress, parseMailbox, requireMailbox } from "../../../protocols/mime/address.ts";
import { splitFields, unfold } from "../../../protocols/mime/header-fields.ts";
import { decodeWords } from "../../../protocols/mime/submitted/text.ts";
import type { Keychain } from "../../domains/signing-keys.ts";
import { type DomainRow, type DomainStore, isSending } from "../../domains/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { storedBody, type StoredBody } from "../content/body.ts";
import type { Composed, Composer } from "../content/compose.ts";
import { buildExtras, type ComposeInputDeps, findUnsubscribe, readComposeInput } from "../content/compose-input.ts";
import type { ComposeExtras } from "../content/extras.ts";
import { countContentBytes, unpackMimeHeader } from "../content/mime-body.ts";
import { type EmailExtra, unpackExtra } from "../content/pack-extra.ts";
import type { Unsubscribe } from "../content/unsubscribe.ts";
import { endEmail } from "../events.ts";
import { NO_CONNECTION } from "./connection-attempts.ts";
import type { EmailJob, EmailState } from "../queue/store.ts";
import type { DeliveryHealth } from "./delivery-health.ts";
import { formatExpiredReason } from "./held-queue-expiry.ts";
import { type Attempt, recordOutcome, type RecordResultDeps, toJobResult } from "./record-result.ts";
import type { RunningAttempt, RunningAttempts } from "./running-attempts.ts";
import type { DeliveryResult, FindTransport, OutgoingMessage, Refusal } from "./transport.ts";

/** The failedReason of what was still queued from a deleted domain. */
export const DOMAIN_DELETED = "The sending domain was deleted before this email could be delivered";
const RECIPIENT_ERASED = "The recipient was erased";
const CONTENT_GONE = "Not sent: its recipient was erased, or its workspace deleted";
const NOT_HOSTED =
  "Not sent: it needs a link to unsubscribe, and [http] public_url is no longer in the configuration. The operator sets it again";
const DOMAIN_GONE: Refusal = { kind: "refused", status: "failed", category: "unknown", reason: DOMAIN_DELETED };

export interface DeliverDeps extends RecordResultDeps, ComposeInputDeps {
  domains: DomainStore;
  suppressions: SuppressionStore;
  keychain: Keychain;
  composer: Composer;
  findTransport: FindTransport;
  health: DeliveryHealth;
  attempts: Pick<RunningAttempts, "begin" | "end">;
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
      const running = deps.attempts.begin(job);
      let reason: string | null = "pombo failed inside";
      try {
        const result = await deliver(loaded, context, running);
        reason = explainResult(result);
        deps.health.note(result, loaded.email.recipient);
        return toJobResult(loaded, result);
      } finally {
        deps.attempts.end(running, reason);
      }
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
  extra: EmailExtra | null;
  groupUid: string | null;
  /** Although it is accepted. */
  keepsDialogue: boolean;
  /** Null: its header says only what its row says. Its attachments are read when it is composed. */
  extras: ComposeExtras | null;
  unsubscribe: Unsubscribe | null;
  /** The contents of its attachments have so many bytes together; null: it has none. */
  attachmentBytes: number | null;
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
  const { email, body, extra, groupUid } = found;
  // A report has ended it between its claim and now.
  if (email.status !== "queued") return null;
  if (email.isErased) return "erased";
  // Only what is final loses its content: an empty mail in its place would be worse than none.
  if (body === null) throw new Error("the content of an email that is not final is missing");
  const to = requireMailbox(parseAddress(email.recipient));
  return {
    job,
    email,
    to,
    body: storedBody(body),
    extra,
    groupUid,
    extras: buildExtras(email, extra, to),
    unsubscribe: unpackExtra(extra).unsubscribe,
    keepsDialogue: extra?.keepsDialogue === true,
    attachmentBytes: extra?.attachmentBytes ?? null,
    domain: (isOwn(email) ? deps.domains.verified(email.senderDomain) : deps.domains.byId(email.domainId)) ?? null,
    deps,
  };
}

/** For those who watch; null: the message was accepted. */
function explainResult(result: DeliveryResult): string | null {
  if (result.kind === "not_started") return "It was not begun: it is tried again as soon as it may be";
  return result.kind === "transmitted" ? (result.failure?.reason ?? null) : result.reason;
}

async function deliver(loaded: Loaded, context: AttemptContext, running: RunningAttempt): Promise<DeliveryResult> {
  const { job, email, to, deps } = loaded;
  const refusal = findRefusal(loaded) ?? findGoneDomain(loaded);
  if (refusal !== null) return refusal;
  const wait = findDomainWait(loaded);
  if (wait !== null)
    return {
      kind: "temporary_failure",
      reason: wait,
      stage: null,
      category: "policy",
      badDomainAt: job.state.badDomainAt,
    };
  const message: OutgoingMessage = {
    workspaceId: email.workspaceId,
    envelope: { from: email.returnPath, to: to.address },
    recipientDomain: to.domain,
    header: findHeaderEcho(loaded),
    contentBytes: countContentBytes(loaded.body, loaded.attachmentBytes ?? 0),
    attempt: job.attempt,
    badDomainAt: job.state.badDomainAt,
  };
  return deps.findTransport(email.senderDomain).deliver(message, {
    ...context,
    running,
    keepsDialogue: loaded.keepsDialogue,
    compose: () => composeAndSign(loaded),
    refuse: () => findRefusal(loaded) ?? findGoneDomain(loaded),
  });
}

/** Why nothing may go from its domain now; null: it may. Such mail is delayed and not failed: the cause may well be lifted. */
function findDomainWait({ domain, email }: Loaded): string | null {
  if (domain?.status === "suspended")
    return `The operator has suspended ${domain.name}: this email waits until that is lifted`;
  // It was verified when the email was accepted, which may be weeks ago.
  if (domain === null || email.sendAt === null || isSending(domain)) return null;
  return `${domain.name} is not verified any more: this scheduled email waits until its records are published again`;
}

/** pombo's own mail belongs to no domain. */
function findGoneDomain({ email, deps }: Loaded): Refusal | null {
  return isOwn(email) || deps.domains.byId(email.domainId) !== undefined ? null : DOMAIN_GONE;
}

/** It waited for memory, and its attachments have gone with its recipient or its workspace. */
function isContentGone({ email, attachmentBytes, deps }: Loaded): boolean {
  if (attachmentBytes === null) return false;
  return deps.emails.isErased(email.id) || deps.workspaces.byId(email.workspaceId) === undefined;
}

/** The sender's own words in the header, which the server may repeat. */
function findHeaderEcho({ email, body, extras, attachmentBytes, deps }: Loaded): OutgoingMessage["header"] {
  const { sender, replyTo, subject, groupId } = email;
  const from = requireMailbox(parseMailbox(sender));
  const plainReplyTo = replyTo === null ? [] : [{ name: null, address: requireMailbox(parseAddress(replyTo)).address }];
  const others = extras === null ? plainReplyTo : [...extras.to, ...extras.cc, ...extras.replyTo];
  const names = [from.displayName, ...others.map(({ name }) => name)].filter((name) => name !== null);
  const fields = extras?.headers.flat() ?? [];
  const files = attachmentBytes === null ? [] : deps.attachments.listOf(groupId ?? email.id);
  return {
    addresses: [from, ...others].map(({ address }) => address),
    texts: [
      ...(body.mime === null ? [subject, ...names, ...fields] : listFieldValues(body)),
      ...files.map(({ filename }) => filename),
    ],
  };
}

/** They hold signatures, times and types: of what a server says of a message they are no part. */
const NOT_WORDS = /^(?:received|dkim-signature|arc-.*|date|mime-version|content-.*)$/i;

/** The field values of a message that came by SMTP: its sender wrote all of them. */
function listFieldValues(body: StoredBody): string[] {
  const header = unpackMimeHeader(body);
  const fields = header === null ? [] : splitFields(header).filter(({ name }) => !NOT_WORDS.test(name));
  return fields.map((field) => decodeWords(unfold(field)));
}

/** Why the email must not go now; null when it may. */
function findRefusal({ job, email, to, unsubscribe, deps }: Loaded): Refusal | null {
  if (deps.expiry.now() >= job.expiresAt) {
    const reason = formatExpiredReason({
      since: email.sendAt ?? email.createdAt,
      expiresAt: job.expiresAt,
      lastReply: job.state.lastReply,
    });
    return { kind: "refused", status: "failed", category: "expired", reason };
  }
  if (deps.emails.isErased(job.id))
    return { kind: "refused", status: "canceled", category: "policy", reason: RECIPIENT_ERASED };
  const suppressed = deps.suppressions.reasonFor(email.workspaceId, comparableAddress(to), unsubscribe?.list);
  if (suppressed === null) return null;
  const reason = `The recipient became suppressed (${suppressed}) after the email was accepted`;
  return { kind: "refused", status: "suppressed", category: "policy", reason };
}

async function composeAndSign(loaded: Loaded): Promise<Composed> {
  const { domain, deps } = loaded;
  if (isContentGone(loaded)) return { kind: "unsigned", reason: CONTENT_GONE };
  // A recipient who cannot unsubscribe reports spam.
  if (loaded.unsubscribe !== null && findUnsubscribe(loaded, deps) === null)
    return { kind: "unsigned", reason: NOT_HOSTED };
  let keys: PlainKey[] | null;
  try {
    keys = domain === null ? null : deps.keychain.keysFor(domain);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "unsigned", reason: `Not sent, because it could not be signed: ${why}` };
  }
  // Again for each try: the thread may have taken the contents with it.
  return deps.composer(() => readComposeInput(loaded, { keys, at: deps.clock.now() }, deps));
}
