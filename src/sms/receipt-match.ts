/**
 * Whether a receipt without a known id is about a text: by how the text begins, which many SMSCs repeat, and by the
 * sender. Pure.
 */

/** Fewer letters say nothing. */
const FEW = 4;

/** Null: it repeats nothing that can be compared, as where the text begins with letters that SMSCs mangle. */
export function isAbout(repeated: string | null, sent: string): boolean | null {
  if (repeated === null) return null;
  const [said, whole] = [plain(repeated), plain(sent)];
  const length = Math.min(said.length, whole.length);
  if (length < Math.min(FEW, plain(sent, /$/).length)) return null;
  return length > 0 && said.slice(0, length) === whole.slice(0, length);
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
