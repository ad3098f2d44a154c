// What a receiver's Authentication-Results (RFC 8601) say, where a reply quotes them. Pure.

export interface QuotedResult {
  method: "spf" | "dkim" | "dmarc";
  /** Such as pass. */
  result: string;
  /** What it means, and what to do. */
  words: string;
}

/** A reply with its quotation; strangers write to postmaster, too. */
const MAX_OCTETS = 256 * 1024;
const METHODS = ["spf", "dkim", "dmarc"] as const;

const CURES: Record<QuotedResult["method"], string> = {
  spf: "pombo doctor --only spf,return_path shows the record to publish.",
  dkim: "pombo doctor --only dkim shows the record to publish.",
  dmarc: "pombo doctor --only domains shows what is not aligned, and the record to publish.",
};

/** Empty: nothing is quoted. `message`: with its header, which may be encoded, and so may its text. */
export function readQuotedResults(message: Uint8Array): QuotedResult[] {
  const raw = Buffer.from(message.subarray(0, MAX_OCTETS)).toString("latin1");
  const body = raw.slice(raw.search(/\r?\n\r?\n/));
  for (const text of [body, decodeQuoted(body), decodeBase64(body)]) {
    const at = text.search(/authentication-results/i);
    if (at < 0) continue;
    const quoted = text.slice(at).replaceAll(/\r?\n[> ]*/g, " ");
    const found = METHODS.flatMap((method): QuotedResult[] => {
      const result = new RegExp(`\\b${method}\\s*=\\s*([a-z]+)`, "i").exec(quoted)?.[1]?.toLowerCase();
      return result === undefined ? [] : [{ method, result, words: explain(method, result) }];
    });
    if (found.length > 0) return found;
  }
  return [];
}

function explain(method: QuotedResult["method"], result: string): string {
  const name = method.toUpperCase();
  switch (result) {
    case "pass":
      return `${name} passed.`;
    case "none":
      return `${name}: the receiver found no record. ${CURES[method]}`;
    case "temperror":
      return `${name} could not be looked up at that moment: send another one.`;
    default:
      return `${name} did not pass (${result}). ${CURES[method]}`;
  }
}

/** RFC 2045 §6.7. */
function decodeQuoted(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** All that looks like it (RFC 2045 §6.8). */
function decodeBase64(text: string): string {
  return [...text.matchAll(/(?:^[A-Za-z0-9+/=]{40,}\r?\n)+(?:^[A-Za-z0-9+/=]+\r?\n?)?/gm)]
    .map(([block]) => Buffer.from(block, "base64").toString("latin1"))
    .join("\n");
}
