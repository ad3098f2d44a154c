/**
 * What the three large mailbox providers ask of who sends to them, and the words in which they say that it is missing.
 * Facts that move: each has its source, and the month whose state it tells. Pure.
 */

import type { FindingId } from "./catalog.ts";

export interface ProviderRules {
  /** As protocols/smtp/providers.ts has it. */
  provider: string;
  /** For people. */
  name: string;
  /** Emails a day from which the rules for bulk senders hold. */
  bulkPerDay: number;
  bulk: string;
  /** Findings that say whether these are met: of each sender, and of bulk senders beside. Of a list of several one suffices. */
  forAll: readonly (readonly FindingId[])[];
  forBulk: readonly (readonly FindingId[])[];
  source: string;
  /** The month whose state this is. */
  asOf: string;
}

/** Google and Yahoo ask the same. */
const AUTHENTICATED = {
  forAll: [["ptr"], ["return_path", "dkim"], ["complaints"]],
  forBulk: [["return_path"], ["dkim"], ["dmarc"], ["dmarc_alignment"]],
} as const;

export const RULES: readonly ProviderRules[] = [
  {
    provider: "google",
    name: "Gmail",
    bulkPerDay: 5_000,
    bulk: "SPF and DKIM and DMARC (p=none suffices), From aligned with one of the two; one-click unsubscribing in marketing mail, done within two days; TLS; PTR both ways; complaints below 0.3 %. Who has reached 5,000 a day once stays a bulk sender. Since November 2025 other mail is deferred or refused. Register each sending domain at https://postmaster.google.com: it shows compliance and the spam rate",
    ...AUTHENTICATED,
    source: "https://support.google.com/a/answer/81126",
    asOf: "2025-11",
  },
  {
    provider: "yahoo",
    name: "Yahoo",
    bulkPerDay: 5_000,
    bulk: "SPF and DKIM and DMARC (p=none suffices), From aligned with one of the two; one-click unsubscribing in marketing mail, done within two days; PTR both ways; complaints below 0.3 %. Register each DKIM domain with the feedback loop at https://senders.yahooinc.com, to fbl@ the bounce host",
    ...AUTHENTICATED,
    source: "https://senders.yahooinc.com/best-practices/",
    asOf: "2025-11",
  },
  {
    provider: "outlook",
    name: "Outlook.com",
    bulkPerDay: 5_000,
    bulk: "since 5 May 2025 SPF and DKIM must both pass, and DMARC with From aligned; else mail is refused with 550 5.7.515. Register the address with SNDS and JMRP: https://sendersupport.olc.protection.outlook.com",
    forAll: [["ptr"], ["complaints"]],
    forBulk: AUTHENTICATED.forBulk,
    source:
      "https://techcommunity.microsoft.com/blog/microsoftdefenderforoffice365blog/strengthening-email-ecosystem-outlook%E2%80%99s-new-requirements-for-high%E2%80%90volume-senders/4399730",
    asOf: "2025-05",
  },
];

export interface KnownWord {
  provider: string;
  pattern: RegExp;
  /** What it means, the end of a sentence. */
  meaning: string;
  step: string;
}

const SEE_DOMAIN = "pombo doctor --only domains,spf says which record is wrong, and shows the one to publish.";

function word(provider: string, pattern: RegExp, meaning: string, step: string): KnownWord {
  return { provider, pattern, meaning, step };
}

/** The first that matches counts. */
const WORDS: readonly KnownWord[] = [
  word("google", /\b[45]\.7\.27\b/, "SPF did not pass", SEE_DOMAIN),
  word("google", /\b[45]\.7\.30\b/, "DKIM did not pass", SEE_DOMAIN),
  word("google", /\b[45]\.7\.(?:31|40)\b/, "the domain has no DMARC record", SEE_DOMAIN),
  word("google", /\b[45]\.7\.32\b/, "From is aligned with neither SPF nor DKIM", SEE_DOMAIN),
  word(
    "google",
    /\b[45]\.7\.(?:23|25)\b/,
    "the address has no PTR, or one that does not lead back",
    "pombo doctor --only name shows what to have set, and the text of the ticket.",
  ),
  word(
    "google",
    /\b[45]\.7\.29\b/,
    "the connection had no TLS",
    "pombo uses TLS wherever it is offered: look at what stands between, such as a firewall that removes STARTTLS.",
  ),
  word("google", /\b5\.7\.26\b/, "neither SPF nor DKIM passed, or DMARC refused", SEE_DOMAIN),
  word(
    "google",
    /\b4\.7\.28\b/,
    "more mail comes than its trust in the address or domain allows",
    "Send less a day, and more from week to week; pombo slows down by itself. https://postmaster.google.com shows the spam rate.",
  ),
  word(
    "yahoo",
    /\bTSS04\b|\bTS0[1-3]\b/i,
    "complaints or unusual volume from this address",
    "Send less, and only to who asked for it; it passes within hours. Register the domains with https://senders.yahooinc.com.",
  ),
  word(
    "yahoo",
    /\bTSS09\b/i,
    "it refuses this address for its complaints",
    "Stop the mail that was complained about (pombo status, complaints per domain); then ask at https://senders.yahooinc.com/contact.",
  ),
  word("outlook", /\b5\.7\.515\b/, "SPF, DKIM and DMARC must all pass for so much mail", SEE_DOMAIN),
  word(
    "outlook",
    /\bS3140\b/i,
    "it refuses the whole network of the address",
    "Ask at https://olcsupport.office.com for the address to be let through; ask your hoster, too, or move.",
  ),
  word(
    "outlook",
    /\bS3150\b/i,
    "it refuses this address for what it has sent",
    "Look at the complaints (SNDS: https://sendersupport.olc.protection.outlook.com), then ask at https://olcsupport.office.com.",
  ),
];

/** Only of the provider itself: anybody can write such words into a refusal. */
export function findWord(provider: string, reply: string): KnownWord | null {
  return WORDS.find((each) => each.provider === provider && each.pattern.test(reply)) ?? null;
}
