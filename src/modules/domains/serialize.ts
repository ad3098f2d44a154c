// Domains as the API shows them: their records with what the last check saw, and in a sentence what to do.

import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import type { DomainCheck, RecordCheck } from "./check.ts";
import type { DomainRecords } from "./records.ts";
import { nameAtHost } from "./dns-host/hosts.ts";
import type { HostView } from "./dns-host/host-views.ts";
import type { Dns, DomainDnsHost, DomainState, DomainWithDns } from "./schema.ts";
import { givenUpAt } from "./status.ts";
import { type DomainRow, isSending } from "./store.ts";

type DnsRecord = typeof Dns.static.spf;

export function inList({ uid, name, status, createdAt, verifiedAt }: DomainRow): typeof DomainState.static {
  return { id: uid, domain: name, status, createdAt: toIsoTime(createdAt), verifiedAt: toIsoTimeOrNull(verifiedAt) };
}

export function withDns(domain: DomainRow, dns: typeof Dns.static): typeof DomainWithDns.static {
  const { status: _, ...members } = inList(domain);
  return { ...members, dns };
}

/** The member `hint`, or nothing. */
export function hinted(hint: string | null): { hint?: string } {
  return hint === null ? {} : { hint };
}

/** What the zone's own name servers have beside what the world saw last. */
export function showHost(view: HostView, seen: typeof Dns.static): typeof DomainDnsHost.static {
  const { zone, nameServers, host, negativeTtlS } = view;
  const world = [...seen.dkim, seen.spf, seen.dmarc];
  const records = view.records.map(({ status: published, ...atHost }, index) => {
    const { status } = world[index] ?? {};
    const { type, name, value } = atHost;
    // The zone's own servers know first what was mended.
    const { found = [], mistake, foundAt, hint } = published === "unknown" ? (world[index] ?? {}) : atHost;
    return {
      type,
      name,
      value,
      nameAtHost: nameAtHost(name, zone, host),
      found,
      ...(status === undefined ? {} : { status }),
      ...(published === "unknown" ? {} : { published }),
      ...(mistake === undefined ? {} : { mistake }),
      ...(foundAt === undefined ? {} : { foundAt }),
      ...(hint === undefined ? {} : { hint }),
    };
  });
  return { zone, nameServers, host, negativeTtl: negativeTtlS, records };
}

export function dnsAfterCheck(check: DomainCheck): typeof Dns.static {
  return { dkim: check.dkim.map(shown), spf: shown(check.spf), dmarc: shown(check.dmarc) };
}

/** A record whose look-up failed has no status: nothing is known of it, and the hint says so. */
function shown({ status, ...record }: RecordCheck): DnsRecord {
  return status === "unknown" ? record : { ...record, status };
}

/** Parses the JSON of what dnsAfterCheck returned. */
export function parseDns(stored: string | null): typeof Dns.static | null {
  return stored === null ? null : (JSON.parse(stored) as typeof Dns.static);
}

/** Null: there was no check. */
export function countFound(last: typeof Dns.static | null): number | null {
  if (last === null) return null;
  return [...last.dkim, last.spf, last.dmarc].filter(({ status }) => status === "found").length;
}

/** The records to publish, each with what the last check saw; one that is another by now was never looked for. */
export function withLastCheck(records: DomainRecords, last: typeof Dns.static | null): typeof Dns.static {
  const seen = last === null ? [] : [...last.dkim, last.spf, last.dmarc];
  const find = (record: DnsRecord) =>
    seen.find(({ type, name, value }) => type === record.type && name === record.name && value === record.value) ??
    record;
  return { dkim: records.dkim.map(find), spf: find(records.spf), dmarc: find(records.dmarc) };
}

/** The next step towards sending, or a recommendation; null: none. */
export function hintFor(domain: DomainRow, dns: typeof Dns.static, isTaken: boolean): string | null {
  const [rsa] = dns.dkim;
  if (rsa === undefined) throw new Error(`the domain ${domain.name} has no key`);
  if (domain.status === "suspended") return "The operator has suspended this domain: ask the operator.";
  if (domain.status === "warning") return warningHint(domain, rsa);
  if (isSending(domain)) return adviceOn(dns);
  if (isTaken) return "Another workspace sends from this domain; it can be verified here once that ends.";
  const isWatched = domain.status === "pending";
  if (domain.checkedAt === null)
    return "Publish these records. pombo checks them regularly from now on; the verification check does so at once.";
  if (rsa.status === undefined)
    return `Not verified yet: DNS did not answer. ${isWatched ? "pombo tries again" : "Call the verification check again in a minute"}.`;
  if (rsa.status === "found") return "Its records are right: the next verification check verifies it.";
  const fault = `${rsa.name} is ${rsa.status === "missing" ? "missing" : "not as it should be"}`;
  return isWatched
    ? `Not verified yet: ${fault}. Publish it; pombo checks regularly, and the verification check does so at once.`
    : `Not verified: ${fault}. Publish it, then call the verification check: pombo no longer checks by itself.`;
}

function warningHint(domain: DomainRow, rsa: DnsRecord): string {
  const endsAt = givenUpAt(domain);
  const until = endsAt === null ? "" : ` before ${toIsoTime(endsAt)}`;
  return `${rsa.name} no longer holds its key. Publish it again${until}, or sending from this domain ends.`;
}

function adviceOn(dns: typeof Dns.static): string | null {
  const open = [...dns.dkim.slice(1), dns.spf, dns.dmarc].filter(
    ({ status }) => status === "missing" || status === "mismatch",
  );
  return open.length === 0
    ? null
    : `Verified: you can send. Still recommended: ${open.map(({ name }) => name).join(", ")}.`;
}
