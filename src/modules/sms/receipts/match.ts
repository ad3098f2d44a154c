// Whether a receipt with an unknown id is about a message. Pure.
// By how its text begins, which many SMSCs repeat, by the sender, and by when it was submitted.

/** Fewer letters that are the same say nothing. */
const FEW = 4;

/** Null: it repeats nothing that can be compared, as where the text begins with letters that SMSCs mangle. */
export function isAbout(repeated: string | null, sent: string): boolean | null {
  if (repeated === null) return null;
  const [said, whole] = [plain(repeated), plain(sent)];
  const length = Math.min(said.length, whole.length);
  if (said.slice(0, length) !== whole.slice(0, length)) return false;
  return length > 0 && length >= Math.min(FEW, plain(sent, /$/).length) ? true : null;
}

/** ASCII letters and digits, up to the first character that is no ASCII. */
function plain(text: string, end = /[^\n\r\x20-\x7e]/): string {
  const [head = ""] = text.split(end);
  return head.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

/** A sender as it went out and as a receipt names it: numbers may lose their `+`. */
export function isSameSender(a: string, b: string): boolean {
  return senderKey(a) === senderKey(b);
}

function senderKey(address: string): string {
  return address.replace(/^\+/, "").trim().toLowerCase();
}

const MINUTE_MS = 60_000;
/** Zones differ by quarters of an hour, from -12 to +14 hours. */
const ZONE_STEP_MS = 15 * MINUTE_MS;
const MAX_ZONE_MS = 14 * 60 * MINUTE_MS;
/** Dates without seconds, answers that take their time, and clocks that are not quite right. */
const SLACK_MS = 2 * MINUTE_MS;

/**
 * Whether a submit date (as if it were UTC) lies in the time in which a text was submitted. `offsetMs`: by how much the
 * SMSC's dates are ahead of our clock; null: that is not known, and may be any zone. Null: there is no date.
 */
export function isSubmittedIn(
  date: number | null,
  span: { from: number; to: number },
  offsetMs: number | null,
): boolean | null {
  if (date === null) return null;
  const [from, to] = [span.from - SLACK_MS, span.to + SLACK_MS];
  if (offsetMs !== null) return date - offsetMs >= from && date - offsetMs <= to;
  // The smallest zone with which it is not too late.
  const zoneMs = Math.max(-MAX_ZONE_MS, Math.ceil((date - to) / ZONE_STEP_MS) * ZONE_STEP_MS);
  return zoneMs <= MAX_ZONE_MS && date - zoneMs >= from && date - zoneMs <= to;
}
