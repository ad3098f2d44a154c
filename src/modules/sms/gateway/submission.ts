// One submit_sm on a link: a segment, or all of a message where the route carries it whole (`payload`).

import type { AfterCommit } from "../../../platform/db/after-commit.ts";
import type { Log } from "../../../platform/log.ts";
import { relativeValidity, type SubmitSm } from "../../../protocols/smpp/pdu/submit-sm.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { toSubmissions } from "../encoding/segment.ts";
import { sourceAddress } from "../encoding/source-address.ts";
import type { MessageRow, MessageStore } from "../queue/message-store.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { Route } from "./route-settings.ts";
import { type Claim, SILENT, type SegmentRow, type ProviderWords } from "../queue/segment-read-store.ts";

/** Segments in flight, as a link takes them and gives them back. */
export interface Submission {
  readonly submit: SubmitSm;
  readonly messageId: number;
  readonly route: string;
  /** Of its message, in order; several only with `payload`. */
  readonly seqs: number[];
  /** Of this claim only: the response to another claim of the same segments changes nothing here. */
  readonly leaseEpoch: number;
}

const HEADER = 0x40;
const RECEIPT = 0x01;
const INTERMEDIATE = 0x10;
const NOTHING = new Uint8Array();

type SubmittedSegment = Pick<
  SegmentRow,
  "messageId" | "seq" | "parts" | "leaseEpoch" | "umr" | "payload" | "reference"
>;
type SubmittedMessage = Pick<MessageRow, "encoding" | "alphabet" | "sender" | "recipient" | "expiresAt">;

/** `rows`: one, or with `payload` all of its message. Throws where the route cannot carry it. */
export function buildSubmission(
  rows: SubmittedSegment[],
  message: SubmittedMessage,
  { config }: Route,
  now: number,
): Submission {
  const [first] = rows;
  if (first === undefined) throw new Error("a submission of nothing");
  const { messageId, seq, parts: total, leaseEpoch, umr } = first;
  const isWhole = rows.length === total;
  const own = isWhole ? rows.map(({ payload }) => payload) : placePart(first);
  const { encoding, alphabet, sender, recipient, expiresAt } = message;
  const { segmentation, defaultCharset } = config;
  const wire = { segmentation, defaultCharset, reference: first.reference ?? 0 };
  const submissions = toSubmissions({ encoding, alphabet, parts: own }, wire);
  const submission = submissions.find((each) => each.seq === seq);
  if (submission === undefined) throw new Error(`part ${seq} of ${total} cannot be written`);
  const { alphanumericTonNpi: alphanumeric, numberTonNpi: long, shortCodeTonNpi: short } = config;
  const known = config.senders.find(({ name }) => name === sender)?.as ?? sender;
  const source = sourceAddress(known, { alphanumeric, long, short });
  if (source === null) throw new Error(`${sender} is no sender id`);
  const submit: SubmitSm = {
    source,
    destination: { ...config.destinationTonNpi, address: recipient.replace(/^\+/, "") },
    esmClass: config.esmClass | (submission.hasHeader ? HEADER : 0),
    validityPeriod: config.validity === "omit" ? "" : relativeValidity(expiresAt - now),
    registeredDelivery: config.receipts === "none" ? 0 : RECEIPT | (config.intermediateReceipts ? INTERMEDIATE : 0),
    dataCoding: submission.dataCoding,
    shortMessage: submission.shortMessage,
    messagePayload: submission.messagePayload,
    userMessageReference: config.userMessageReference ? umr : null,
    sar: submission.sar,
    hasMoreMessages: config.moreMessages && !isWhole ? seq < total : null,
  };
  return { submit, messageId, route: config.name, seqs: rows.map((row) => row.seq), leaseEpoch };
}

/** Only the place of the others counts. */
function placePart({ seq, parts, payload }: SubmittedSegment): Uint8Array[] {
  return Array.from({ length: parts }, (_, index) => (index === seq - 1 ? payload : NOTHING));
}

/** Whether the route says what becomes of a part, once it was taken. */
export function isReceiptExpected({ config }: Route, { seq, parts }: Pick<SegmentRow, "seq" | "parts">): boolean {
  switch (config.receipts) {
    case "none":
      return false;
    case "first":
      return seq === 1 || config.segmentation === "payload";
    case "last":
      return seq === parts || config.segmentation === "payload";
    case "each":
      return true;
  }
}

export interface SubmissionDeps {
  sms: {
    segments: SegmentStore;
    messages: Pick<MessageStore, "byId">;
    afterCommit: Pick<AfterCommit, "run">;
  };
  suppressions: Pick<SuppressionStore, "reasonForNumber">;
  log: Log;
}

type ClaimedBy = Pick<Claim, "link" | "leaseEpoch" | "now">;

/** The claimed segments that can still be sent, inside the transaction of their claim; the others end here. */
export function buildSubmissions(
  rows: SegmentRow[],
  route: Route,
  claim: ClaimedBy,
  deps: SubmissionDeps,
): Submission[] {
  const { sms } = deps;
  const isWhole = route.config.segmentation === "payload";
  const submissions: Submission[] = [];
  const done = new Set<number>();
  let message: MessageRow | undefined;
  for (const row of rows) {
    if (done.has(row.messageId)) continue;
    if (message?.id !== row.messageId) message = sms.messages.byId(row.messageId);
    const whole = isWhole && row.parts > 1 ? claimWhole(row, rows, claim, deps) : [row];
    if (isWhole) done.add(row.messageId);
    const why = message === undefined ? GONE : findObjection(row, message, claim.now, deps);
    if (message === undefined || why !== null) {
      const { state, ...said } = why ?? GONE;
      for (const part of whole) sms.segments.end(part, { state, now: claim.now }, said);
      continue;
    }
    try {
      submissions.push(buildSubmission(whole, message, route, claim.now));
    } catch (error) {
      const said = { ...SILENT, category: "internal_error" } as const;
      for (const part of whole) sms.segments.end(part, { state: "failed", now: claim.now }, said);
      sms.afterCommit.run(() => deps.log.error("sms submit", error, { message: row.messageId, seq: row.seq }));
    }
  }
  return submissions;
}

function claimWhole(row: SegmentRow, rows: SegmentRow[], claim: ClaimedBy, { sms }: SubmissionDeps): SegmentRow[] {
  const claimed = rows.filter(({ messageId }) => messageId === row.messageId);
  const rest = sms.segments.claimRest(row.messageId, claim);
  return [...claimed, ...rest].toSorted((a, b) => a.seq - b.seq);
}

function findObjection(
  row: SegmentRow,
  message: MessageRow,
  now: number,
  { suppressions }: SubmissionDeps,
): (ProviderWords & { state: "failed" | "expired" }) | null {
  const { providerStatus, providerCode, reason, category } = row;
  if (message.expiresAt <= now)
    return { providerStatus, providerCode, reason, category: category ?? "expired", state: "expired" };
  // A message that was begun is sent to its end: half of it is of no use. The answer to HELP is sent in any case.
  if (row.seq > 1 || message.isHelp) return null;
  const suppressed = suppressions.reasonForNumber(row.workspaceId, message.recipient);
  if (suppressed === null) return null;
  return { ...SILENT, category: suppressed === "invalid_number" ? "unknown_subscriber" : "opted_out", state: "failed" };
}

/** Its workspace was deleted. */
const GONE = { ...SILENT, category: "internal_error", state: "failed" } as const;
