// The messages of a link test: one of the GSM alphabet, one that is only UCS-2, one of two parts. Each shows on the phone
// whether the SMSC takes the alphabet for what it is. They are written as the route writes all messages. Pure.

import { encodeText, normalForm } from "../encoding/encoding.ts";
import { type Submission, buildSubmission, isReceiptExpected } from "../gateway/submission.ts";
import type { Route } from "../gateway/route-settings.ts";
import { type SplitText, splitText } from "../encoding/segment.ts";

export const TEST_MESSAGES = ["gsm", "ucs2", "two_parts"] as const;
export type TestMessage = (typeof TEST_MESSAGES)[number];

export interface TestSubmit {
  text: TestMessage;
  /** From 1. */
  part: number;
  parts: number;
  submission: Submission;
  /** Whether the route promises a receipt for it. */
  expectsReceipt: boolean;
}

/** Characters that SMSCs with another alphabet change; a route whose data coding 0 is ASCII has only the first three. */
const GSM_SIGNS = ["@ $ _ \u00e9 \u00e0", "@ $ _"];
const LIFETIME_MS = 10 * 60_000;

export interface TestAddresses {
  /** In E.164. */
  to: string;
  /** A sender id. */
  from: string;
}

interface Given {
  /** Unix ms. */
  now: number;
  /** Joins the parts on the phone. */
  reference: number;
  /** The first of their user_message_references. */
  umr: number;
}

/** Throws where the route cannot write one of them, or the sender is none. */
export function buildTestSubmits({ to, from }: TestAddresses, route: Route, given: Given): TestSubmit[] {
  const signs = GSM_SIGNS.find((each) => encodeText(each, route.config).encoding === "gsm7") ?? "";
  const filler = "abcdefghij ".repeat(16).trim();
  const bodies: Record<TestMessage, string> = {
    gsm: `pombo test 1 of 3, GSM: ${signs}`.trim(),
    ucs2: "pombo test 2 of 3, UCS-2: \u00e3 \u00e7 \u00f5 \u00ea \u2713",
    two_parts: `pombo test 3 of 3, two parts in one: ${filler} - the end.`,
  };
  const message = { sender: from, recipient: to, expiresAt: given.now + LIFETIME_MS };
  return TEST_MESSAGES.flatMap((text, index) =>
    buildAll(splitText(normalForm(bodies[text]), route.config), message, route, {
      ...given,
      umr: given.umr + index,
    }).map((submission) => {
      const [part = 1] = submission.seqs;
      const parts = text === "two_parts" ? 2 : 1;
      return { text, part, parts, submission, expectsReceipt: isReceiptExpected(route, { seq: part, parts }) };
    }),
  );
}

/** As the dispatcher makes them of rows. */
function buildAll(
  { encoding, alphabet, parts }: SplitText,
  message: { sender: string; recipient: string; expiresAt: number },
  route: Route,
  given: Given,
): Submission[] {
  const rows = parts.map((payload, index) => ({
    messageId: 0,
    seq: index + 1,
    parts: parts.length,
    leaseEpoch: 0,
    payload: Buffer.from(payload),
    reference: parts.length > 1 ? given.reference : null,
    umr: (given.umr + index) & 0xffff,
  }));
  const whole = { ...message, encoding, alphabet };
  const isWhole = route.config.segmentation === "payload" || rows.length === 1;
  if (isWhole) return [buildSubmission(rows, whole, route, given.now)];
  return rows.map((row) => buildSubmission([row], whole, route, given.now));
}
