// Accepts a message that came by SMTP. It becomes what a request becomes; the same closure decides about it
// (api/accept.ts). A client whose answer was lost sends it again, and has no key to say so: it is recognised by its octets,
// for each recipient by itself.

import { AppError } from "../../../platform/errors.ts";
import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { comparableAddress, formatMailbox, type Mailbox, parseMailbox } from "../../../protocols/mime/address.ts";
import { removeFields } from "../../../protocols/mime/header-fields.ts";
import { isSending } from "../../domains/store.ts";
import { type AcceptedSend, acceptIdempotently } from "../../idempotency/accept.ts";
import type { IdempotencyScope } from "../../idempotency/store.ts";
import { type AcceptDeps, writeAll } from "../api/accept.ts";
import type { RecipientKind, Recipient } from "../api/mailboxes.ts";
import { buildExtra, type Prepared } from "../api/prepare.ts";
import { MAX_REPLY_TO } from "../api/mailbox-schema.ts";
import { type AcceptedEmail, type EmailSend, MAX_SUBJECT } from "../api/schema.ts";
import type { AcceptRequest, PreparedAttachment } from "../api/stage-send.ts";
import type { StagePacked } from "../attachments/stage.ts";
import { toStoredBody } from "../content/mime-body.ts";
import { readMembers, type SubmittedMembers } from "./members.ts";
import type { ReadSubmission } from "./read-submitted.ts";

export interface Submission {
  caller: WorkspaceCaller;
  /** Of RCPT; at least one. */
  recipients: Mailbox[];
  message: ReadSubmission;
  /** False: its client was told to come again, so that it must not be written any more. */
  isAwaited: () => boolean;
}

/** Its id, or the group's, and how many emails it became. */
export interface AcceptedSubmission {
  id: string;
  count: number;
}

export interface AcceptSubmissionDeps extends AcceptDeps {
  stagePacked: StagePacked;
}

/** Resolves once it is durable, or was before. Throws AppError. */
export async function acceptSubmission(
  submission: Submission,
  deps: AcceptSubmissionDeps,
): Promise<AcceptedSubmission> {
  const { caller, message } = submission;
  const members = readMembers(message.taken);
  // A key, as octets, is one of each recipient by itself: clients hand the same message in for others too.
  const request: AcceptRequest = {
    caller,
    operation: "smtp",
    idempotency: null,
    items: [buildItem(submission, members)],
  };
  const mark = buildMark(message, members.idempotencyKey);
  const { body } = await acceptIdempotently(request, deps, async () => {
    const prepare = await prepareSubmission(submission, request, deps);
    return (now) => writeOnce(request, { submission, mark, prepare }, now, deps);
  });
  return (JSON.parse(body) as { data: AcceptedSubmission }).data;
}

