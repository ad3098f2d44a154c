// How old a sending domain is, by RDAP (RFC 9083), only when asked for: the registries are asked over HTTPS.

import { organizationalDomain } from "../../../protocols/dns/organizational-domain.ts";
import type { DomainView } from "../domain-view.ts";
import { bad, type Finding, ok, unknown } from "../finding.ts";
import type { World } from "../world.ts";

/** Redirects to the registry of the domain (RFC 9224). */
const RDAP = "https://rdap.org/domain/";
const RDAP_MS = 8_000;
const YOUNG_MS = 42 * 86_400_000;
const MAX_ANSWER_CHARACTERS = 1024 * 1024;

export async function checkAge({ name }: DomainView, world: World): Promise<Finding[]> {
  const id = "domain_age";
  if (!world.rdap) return [];
  const own = organizationalDomain(name);
  const about = { subject: name };
  const at = await findRegistration(own, world).catch(() => null);
  if (at === null) return [unknown(id, `The registry does not say when ${own} was registered.`, about)];
  const days = Math.floor((world.clock.now() - at) / 86_400_000);
  if (world.clock.now() - at >= YOUNG_MS)
    return [ok(id, `${own} was registered ${days.toLocaleString("en")} days ago.`, about)];
  return [
    bad(id, "warning", {
      ...about,
      seen: `${own} was registered ${days} days ago: receivers trust a domain little in its first six weeks.`,
      step: "Begin with few emails a day, to people who wait for them (sign-in codes, receipts), and double that from week to week.",
    }),
  ];
}

/** Unix ms; null: it is not told. */
async function findRegistration(domain: string, { fetch: call, signal }: World): Promise<number | null> {
  const response = await call(`${RDAP}${domain}`, {
    headers: { accept: "application/rdap+json" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(RDAP_MS)]),
  });
  const text = await response.text();
  if (!response.ok || text.length > MAX_ANSWER_CHARACTERS) return null;
  const { events } = JSON.parse(text) as { events?: { eventAction?: string; eventDate?: string }[] };
  const at = Date.parse(events?.find(({ eventAction }) => eventAction === "registration")?.eventDate ?? "");
  return Number.isNaN(at) ? null : at;
}
