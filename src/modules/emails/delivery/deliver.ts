import type { Clock } from "../../../platform/clock.ts";
import type { PlainKey } from "../../../protocols/dkim/keys.ts";
import type { Keychain } from "../../domains/signing-keys.ts";
import type { DomainRow, DomainStore } from "../../domains/store.ts";
import { comparableAddress, type Mailbox, parseAddress, parseMailbox } from "../../../protocols/mime/address.ts";
import { RowTaken } from "../../../platform/queue/job.ts";
import type { AttemptContext, JobHandler, JobResult } from "../../../platform/queue/handler.ts";
import type { EmailJob, EmailState } from "../queue/store.ts";
import type { SessionPool } from "../../../protocols/smtp/session-pool.ts";
import type { Sites } from "../../../protocols/smtp/sites.ts";
import type { SessionSlots } from "../../../protocols/smtp/session-slots.ts";
import { deliverVia, type Mail } from "../../../protocols/smtp/transmit.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { storedBody, type StoredBody } from "../content/body.ts";
import type { Composed } from "../content/compose.ts";
import type { Composer } from "../content/compose-thread.ts";
import { expiredReason } from "./held-queue-expiry.ts";
import { type Addressed, DNS_SITE, type Ending, recordResult, type RecordResultDeps } from "./record-result.ts";
import type { MessageBudget } from "./message-budget.ts";
import { messageIdOf } from "../api/serialize.ts";
import { findDeliveryRoute, type DeliveryRoute, type DeliveryRouteDeps } from "./route.ts";

// One attempt at one email: load it, look once more whether it may still go, find the way, compose
// and sign, send. Nothing is written here: every way out is a value that record-result.ts turns into rows,
// which the worker commits together with the queue row's fate. The message is signed before a
// session is taken, so that sessions never wait for a signature; unsigned it never leaves.

/** After such a wait for a session it is looked at again whether the email may still go. */
const LONG_WAIT_MS = 1_000;

/** The failedReason of what was still queued from a deleted domain. */
export const DOMAIN_DELETED = "The sending domain was deleted before this email could be delivered";
const ORPHANED: Ending = { kind: "refused", status: "failed", category: "unknown", reason: DOMAIN_DELETED };

export interface DeliverDeps extends RecordResultDeps, DeliveryRouteDeps {
  domains: DomainStore;
  suppressions: SuppressionStore;
  keychain: Keychain;
  composer: Composer;
  workspaces: { byId(id: number): { uid: string } | undefined };
  pool: SessionPool;
  slots: SessionSlots;
  messages: MessageBudget;
  sites: Sites;
  /** What emails expire by. */
  expiry: Pick<Clock, "now">;
}

/** The worker's handler for emails. */
export function emailHandler(deps: DeliverDeps): JobHandler<EmailState> {
  return {
    async attempt(job, context) {
      const loaded = loadOrGiveUp(job, deps);
      if (loaded === "unreadable") return abandon(job, deps);
      if (loaded === null) return { action: { kind: "complete" }, isReached: null };
      return recordResult({ job, ...loaded }, await attempt(job, loaded, context, deps), deps);
    },
    recordUncertain(job) {
      deps.emails.insertAttempt({
        emailId: job.id,
        number: job.attempts,
        startedAt: job.startedAt,
        endedAt: job.uncertainSince,
        host: null,
        address: null,
        tls: null,
        stage: "dot",
        code: null,
        enhancedCode: null,
        reply: "pombo was cut off before the answer to the message came",
        outcome: "unknown",
        category: "bad_connection",
        tries: null,
        dialogue: null,
      });
      deps.emails.setSentAt(job.id, job.uncertainSince);
      deps.emails.setPossibleDuplicate(job.id);
    },
    stateAfterError: ({ state }) => ({ ...state, lastReply: "pombo failed inside; see its log" }),
    getName: (id) => deps.emails.stateById(id)?.email.uid ?? null,
  };
}

type Signed = Extract<Composed, { kind: "signed" }>;

/** An email and what is needed around it. */
interface Loaded extends Addressed {
  body: StoredBody;
  /** Null: it was deleted. */
  domain: DomainRow | null;
}

