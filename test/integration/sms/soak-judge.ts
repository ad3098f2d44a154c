// What must hold after a long run, by the journals of the SMSCs and by the database. A text's number tells which
// one it was: +25884 and its place in the run.

import type { Database } from "bun:sqlite";
import { partOf, readMessage } from "../../support/peers/smsc/codec.ts";
import type { SmscHandle } from "../../support/peers/smsc/client.ts";

const MAX_PARTS = 3;
const PREFIX = "25884";

export function numberOf(nth: number): string {
  return `+${PREFIX}${String(nth).padStart(7, "0")}`;
}

/** What the SMSCs read, text by text. */
export interface Arrivals {
  submits: number;
  /** How often, at `nth * MAX_PARTS + part - 1`. */
  counts: Uint8Array;
  /** Parts out of order, on another link than the part before, or under another reference or total. */
  disorder: string[];
}

const SUBMIT = "00000004";
/** Of the user data header: after its length and the element's two octets. */
const REFERENCE_AT = 3;

/** `texts`: how many there were. */
export async function readArrivals(smscs: SmscHandle[], texts: number): Promise<Arrivals> {
  const counts = new Uint8Array(texts * MAX_PARTS);
  // Of a text of several parts: the last part that came, its link, reference and total.
  const before = new Map<number, { part: number; link: number; reference: number; total: number }>();
  const arrivals: Arrivals = { submits: 0, counts, disorder: [] };
  for (const [link, smsc] of smscs.entries()) {
    for (const { direction, what } of await smsc.notes()) {
      if (direction !== "<" || !what.startsWith(SUBMIT, 8)) continue;
      const message = readMessage(Buffer.from(what, "hex"));
      const nth = Number(message.destination.slice(PREFIX.length));
      const place = partOf(message);
      const part = place?.part ?? 1;
      if (part > MAX_PARTS) throw new Error(`a part ${part}: ${what}`);
      arrivals.submits += 1;
      counts[nth * MAX_PARTS + part - 1] = (counts[nth * MAX_PARTS + part - 1] ?? 0) + 1;
      if (place === null) continue;
      const now = { part, link, reference: message.shortMessage[REFERENCE_AT] ?? 0, total: place.total };
      const last = before.get(nth) ?? { ...now, part: 0 };
      const isInOrder = part === last.part + 1 && Bun.deepEquals({ ...now, part: 0 }, { ...last, part: 0 });
      if (!isInOrder || part > place.total) arrivals.disorder.push(`${nth}: ${part} after ${last.part}`);
      if (part === place.total) before.delete(nth);
      else before.set(nth, now);
    }
  }
  return arrivals;
}

interface Row {
  recipient: string;
  segments: number;
  status: string;
  /** Segments that were given up and paid back, and are known to have arrived after all: the refund stands. */
  writtenOff: number;
  category: string | null;
  isMarked: number;
  credits: number;
}

export interface Verdict {
  stored: number;
  segments: number;
  delivered: number;
  marked: number;
  /** Read more than once. */
  doubled: number;
  /** Of several parts, given up because nobody knew of one. */
  givenUp: number;
  creditsTaken: number;
  /** What must never be, in words. */
  wrong: string[];
}

/** `accepted`: by each text's place, 1 where a 202 was seen. */
export function judge(sqlite: Database, accepted: Uint8Array, { counts, disorder }: Arrivals): Verdict {
  const verdict: Verdict = {
    stored: 0,
    segments: 0,
    delivered: 0,
    marked: 0,
    doubled: 0,
    givenUp: 0,
    creditsTaken: 0,
    wrong: disorder.map((each) => `out of order: ${each}`),
  };
  const missing = accepted.slice();
  const rows = sqlite.query<Row, []>(
    `SELECT recipient, segments, status, failure_category AS category, possible_duplicate AS isMarked, credits,
       (SELECT COUNT(*) FROM sms_segment WHERE message_id = sms_message.id AND credit = 'written_off') AS writtenOff
     FROM sms_message`,
  );
  for (const row of rows.iterate()) {
    const nth = Number(row.recipient.slice(PREFIX.length + 1));
    verdict.stored += 1;
    verdict.segments += row.segments;
    verdict.creditsTaken += row.credits;
    verdict.marked += row.isMarked;
    // A second row for the same text would be one that was never sent.
    if (missing[nth] === 2) verdict.wrong.push(`stored twice: ${nth}`);
    missing[nth] = 2;
    const arrived = Array.from(counts.subarray(nth * MAX_PARTS, nth * MAX_PARTS + row.segments));
    judgeText(row, arrived, verdict);
  }
  const lost = missing.reduce((sum, mark) => sum + (mark === 1 ? 1 : 0), 0);
  if (lost > 0) verdict.wrong.push(`${lost} were accepted and are not there`);
  return verdict;
}

function judgeText(row: Row, arrived: number[], verdict: Verdict): void {
  const complain = (what: string) => void verdict.wrong.push(`${what}: ${JSON.stringify(row)} read ${arrived.join()}`);
  const isDoubled = arrived.some((count) => count > 1);
  if (isDoubled) verdict.doubled += 1;
  if (isDoubled && row.isMarked === 0) complain("came twice, unmarked");
  if (isDoubled && row.segments > 1) complain("of several parts, and sent again");
  if (arrived.some((count) => count > 2)) complain("came more than twice");
  if (row.status === "delivered") {
    verdict.delivered += 1;
    if (arrived.includes(0)) complain("delivered, and never read");
    if (row.credits + row.writtenOff !== row.segments) complain("delivered, and not paid for");
    return;
  }
  verdict.givenUp += 1;
  if (row.status !== "failed" || row.category !== "outcome_unknown") complain("not delivered");
  if (!arrived.includes(0)) complain("arrived, and its receipts do not count");
  if (row.segments === 1) complain("one part, and given up");
}
