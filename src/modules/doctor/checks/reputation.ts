// Whether the addresses that mail leaves from, and the names in it, are on blocklists.

import { organizationalDomain } from "../../../protocols/dns/organizational-domain.ts";
import { askAboutAddress, askAboutName, describeList, isSpamhaus, type Listing } from "../blocklist.ts";
import type { FindingId } from "../catalog.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import { withoutAddress } from "../sending.ts";
import type { World } from "../world.ts";

export async function checkReputation(world: World): Promise<Finding[]> {
  const { doctor, hostname } = world.config;
  const sending = await world.sending();
  const { addresses } = sending;
  const ofAddresses = addresses.flatMap(({ address }) =>
    doctor.blockLists.map(async (zone) =>
      judge("blocklist", { what: address, zone }, await askAboutAddress(address, zone, world)),
    ),
  );
  const own = organizationalDomain(hostname);
  const ofNames = doctor.nameLists.map(async (zone) =>
    judge("blocklist_name", { what: own, zone }, await askAboutName(own, zone, world)),
  );
  return [...(await Promise.all([...ofAddresses, ...ofNames])), ...withoutAddress(["blocklist"], sending)];
}

/** Of a sending domain, one finding for all lists. */
export async function checkDomainLists(name: string, world: World): Promise<Finding[]> {
  const zones = world.config.doctor.nameLists;
  const own = organizationalDomain(name);
  const found = await Promise.all(
    zones.map(async (zone) => judge("domain_blocklist", { what: own, zone }, await askAboutName(own, zone, world))),
  );
  const worst =
    found.find(({ level }) => level === "problem") ??
    found.find(({ level }) => level === "warning") ??
    found.find(({ level }) => level === "unknown") ??
    found[0];
  return worst === undefined ? [] : [{ ...worst, subject: name }];
}

function judge(id: FindingId, { what, zone }: { what: string; zone: string }, listing: Listing): Finding {
  const { name, link, isWidelyUsed } = describeList(zone);
  const about = { subject: `${what} ${zone}` };
  switch (listing.kind) {
    case "not_listed":
      return ok(id, `${what} is not on ${name}.`, about);
    case "not_known":
      return unknown(id, `${name} ${listing.reason}; whether ${what} is on it is not known.`, {
        ...about,
        step: listing.isRefused
          ? howToAsk(zone)
          : `If that stays so, take ${zone} out of [doctor] block_lists or name_lists.`,
      });
    case "listed":
      return bad(id, isWidelyUsed ? "problem" : "warning", {
        ...about,
        seen: `${what} is on the blocklist ${name} (${quote(listing.codes.join(", "), 100)})${explain(zone, listing.codes)}.`,
        step: [
          `Find out first what sent the mail that brought it there: pombo status, pombo workspace list, and whether other programs send from this address. While that goes on, each delisting is undone, and nothing else helps.`,
          `Then ask for its removal: ${link}`,
        ].join("\n"),
      });
  }
}

const ZEN: readonly (readonly [codes: readonly string[], what: string])[] = [
  [["127.0.0.2"], "SBL: spam was seen, or its owner is known for it"],
  [["127.0.0.3"], "CSS: mail to spam traps, or a server that looks like a spammer's"],
  [["127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"], "XBL: malware, an open proxy or a stolen password"],
  [["127.0.0.9"], "DROP: the whole network is refused; ask the hoster, or move"],
  [
    ["127.0.0.10", "127.0.0.11"],
    "PBL: its hoster says that no mail servers are there; its page takes a server out at once",
  ],
];

function explain(zone: string, codes: readonly string[]): string {
  if (zone !== "zen.spamhaus.org") return "";
  const known = ZEN.filter(([own]) => own.some((code) => codes.includes(code))).map(([, what]) => what);
  return known.length === 0 ? "" : `: ${known.join("; ")}`;
}

function howToAsk(zone: string): string {
  const resolver = 'apt install unbound\nthen in the configuration: [dns] servers = ["127.0.0.1"]\nand restart pombo';
  if (!isSpamhaus(zone))
    return `Take a resolver of your own:\n${resolver}\nSome lists also want the address of the resolver to be registered.`;
  return `Take a resolver of your own:\n${resolver}\nor a free key of https://www.spamhaus.com/data-access/free-data-query-service/:\n[doctor] spamhaus_key = "…"`;
}
