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

import { splitMessage } from "../../protocols/dkim/canonicalize.ts";
import { hasValidSignature, type LookupTxt as LookupKey } from "../../protocols/dkim/verify.ts";
import type { Clock } from "../../platform/clock.ts";

export interface FeedbackProvider {
  /** From of its reports; `d=` of their signature is its domain. */
  from: string;
  /** Its mail servers are these names or end in them. */
  mx: readonly string[];
  /** The domains under which it gives out mailboxes. One that is missing here counts up to the cap. */
  domains: ReadonlySet<string>;
}

/** `{ yahoo: "com fr" }`: yahoo.com and yahoo.fr. */
function domains(suffixes: Record<string, string>): ReadonlySet<string> {
  return new Set(Object.entries(suffixes).flatMap(([name, all]) => all.split(" ").map((each) => `${name}.${each}`)));
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
    domains: domains({
      yahoo:
        "com co.uk ca fr de it es ie nl be se dk no fi gr pl ro hu cz pt com.br com.mx com.ar com.co com.pe com.ve cl " +
        "in co.in co.id com.au co.nz com.ph com.sg com.my com.vn com.hk com.tw co.th com.tr co.za co.il",
      ymail: "com",
      rocketmail: "com",
      myyahoo: "com",
      aol: "com co.uk fr de it es",
      aim: "com",
    }),
  },
  // Outlook.com, Hotmail, Live, MSN (JMRP). Microsoft names the address; should it not sign, nothing is believed.
  {
    from: "staff@hotmail.com",
    mx: ["olc.protection.outlook.com"],
    domains: domains({
      outlook:
        "com com.br com.ar com.au com.tr pt fr de es it be cl co.id co.il co.th cz dk gr hu ie in jp kr lv my ph sa sg sk",
      hotmail:
        "com co.uk fr de it es be ca cl com.ar com.au com.br com.mx com.tr co.il co.jp co.nz co.th co.za dk fi gr hu nl no ph se sg",
      live: "com co.uk fr de it nl be ca cl cn com.ar com.au com.mx com.my com.ph com.pt com.sg co.za dk fi hk ie in jp no ru se",
      msn: "com",
      windowslive: "com",
    }),
  },
];

export type LookupTxt = (name: string, signal: AbortSignal) => ReturnType<LookupKey>;

/** For the keys of one report: its bringer waits for the answer, and for ten minutes at least (RFC 5321 §4.5.3.2.6). */
const LOOKUP_MS = 5_000;

/**
 * The provider that a report names as its author, where the email's recipient and the host that took it (null: none is
 * known) are that provider's.
 */
export function findProvider(
  report: Uint8Array,
  { recipient, mx }: { recipient: string; mx: string | null },
): FeedbackProvider | null {
  if (mx === null) return null;
  const host = mx.toLowerCase();
  const domain = recipient.slice(recipient.lastIndexOf("@") + 1).toLowerCase();
  const own = FEEDBACK_PROVIDERS.find(
    (each) => each.mx.some((name) => host === name || host.endsWith(`.${name}`)) && each.domains.has(domain),
  );
  return own !== undefined && readAuthor(report) === own.from ? own : null;
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
    return await hasValidSignature(domain, report, (name) => lookupTxt(name, ending.signal), clock.now());
  } finally {
    cancel();
  }
}

/** The address in From; null: there is not one From with one address. The field is cut out as for the signature. */
function readAuthor(report: Uint8Array): string | null {
  const [field, ...others] = splitMessage(report).fields.filter(({ name }) => name === "from");
  if (field === undefined || others.length > 0) return null;
  const value = field.raw.slice(field.raw.indexOf(":") + 1).replaceAll(/\r?\n/g, "");
  // Before the bracket a plain name: no other address, no group, no comment.
  const match = /^(?:[^<>@,;:()\\\n]*<([^<>\s]+)>|([^<>\s]+))$/.exec(value.trim());
  return (match?.[1] ?? match?.[2] ?? null)?.toLowerCase() ?? null;
}