/** The record and the checks need this of it, in the form of a request. */
function buildItem({ message, recipients }: Submission, { tag, metadata, sendAt, list }: SubmittedMembers): EmailSend {
  const { from, subject } = message;
  const named = formatMailbox(from.address, from.displayName);
  return {
    // A name may hold what no reader of ours takes; it stays in the message.
    from: parseMailbox(named).kind === "mailbox" ? named : from.address,
    to: recipients.map(({ address }) => address),
    // The message keeps all of it; a record is read by the hundred, and written for each recipient.
    subject: Array.from(subject.slice(0, 2 * MAX_SUBJECT))
      .slice(0, MAX_SUBJECT)
      .join("")
      .toWellFormed(),
    ...(tag === undefined ? {} : { tag }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(list === undefined ? {} : { unsubscribe: { list } }),
  };
}

/** Its attachments are stored with it. The email for some of its recipients. */
async function prepareSubmission(
  { caller, message }: Submission,
  { items: [item] }: AcceptRequest,
  deps: AcceptSubmissionDeps,
): Promise<(recipients: Recipient[]) => Prepared> {
  if (item === undefined) throw new Error("a submission has no item");
  const { from, replyTo, holes, date, messageId, needsSmtpUtf8, hasEightBit, files } = message;
  const staged = await deps.stagePacked(
    caller.workspaceId,
    files.map(({ packed }) => packed),
  );
  const attachments = files.map((file, number): PreparedAttachment => {
    const { filename, contentType, contentId, bytes, transferEncoding } = file;
    const attachmentId = staged[number]?.id;
    if (attachmentId === undefined) throw new Error("an attachment was not staged");
    return { number, attachmentId, filename, contentType, contentId, bytes, transferEncoding };
  });
  const attachedBytes = files.reduce((sum, { packed }) => sum + packed.bytes, 0);
  const has = { hasDate: date !== null, hasMessageId: messageId !== null, hasEightBit };
  const layout = { holes, attachedBytes, ...has, needsSmtpUtf8 };
  const body = toStoredBody(buildHeader(message, item, caller, deps), message.body, layout);
  const answersTo = replyTo.slice(0, MAX_REPLY_TO).map((mailbox) => ({ mailbox, address: mailbox.address }));
  return (recipients) => ({
    item,
    from,
    recipients,
    replyTo: answersTo[0]?.address ?? null,
    extra: buildExtra({ item, recipients, attachments }, answersTo, false),
    attachments,
    body,
    submitted: { messageId },
  });
}

function buildHeader(
  { header, sender }: ReadSubmission,
  { unsubscribe }: EmailSend,
  { workspaceId, domainId }: WorkspaceCaller,
  { domains }: Pick<AcceptDeps, "domains">,
): string {
  // The service writes them for its own list.
  const own = unsubscribe === undefined ? header : removeFields(header, /^list-unsubscribe(?:-post)?$/i);
  if (sender === null) return own;
  const domain = domains.senderNamed(workspaceId, sender.domain);
  const mayStay = domain !== undefined && isSending(domain) && (domainId === null || domainId === domain.id);
  return mayStay ? own + sender.field : own;
}

/** A message that comes again is recognised by this. */
interface Mark {
  /** Stands before the hash in the index: with the message's own time new ones stand together, and writing them is cheaper. */
  prefix: string;
  octets: Uint8Array;
}

/** Null: it is not recognised. */
function buildMark({ messageId, date, sha256 }: ReadSubmission, key: string | null): Mark | null {
  if (key !== null) return { prefix: "key", octets: Buffer.from(key) };
  // Without both, the same octets may well be another message: that of a form, or of a job that runs again.
  if (messageId === null || date === null) return null;
  return {
    prefix: Math.max(0, Math.trunc(date / 1_000))
      .toString(36)
      .padStart(8, "0"),
    octets: sha256,
  };
}

interface Prepares {
  submission: Submission;
  mark: Mark | null;
  prepare: (recipients: Recipient[]) => Prepared;
}

/** Inside the transaction: for those recipients who do not have the same message already. */
function writeOnce(
  request: AcceptRequest,
  { submission, mark, prepare }: Prepares,
  now: number,
  deps: AcceptSubmissionDeps,
): AcceptedSend {
  if (!submission.isAwaited()) throw new Error("the client was told to come again");
  const recipients = listRecipients(submission);
  if (mark === null) return shorten(writeAll(request, [prepare(recipients)], now, deps));
  const notBefore = now - deps.settings.keepAnswersMs;
  const found = recipients.map((recipient) => {
    const scope = toScope(request, mark, recipient);
    return { recipient, scope, answer: deps.idempotency.find(scope, notBefore) };
  });
  const fresh = found.filter(({ answer }) => answer === null);
  const first = found.find(({ answer }) => answer !== null)?.answer;
  const repeat = (answer: { response: string }) => ({
    data: JSON.parse(answer.response) as unknown,
    committed: () => undefined,
  });
  if (fresh.length === 0 && first) return repeat(first);
  let accepted: AcceptedSend;
  try {
    accepted = writeAll(request, [prepare(fresh.map(({ recipient }) => recipient))], now, deps);
  } catch (error) {
    // The others have it: a refusal now would be one of them too.
    if (first && error instanceof AppError && error.code === "RECIPIENT_SUPPRESSED") return repeat(first);
    throw error;
  }
  const written = shorten(accepted);
  const answer = { requestHash: NO_HASH, response: JSON.stringify(written.data) };
  const { recipients: shown } = accepted.data as AcceptedEmail;
  for (const [index, { scope }] of fresh.entries())
    // A suppressed recipient may get it once that is lifted.
    if (shown?.[index]?.status !== "suppressed") deps.idempotency.insert(scope, answer, now);
  return written;
}

/** The mark says which message it was. */
const NO_HASH = Buffer.alloc(0);

/** Answers name no address. */
function shorten({ data, committed }: AcceptedSend): AcceptedSend {
  const { id, recipients = [null] } = data as AcceptedEmail;
  return { data: { id, count: recipients.length } satisfies AcceptedSubmission, committed };
}

function toScope({ caller }: AcceptRequest, { prefix, octets }: Mark, { comparable }: Recipient): IdempotencyScope {
  const hash = new Bun.CryptoHasher("sha256").update(octets).update("\0").update(comparable).digest("base64");
  const { workspaceId, domainId } = caller;
  return { workspaceId, domainId: domainId ?? 0, operation: "smtp.recipient", key: `${prefix} ${hash}` };
}

const KINDS: readonly RecipientKind[] = ["to", "cc", "bcc"];

/** In the order to, cc, bcc: each where it stands in the header. */
function listRecipients({ recipients, message }: Submission): Recipient[] {
  const shown = new Map<string, { kind: RecipientKind; name: string | null }>();
  for (const kind of ["cc", "to"] as const)
    for (const mailbox of message[kind]) shown.set(comparableAddress(mailbox), { kind, name: mailbox.displayName });
  const listed = new Map<string, Recipient>();
  for (const mailbox of recipients) {
    const comparable = comparableAddress(mailbox);
    const { kind = "bcc", name = null } = shown.get(comparable) ?? {};
    const named = { ...mailbox, displayName: name };
    listed.set(comparable, { mailbox: named, address: mailbox.address, kind, comparable, index: null });
  }
  return [...listed.values()].toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}
