import { splitMessage } from "../../protocols/dkim/canonicalize.ts";
import { bearsSignatureOf, type LookupTxt as LookupKey } from "../../protocols/dkim/verify.ts";
import type { Clock } from "../../platform/clock.ts";
import { registeredLabel } from "../../protocols/dns/organizational-domain.ts";

// Whose complaints count towards the sending block without a cap (modules/plans/sending-block.ts): providers whose feedback loop
// is theirs alone and whose reports can be told from forged ones. Four things must agree.
//
// - From is the address of the loop, in a header that has one From. Providers let nobody else write under it,
//   while the domain may sign what each of their users writes: d= alone would believe every user.
// - A DKIM signature whose d= is that address's domain covers the whole body. SPF adds nothing: it would vouch
//   for a server, and these sign. A key that cannot be found now is no signature: the report counts up to the cap.
// - The email went to the provider's own mail server. Whoever has the email may send it on, signature and all, to
//   a mailbox of his at the provider and complain there, once for each address of his domain.
// - The recipient's domain is one of those under which the provider itself gives out mailboxes. Providers host
//   domains of others too, whose owners make as many mailboxes as they like: such a domain counts up to the cap.

export interface FeedbackProvider {
  /** From of its reports; `d=` of their signature is its domain. */
  from: string;
  /** Its mail servers are these names or end in them. */
  mx: readonly string[];
  /** Its own domains are registered by these names, under whichever suffix: `yahoo` is `yahoo.com` and `yahoo.co.uk`. */
  domains: readonly string[];
}

/**
 * Loops that speak for many providers (Validity's), and providers that do not say how they sign, are left out:
 * theirs count up to the cap, for each of the domains behind them.
 */
const FEEDBACK_PROVIDERS: readonly FeedbackProvider[] = [
  // Yahoo and AOL: its sender hub names this address and domain.
  {
    from: "feedback@arf.mail.yahoo.com",
    mx: ["yahoodns.net"],
    domains: ["yahoo", "ymail", "rocketmail", "myyahoo", "aol", "aim"],
  },
  // Outlook.com, Hotmail, Live, MSN (JMRP). Microsoft names the address; should it not sign, nothing is believed.
  {
    from: "staff@hotmail.com",
    mx: ["olc.protection.outlook.com"],
    domains: ["outlook", "hotmail", "live", "msn", "windowslive"],
  },
];

export type LookupTxt = (name: string, signal: AbortSignal) => ReturnType<LookupKey>;

/** For the keys of one report: its bringer waits for the answer, and for ten minutes at least (RFC 5321 §4.5.3.2.6). */
const LOOKUP_MS = 5_000;

/** What the report is about: who was written to, and the host that took it; null: none is known. */
export interface DeliveredEmail {
  recipient: string;
  mx: string | null;
}

/** The provider that a report names as its author, where the email's recipient and the host that took it are that provider's. */
export function providerOf(report: Uint8Array, { recipient, mx }: DeliveredEmail): FeedbackProvider | null {
  if (mx === null) return null;
  const host = mx.toLowerCase();
  const label = registeredLabel(recipient.slice(recipient.lastIndexOf("@") + 1));
  const own = FEEDBACK_PROVIDERS.find(
    (each) =>
      each.mx.some((name) => host === name || host.endsWith(`.${name}`)) && each.domains.some((name) => name === label),
  );
  return own !== undefined && authorOf(report) === own.from ? own : null;
}

/** Whether the provider has signed the report. Never rejects, and takes LOOKUP_MS at the longest. */
export async function isFromProvider(
  { from }: FeedbackProvider,
  report: Uint8Array,
  { lookupTxt, clock }: { lookupTxt: LookupTxt; clock: Pick<Clock, "now" | "after"> },
): Promise<boolean> {
  const ending = new AbortController();
  const cancel = clock.after(LOOKUP_MS, () => ending.abort());
  try {
    const domain = from.slice(from.lastIndexOf("@") + 1);
    return await bearsSignatureOf(domain, report, (name) => lookupTxt(name, ending.signal), clock.now());
  } finally {
    cancel();
  }
}

/** The address in From; null: there is not one From with one address. The field is cut out as for the signature. */
function authorOf(report: Uint8Array): string | null {
  const [field, ...others] = splitMessage(report).fields.filter(({ name }) => name === "from");
  if (field === undefined || others.length > 0) return null;
  const value = field.raw.slice(field.raw.indexOf(":") + 1).replaceAll(/\r?\n/g, "");
  // Before the bracket a plain name: no other address, no group, no comment.
  const match = /^(?:[^<>@,;:()\\\n]*<([^<>\s]+)>|([^<>\s]+))$/.exec(value.trim());
  return (match?.[1] ?? match?.[2] ?? null)?.toLowerCase() ?? null;
}