/** A stored email that cannot be read is a bug, tried again as every other, but not past its life. */
function loadOrGiveUp(job: EmailJob, deps: DeliverDeps): Loaded | null | "unreadable" {
  try {
    return load(job, deps);
  } catch (error) {
    if (deps.expiry.now() < job.expiresAt) throw error;
    deps.log.error("load", error);
    return "unreadable";
  }
}

function abandon(job: EmailJob, deps: DeliverDeps): JobResult<EmailState> {
  const failedReason = "4.4.7 Not delivered in its time: pombo could not read it from its database";
  const endedAt = deps.clock.now();
  const end = { endedAt, sentAt: null, deliveredAt: null, failedReason, bounce: null, attempts: job.attempt - 1 };
  return {
    action: { kind: "complete" },
    isReached: null,
    record(ownsRow) {
      if (ownsRow) deps.emails.end(job.id, { status: "failed", ...end });
    },
  };
}

function load(job: EmailJob, deps: DeliverDeps): Loaded | null {
  const found = deps.emails.forDelivery(job.id);
  if (found === undefined) return null;
  const { email, body } = found;
  // A report has ended it between its claim and now.
  if (email.status !== "queued") return null;
  // Only what is final loses its content: an empty mail in its place would be worse than none.
  if (body === null) throw new Error("the content of an email that is not final is missing");
  return {
    email,
    to: mailbox(parseAddress(email.recipient)),
    body: storedBody(body),
    domain: deps.domains.byId(email.domainId) ?? null,
  };
}

async function attempt(job: EmailJob, loaded: Loaded, context: AttemptContext, deps: DeliverDeps): Promise<Ending> {
  const { email, to, domain } = loaded;
  const refused = refuse(job, loaded, deps);
  if (refused !== null) return refused;
  if (domain === null) return ORPHANED;
  // Held, not failed: the operator may well lift it.
  if (domain.status === "suspended") {
    const reason = `The operator has suspended ${domain.name}: this email waits until that is lifted`;
    return { kind: "trouble", reason, stage: null, category: "policy", badDomainAt: job.state.badDomainAt };
  }

  const route = await findDeliveryRoute(
    job,
    { from: email.senderDomain, to: to.domain, workspaceId: email.workspaceId },
    deps,
  );
  if (route.kind !== "hosts") return route;
  context.locate(route.site);
  if (route.relay === null) deps.refusals.noteReply(DNS_SITE, email.workspaceId, deps.clock.now());
  if (deps.sites.blockOf(route.site, email.workspaceId) !== null) return { kind: "unbegun" };

  const waitsFrom = deps.clock.now();
  const { htmlBytes, textBytes } = loaded.body;
  const contentBytes = (htmlBytes ?? 0) + (textBytes ?? 0);
  const giveBack = await deps.messages.take(email.workspaceId, contentBytes, context.stopping);
  if (giveBack === null) return { kind: "unbegun" };
  try {
    return await send(job, { ...loaded, domain, route, waitsFrom }, context, deps);
  } finally {
    giveBack();
  }
}

/** An email for whose message there is memory. */
interface Ready extends Loaded {
  domain: DomainRow;
  route: Extract<DeliveryRoute, { kind: "hosts" }>;
  waitsFrom: number;
}

async function send(job: EmailJob, ready: Ready, context: AttemptContext, deps: DeliverDeps): Promise<Ending> {
  const { email, to, domain, route, waitsFrom } = ready;
  const signed = await composeAndSign(ready, domain, deps);
  if (signed.kind === "unsigned")
    return { kind: "trouble", reason: signed.reason, stage: null, category: "unknown", badDomainAt: null };

  const release = await deps.slots.take(route.site, context.stopping);
  if (release === null) return { kind: "unbegun" };
  try {
    if (deps.sites.blockOf(route.site, email.workspaceId) !== null) return { kind: "unbegun" };
    if (deps.clock.now() - waitsFrom > LONG_WAIT_MS) {
      const refusedMeanwhile = refuse(job, ready, deps);
      if (refusedMeanwhile !== null) return refusedMeanwhile;
      if (deps.domains.byId(domain.id) === undefined) return ORPHANED;
    }
    deps.sites.begin(route.site, email.workspaceId);
    const { transmission, envelopeAcceptedAt, isTaken } = await transmit({ email, to, signed }, route, context, deps);
    // A report ended the email before all of it was sent: its server is not to blame that we broke off.
    if (isTaken) return { kind: "unbegun" };
    deps.sites.learn(route.site, email.workspaceId, transmission);
    const { relay } = route;
    return {
      kind: "transmitted",
      transmission,
      relay,
      isCutOff: context.cutOff.aborted,
      site: route.site,
      endedAt: deps.clock.now(),
      envelopeAcceptedAt,
    };
  } finally {
    release();
  }
}

