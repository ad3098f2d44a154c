import { signMessage } from "../dkim/sign.ts";
import type { Keychain } from "../domains/keychain.ts";
import type { DomainRow, DomainStore } from "../domains/store.ts";
import { comparableAddress, type Mailbox, parseAddress, parseMailbox } from "../mime/address.ts";
import { composeMessage } from "../mime/compose.ts";
import type { Job } from "../queue/store.ts";
import type { AttemptContext, Handler, Settlement } from "../queue/worker.ts";
import type { SessionPool } from "../smtp/pool.ts";
import type { SessionSlots } from "../smtp/slots.ts";
import { deliverVia } from "../smtp/transmit.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import { unpackBody } from "./body.ts";
import { type Addressed, type Ending, settle, type SettleParts } from "./settle.ts";
import { messageIdOf } from "./show.ts";
import { findWay, type WayParts } from "./way.ts";

// One attempt at one email: load it, look once more whether it may still go, find the way, compose
// and sign, send. Nothing is written here: every way out is a value that settle.ts turns into rows,
// which the worker commits together with the queue row's fate. The message is signed before a
// session is taken, so that sessions never wait for a signature; unsigned it never leaves.

/** The failedReason of what was still queued from a deleted domain. */
export const DOMAIN_DELETED = "The sending domain was deleted before this email could be delivered";

export interface DeliverParts extends SettleParts, WayParts {
  domains: DomainStore;
  suppressions: SuppressionStore;
  keychain: Keychain;
  pool: SessionPool;
  slots: SessionSlots;
}

/** The worker's handler for emails. */
export function emailHandler(parts: DeliverParts): Handler {
  return {
    async attempt(job, context) {
      const loaded = loadOrGiveUp(job, parts);
      if (loaded === "unreadable") return abandon(job, parts);
      if (loaded === null) return { fate: { kind: "finish" }, isReached: null, record: () => undefined };
      return settle({ job, ...loaded }, await attempt(job, loaded, context, parts), parts);
    },
    recordInterrupted(job) {
      parts.emails.insertAttempt({
        emailId: job.id,
        number: job.attempts,
        startedAt: job.startedAt,
        endedAt: job.dotAt,
        host: null,
        address: null,
        tls: null,
        stage: "dot",
        code: null,
        enhancedCode: null,
        reply: "pombo was cut off before the answer to the message came",
        outcome: "unknown",
        category: "bad_connection",
      });
      parts.emails.setSentAt(job.id, job.dotAt);
      parts.emails.setPossibleDuplicate(job.id);
    },
  };
}

/** An email and what is needed around it. */
interface Loaded extends Addressed {
  content: { html: string | null; text: string | null };
  /** Null: it was deleted. */
  domain: DomainRow | null;
}

/** A stored email that cannot be read is a bug, tried again as every other, but not past its life. */
function loadOrGiveUp(job: Job, parts: DeliverParts): Loaded | null | "unreadable" {
  try {
    return load(job, parts);
  } catch (error) {
    if (parts.clock.now() < job.expiresAt) throw error;
    parts.log.bug("load", error);
    return "unreadable";
  }
}

function abandon(job: Job, parts: DeliverParts): Settlement {
  const failedReason = "4.4.7 Not delivered in its time: pombo could not read it from its database";
  const end = { sentAt: null, deliveredAt: null, failedReason, bounce: null, attempts: job.attempt - 1 };
  return {
    fate: { kind: "finish" },
    isReached: null,
    record(isHeld) {
      if (isHeld) parts.emails.end(job.id, { status: "failed", ...end });
    },
  };
}

function load(job: Job, parts: DeliverParts): Loaded | null {
  const found = parts.emails.forDelivery(job.id);
  if (found === undefined) return null;
  const { email, body } = found;
  return {
    email,
    to: mailbox(parseAddress(email.recipient)),
    content: body === null ? { html: null, text: null } : unpackBody(body),
    domain: parts.domains.byId(email.domainId) ?? null,
  };
}

