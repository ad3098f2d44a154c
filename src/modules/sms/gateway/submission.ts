/**
 * What goes over a link as one submit_sm: a segment, or all of a text where the route carries it whole
 * (`payload`).
 */
import { relativeValidity, type SubmitSm } from "../../../protocols/smpp/pdu/submit-sm.ts";
import type { Route } from "./route-settings.ts";
import { submissionsOf } from "../encoding/segment.ts";
import type { SegmentRow } from "../queue/segment-read-store.ts";
import { sourceAddress } from "../encoding/source-address.ts";
import type { MessageRow } from "../queue/message-store.ts";

/** Segments in flight, as the link is handed them and hands them back. */
export interface Submission {
  readonly submit: SubmitSm;
  readonly messageId: number;
  readonly route: string;
  /** Of its message, in order; several with `payload` alone. */
  readonly seqs: number[];
  /** Of this claim alone: what another claim of the same segments was answered changes nothing here. */
  readonly leaseEpoch: number;
}

const HEADER = 0x40;
const RECEIPT = 0x01;
const INTERMEDIATE = 0x10;
const NOTHING = new Uint8Array();

type FlightSegment = Pick<SegmentRow, "messageId" | "seq" | "parts" | "leaseEpoch" | "umr" | "payload" | "reference">;
type FlightMessage = Pick<MessageRow, "encoding" | "alphabet" | "sender" | "recipient" | "expiresAt">;

/** `rows`: one, or with `payload` all of its message. Throws where the route cannot carry it. */
export function flightOf(rows: FlightSegment[], message: FlightMessage, { config }: Route, now: number): Submission {
  const [first] = rows;
  if (first === undefined) throw new Error("a flight of nothing");
  const { messageId, seq, parts: total, leaseEpoch, umr } = first;
  const isWhole = rows.length === total;
  const own = isWhole ? rows.map(({ payload }) => payload) : partsWith(first);
  const { encoding, alphabet, sender, recipient, expiresAt } = message;
  const wire = { method: config.segmentation, defaultCharset: config.defaultCharset, reference: first.reference ?? 0 };
  const submissions = submissionsOf({ encoding, alphabet, parts: own }, wire);
  const submission = submissions.find((each) => each.seq === seq);
  if (submission === undefined) throw new Error(`part ${seq} of ${total} cannot be written`);
  const { alphanumericTonNpi: alphanumeric, numberTonNpi: long, shortCodeTonNpi: short } = config;
  const known = config.senders.find(({ name }) => name === sender)?.as ?? sender;
  const source = sourceAddress(known, { alphanumeric, long, short });
  if (source === null) throw new Error(`${sender} is no sender id`);
  const { sar } = submission;
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
    sar: sar === null ? null : { reference: sar.reference, total: sar.total, part: sar.seq },
    hasMoreMessages: config.moreMessages && !isWhole ? seq < total : null,
  };
  return { submit, messageId, route: config.name, seqs: rows.map((row) => row.seq), leaseEpoch };
}

/** Only the place of the others counts. */
function partsWith({ seq, parts, payload }: FlightSegment): Uint8Array[] {
  return Array.from({ length: parts }, (_, index) => (index === seq - 1 ? payload : NOTHING));
}

/** Whether the route says what becomes of a part, once it was taken. */
export function isReported({ config }: Route, { seq, parts }: Pick<SegmentRow, "seq" | "parts">): boolean {
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