/** Sends the message; `isTaken`: broken off before its dot, as the email had come to its end meanwhile. */
async function transmit(
  { email, to, signed }: Addressed & { signed: Signed },
  route: Extract<DeliveryRoute, { kind: "hosts" }>,
  context: AttemptContext,
  deps: DeliverDeps,
) {
  let envelopeAcceptedAt: number | null = null;
  let isTaken = false;
  const ending = new AbortController();
  const cutOff = () => ending.abort();
  context.cutOff.addEventListener("abort", cutOff, { once: true });
  if (context.cutOff.aborted) cutOff();
  try {
    const messagesPerSession = deps.sites.messagesPerSession(route.site);
    const transmission = await deliverVia(
      deps.pool,
      { ...route, messagesPerSession },
      {
        envelope: { from: email.returnPath, to: to.address, needsSmtpUtf8: signed.needsSmtpUtf8 },
        header: headerOf(email),
        content: signed.message,
        async beforeDot() {
          envelopeAcceptedAt = deps.clock.now();
          try {
            await context.markPointOfNoReturn();
          } catch (error) {
            isTaken = error instanceof RowTaken;
            // No other host is tried either.
            if (isTaken) ending.abort();
            throw error;
          }
        },
        signal: ending.signal,
      },
    );
    return { transmission, envelopeAcceptedAt, isTaken };
  } finally {
    context.cutOff.removeEventListener("abort", cutOff);
  }
}

/** What its customer has chosen for the header, which the server may repeat. */
function headerOf({ sender, replyTo, subject }: Addressed["email"]): Mail["header"] {
  const from = mailbox(parseMailbox(sender));
  const addresses = [from, ...(replyTo === null ? [] : [mailbox(parseAddress(replyTo))])].map(({ address }) => address);
  return { addresses, texts: from.displayName === null ? [subject] : [subject, from.displayName] };
}

/** Why the email must not go now, as an end of it; null when it may. */
function refuse(job: EmailJob, { email, to }: Loaded, deps: DeliverDeps): Ending | null {
  if (deps.expiry.now() >= job.expiresAt) {
    const reason = expiredReason({
      createdAt: email.createdAt,
      expiresAt: job.expiresAt,
      lastReply: job.state.lastReply,
    });
    return { kind: "refused", status: "failed", category: "expired", reason };
  }
  const suppressed = deps.suppressions.reasonFor(email.workspaceId, comparableAddress(to));
  if (suppressed === null) return null;
  const reason = `The recipient became suppressed (${suppressed}) after the email was accepted`;
  return { kind: "refused", status: "suppressed", category: "policy", reason };
}

async function composeAndSign({ email, body }: Loaded, domain: DomainRow, deps: DeliverDeps): Promise<Composed> {
  let keys: PlainKey[];
  try {
    keys = deps.keychain.keysFor(domain);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "unsigned", reason: `Not sent, because it could not be signed: ${why}` };
  }
  const { uid, workspaceId, createdAt, sender, recipient, replyTo, subject, returnPath } = email;
  return deps.composer({
    uid,
    // Gone with a deletion: then the email's own rows go too.
    workspaceUid: deps.workspaces.byId(workspaceId)?.uid ?? "",
    createdAt,
    sender,
    recipient,
    replyTo,
    subject,
    returnPath,
    messageId: messageIdOf(email),
    domain: domain.name,
    body,
    keys,
    at: deps.clock.now(),
  });
}

function mailbox(parsed: ReturnType<typeof parseAddress>): Mailbox {
  if (parsed.kind === "mailbox") return parsed.mailbox;
  throw new Error(`a stored address cannot be read: ${parsed.message}`);
}
