// What mail servers answered in the last seven days.

import { type DeliveryCounts, countDeliveries, type ProviderCounts } from "../lately/deliveries.ts";
import { bad, type Finding, ok, quote } from "../finding.ts";
import { RULES } from "../rules.ts";
import type { World } from "../world.ts";

/** Fewer say nothing. */
const MIN_ATTEMPTS = 20;
const MANY_REFUSED = 0.2;
const SOME_REFUSED = 0.05;
const MANY_DEFERRED = 0.3;
/** Refusals that are about the sender; those about the recipient are the list's. */
const ABOUT_US: readonly string[] = [
  "policy",
  "spam_content",
  "spam_block",
  "auth_failed",
  "rate_limited",
  "bad_connection",
  "no_answer",
];
const DAY_MS = 86_400_000;
/** Before the limit, so that there is time to do what it asks. */
const NEAR_BULK = 0.8;
/** Of complaints, as Gmail and Yahoo have it. */
const SOME_COMPLAINTS = 0.001;
const MANY_COMPLAINTS = 0.003;
/** One person is no rate. */
const MIN_COMPLAINTS = 2;

export async function checkProviders(world: World): Promise<Finding[]> {
  const { deliveries, clock, steady } = world;
  const now = clock.now();
  const rest = () => new Promise<void>((resolve) => void steady.after(0, resolve));
  const counts = await countDeliveries(deliveries, { now, rest });
  return [
    ...counts.providers.map(checkDelivery),
    ...counts.providers.flatMap((each) => checkWords(each, now)),
    ...checkVolumes(counts.providers),
    ...checkComplaints(counts),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toLocaleString("en", { maximumFractionDigits: share < 0.01 ? 2 : 0 })} %`;
}

function checkDelivery(counts: ProviderCounts): Finding {
  const id = "provider_delivery";
  const { name, attempts, firsts, firstDelivered, deferred, refused, medianSeconds, categories } = counts;
  const about = { subject: name };
  const median = medianSeconds === null ? "" : `, half within ${Math.max(1, Math.round(medianSeconds))} s`;
  const atOnce = firsts === 0 ? "" : `${percent(firstDelivered / firsts)} delivered at the first try${median}, `;
  const words = categories.map(([category, number]) => `${number} ${category}`).join(", ");
  const seen = `${name}, ${attempts} attempts in 7 days: ${atOnce}${deferred} deferred, ${refused} refused${words === "" ? "" : ` (${words})`}.`;
  const aboutUs = categories
    .filter(([category]) => ABOUT_US.includes(category))
    .reduce((sum, [, number]) => sum + number, 0);
  const share = aboutUs / attempts;
  const step = `pombo queue shows what waits and why; pombo trace ID the servers' words. pombo doctor --only provider_words explains those that are known, --only reputation whether the address is listed.`;
  if (attempts < MIN_ATTEMPTS) return ok(id, seen, about);
  if (share >= MANY_REFUSED && refused / attempts >= SOME_REFUSED) return bad(id, "problem", { ...about, seen, step });
  if (share >= SOME_REFUSED || deferred / attempts >= MANY_DEFERRED)
    return bad(id, "warning", { ...about, seen, step });
  return ok(id, seen, about);
}

function checkWords({ name, words }: ProviderCounts, now: number): Finding[] {
  const id = "provider_words";
  if (words.size === 0) return [ok(id, `${name} said nothing that is known to need a step.`, { subject: name })];
  return [...words].map(([{ meaning, step, pattern }, { count, reply, lastAt }]) =>
    bad(id, now - lastAt < DAY_MS ? "problem" : "warning", {
      subject: `${name} ${pattern.source}`,
      seen: `${name} said ${count} times that ${meaning}: “${quote(reply, 160)}”.`,
      step,
    }),
  );
}

function checkVolumes(providers: readonly ProviderCounts[]): Finding[] {
  const id = "provider_volume";
  return RULES.map(({ provider, name, bulkPerDay, bulk, source }) => {
    const perDay = Math.round(providers.find((each) => each.name === provider)?.perDay ?? 0);
    const seen = `About ${perDay.toLocaleString("en")} emails a day go to ${name}`;
    if (perDay < bulkPerDay * NEAR_BULK)
      return ok(id, `${seen}, far below its rules for bulk senders.`, { subject: name });
    return bad(id, "warning", {
      subject: name,
      seen: `${seen}: from ${bulkPerDay.toLocaleString("en")} on its rules for bulk senders hold.`,
      step: `It asks: ${bulk}.\npombo doctor --only domains,spf,name shows what is missing. Its own words: ${source}`,
    });
  });
}

function checkComplaints({ delivered, complaints }: DeliveryCounts): Finding[] {
  const id = "complaints";
  return [...delivered].map(([domain, number]) => {
    const count = complaints.get(domain) ?? 0;
    const rate = count / number;
    const about = { subject: domain };
    const seen = `${count} of ${number.toLocaleString("en")} delivered emails of ${domain} were complained about (${percent(rate)}).`;
    if (count < MIN_COMPLAINTS || rate < SOME_COMPLAINTS) return ok(id, seen, about);
    return bad(id, rate >= MANY_COMPLAINTS ? "problem" : "warning", {
      ...about,
      seen,
      step: `Gmail and Yahoo refuse from 0.3 % on. Send only to who asked for it, with a link to unsubscribe; who complained is suppressed by itself. pombo workspace list shows whose domain it is; pombo workspace block stops it meanwhile.`,
    });
  });
}