async function attempt(job: Job, loaded: Loaded, context: AttemptContext, parts: DeliverParts): Promise<Ending> {
  const { email, to, domain } = loaded;
  const refused = refuse(job, loaded, parts);
  if (refused !== null) return refused;
  if (domain === null) return { kind: "refused", status: "failed", category: "unknown", reason: DOMAIN_DELETED };

  const route = await findWay(job, to.domain, parts);
  if (route.kind !== "hosts") return route;

  const signed = await composeAndSign(loaded, domain, parts);
  if (signed.kind === "unsigned")
    return { kind: "trouble", reason: signed.reason, stage: null, category: "unknown", badDomainAt: null };

  const release = await parts.slots.take(route.site, context.stopping);
  if (release === null) return { kind: "unbegun" };
  try {
    let envelopeAcceptedAt: number | null = null;
    const transmission = await deliverVia(parts.pool, route, {
      envelope: { from: email.returnPath, to: to.address, needsSmtpUtf8: signed.needsSmtpUtf8 },
      content: signed.message,
      beforeDot: () => {
        envelopeAcceptedAt = parts.clock.now();
        return context.markDot();
      },
      signal: context.cutOff,
    });
    return { kind: "transmitted", transmission, endedAt: parts.clock.now(), envelopeAcceptedAt };
  } finally {
    release();
  }
}

/** Why the email must not go now, as an end of it; null when it may. */
function refuse(job: Job, { email, to }: Loaded, parts: DeliverParts): Ending | null {
  if (parts.clock.now() >= job.expiresAt) {
    const hours = Math.round((job.expiresAt - email.createdAt) / 3_600_000);
    const last = job.lastReply === null ? "" : `; last answer: ${job.lastReply}`;
    // RFC 3463 §3.5: 4.4.7, delivery time expired.
    return {
      kind: "refused",
      status: "failed",
      category: "expired",
      reason: `4.4.7 Not delivered within ${hours} h${last}`.slice(0, 512),
    };
  }
  const suppressed = parts.suppressions.reasonFor(email.workspaceId, comparableAddress(to));
  if (suppressed === null) return null;
  const reason = `The recipient became suppressed (${suppressed}) after the email was accepted`;
  return { kind: "refused", status: "suppressed", category: "policy", reason };
}

type Composed = { kind: "signed"; message: Uint8Array; needsSmtpUtf8: boolean } | { kind: "unsigned"; reason: string };

async function composeAndSign(
  { email, to, content }: Loaded,
  domain: DomainRow,
  parts: DeliverParts,
): Promise<Composed> {
  const from = mailbox(parseMailbox(email.sender));
  const replyTo = email.replyTo === null ? null : mailbox(parseAddress(email.replyTo));
  const message = composeMessage({
    id: email.uid,
    messageId: messageIdOf(email),
    createdAt: email.createdAt,
    from,
    to,
    replyTo,
    subject: email.subject,
    ...content,
    headers: [
      // R53: Gmail counts complaints by each of the first three, so none is of one message alone.
      ["Feedback-ID", `transactional:w${email.workspaceId}:${domain.name}:pombo`],
      // R42: finds the email in a complaint that hides the recipient; the return path's token, so it cannot be made up.
      ["X-Pombo-Trace", email.returnPath.slice(2, email.returnPath.indexOf("@"))],
    ],
  });
  try {
    const signatures = await signMessage(message, parts.keychain.keysFor(domain), parts.clock.now());
    // R21: an address beyond ASCII stands as it is in the envelope and in the header.
    const needsSmtpUtf8 = [from, to, replyTo].some((each) => each !== null && /[^\0-\u007F]/.test(each.address));
    return { kind: "signed", message: Buffer.concat([signatures, message]), needsSmtpUtf8 };
  } catch (error) {
    return {
      kind: "unsigned",
      reason: `Not sent, because it could not be signed: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function mailbox(parsed: ReturnType<typeof parseMailbox>): Mailbox {
  if (parsed.kind === "mailbox") return parsed.mailbox;
  throw new Error(`a stored address cannot be read: ${parsed.message}`);
}
