// The records of the sending domains, as receivers read them.

import { parseTags } from "../../../protocols/dkim/signature.ts";
import { type DmarcRecord, readDmarc, reportDomain } from "../../../protocols/dmarc/record.ts";
import type { Lookup, MxRecord } from "../../../protocols/dns/lookup.ts";
import { organizationalDomain } from "../../../protocols/dns/organizational-domain.ts";
import { formatZoneRecord } from "../../../protocols/dns/zone-file.ts";
import { compareDkim } from "../../domains/compare.ts";
import type { DnsRecord } from "../../domains/records.ts";
import type { DomainView } from "../domain-view.ts";
import { bad, type Finding, type Level, ok, quote, unknown } from "../finding.ts";
import type { World } from "../world.ts";
import { checkAge } from "./age.ts";
import { checkDomainLists } from "./reputation.ts";

/** Domains looked at at once. */
const AT_ONCE = 4;
/** What one domain asks of DNS at most, but for the SPF of its return path, which most domains share. */
const QUESTIONS_OF_DOMAIN = 18;
/** Mail hosts whose addresses are looked for, the best first. */
const MAX_MAIL_HOSTS = 3;
/** Report addresses whose permission is looked for. */
const MAX_REPORTS = 3;
const WATCHING_MS = 30 * 86_400_000;

/** In the order given, as far as the questions of the run go. */
export async function checkDomains(world: World): Promise<Finding[]> {
  const found: Finding[][] = [];
  const waiting = world.domains.values();
  const worker = async () => {
    for (const domain of waiting) {
      if (world.dns.asked + AT_ONCE * QUESTIONS_OF_DOMAIN > world.questions) return;
      found.push(await checkDomain(domain, world));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found.flat();
}

async function checkDomain(domain: DomainView, world: World): Promise<Finding[]> {
  const [dkim, returnPath, dmarc, answerable, lists, age] = await Promise.all([
    checkDkim(domain, world),
    checkReturnPath(domain, world),
    checkDmarc(domain, world),
    checkAnswerable(domain, world),
    checkDomainLists(domain.name, world),
    checkAge(domain, world),
  ]);
  return [
    dkim,
    returnPath,
    ...dmarc.findings,
    ...checkAlignment(domain, { dkim, returnPath, record: dmarc.record }),
    answerable,
    ...lists,
    ...age,
  ];
}

async function checkDkim({ name, dkim }: DomainView, { dns }: World): Promise<Finding> {
  const about = { subject: name };
  const faults: { level: Exclude<Level, "ok" | "unknown">; seen: string; record: DnsRecord }[] = [];
  for (const [at, record] of dkim.entries()) {
    const isFirst = at === 0;
    const lookup = await dns.txt(record.name);
    if (lookup.kind === "failed")
      return unknown("dkim", `The DKIM key at ${record.name} could not be looked up: ${quote(lookup.reason)}.`, about);
    if (lookup.kind !== "found") {
      // Mail is signed with the RSA key alone until the second one is there.
      if (isFirst)
        faults.push({
          level: "problem",
          seen: `There is no DKIM key at ${record.name}: receivers cannot verify a signature.`,
          record,
        });
      else
        faults.push({ level: "warning", seen: `There is no DKIM key at ${record.name}, the one of Ed25519.`, record });
      continue;
    }
    const compared = compareDkim(record.value, lookup.records);
    const level = isFirst ? "problem" : "warning";
    if (compared.status !== "found")
      faults.push({
        level,
        seen: `The DKIM key at ${record.name} is not the one that signs. ${compared.hint ?? ""}`.trim(),
        record,
      });
    else if (lookup.records.some(isTestKey))
      faults.push({
        level: "warning",
        seen: `The DKIM key at ${record.name} says t=y, only a test: receivers may take its mail for unsigned.`,
        record,
      });
  }
  const [first] = faults;
  if (first === undefined) return ok("dkim", `The DKIM keys of ${name} are published.`, about);
  return bad("dkim", faults.some(({ level }) => level === "problem") ? "problem" : "warning", {
    ...about,
    seen: faults.map(({ seen }) => seen).join(" "),
    step: `Publish at the DNS provider of ${name}:\n${faults.map(({ record }) => formatZoneRecord(record)).join("\n")}`,
  });
}

function isTestKey(record: string): boolean {
  return (parseTags(record)?.get("t") ?? "").split(":").some((flag) => flag.trim().toLowerCase() === "y");
}

async function checkReturnPath({ name, returnPath }: DomainView, { dns }: World): Promise<Finding> {
  const id = "return_path";
  const about = { subject: name };
  const lookup = await dns.cname(returnPath.name);
  if (lookup.kind === "failed")
    return unknown(id, `${returnPath.name} could not be looked up: ${quote(lookup.reason)}.`, about);
  const target = lookup.kind === "found" ? lookup.records.join(", ") : null;
  if (target === returnPath.value) return ok(id, `${returnPath.name} leads to ${target}.`, about);
  const step = `Publish at the DNS provider of ${name}, with any proxy switched off:\n${formatZoneRecord(returnPath)}`;
  return bad(id, "warning", {
    ...about,
    seen:
      target === null
        ? `${returnPath.name} is no CNAME to ${returnPath.value}: bounces go to the host's own name, and SPF is not aligned with ${name}.`
        : `${returnPath.name} leads to ${quote(target)} in place of ${returnPath.value}: SPF is not aligned with ${name}.`,
    step,
  });
}

interface DmarcFound {
  findings: Finding[];
  /** Null: there is none that holds, or it could not be looked up. */
  record: DmarcRecord | null;
}

async function checkDmarc(domain: DomainView, world: World): Promise<DmarcFound> {
  const { name, dmarc } = domain;
  const about = { subject: name };
  const top = organizationalDomain(name);
  const own = await world.dns.txt(`_dmarc.${name}`);
  let [lookup, at] = [own, name];
  const isMissing = (found: Lookup<string>) =>
    found.kind !== "failed" && (found.kind !== "found" || readDmarc(found.records).kind === "none");
  // RFC 9989 §4.10: without a record of its own, the one of the domain above holds.
  if (isMissing(own) && top !== name) [lookup, at] = [await world.dns.txt(`_dmarc.${top}`), top];
  const publish = `Publish at the DNS provider of ${name}:\n${formatZoneRecord(dmarc)}`;
  if (lookup.kind === "failed")
    return {
      findings: [unknown("dmarc", `The DMARC record of ${at} could not be looked up: ${quote(lookup.reason)}.`, about)],
      record: null,
    };
  const reading = readDmarc(lookup.kind === "found" ? lookup.records : []);
  const broken = (seen: string, step: string) => ({
    findings: [bad("dmarc", "problem", { ...about, seen, step })],
    record: null,
  });
  switch (reading.kind) {
    case "none":
      return broken(`${name} has no DMARC record: Gmail, Yahoo and Outlook refuse bulk mail without.`, publish);
    case "several":
      return broken(
        `${at} has ${reading.texts.length} DMARC records, which counts as none.`,
        `Remove all but one of these at _dmarc.${at}:\n${reading.texts.map((text) => quote(text)).join("\n")}`,
      );
    case "faulty":
      return broken(
        `The DMARC record of ${at} ${quote(reading.fault)}.`,
        `Replace “${quote(reading.text)}” at _dmarc.${at} by one such as:\n${formatZoneRecord({ ...dmarc, name: `_dmarc.${at}` })}`,
      );
    case "record":
      return {
        findings: [
          ok("dmarc", `The DMARC record of ${at} is ${quote(reading.text, 120)}.`, about),
          checkPolicy(domain, { reading, at }, world),
          await checkReports(domain, { record: reading.record, at }, world),
        ],
        record: reading.record,
      };
  }
}

interface Found {
  reading: { record: DmarcRecord; text: string };
  at: string;
}

/**
 * DMARC passes with one of the two that is aligned, and Outlook wants both. pombo signs with the sending domain itself, so
 * DKIM is aligned where its key is published; SPF is, with the return path under the domain, where DMARC is relaxed.
 */
function checkAlignment(
  { name, returnPath: path }: DomainView,
  found: { dkim: Finding; returnPath: Finding; record: DmarcRecord | null },
): Finding[] {
  const id = "dmarc_alignment";
  const about = { subject: name };
  const { dkim, returnPath, record } = found;
  if (record === null) return [];
  if (dkim.level === "unknown" || returnPath.level === "unknown")
    return [
      unknown(
        id,
        `Whether DKIM and SPF of ${name} are aligned is not known: a record of theirs could not be looked up.`,
        about,
      ),
    ];
  const isSigned = dkim.level !== "problem";
  const isStrict = record.spf === "strict";
  const hasSpf = returnPath.level === "ok" && !isStrict;
  if (isSigned && hasSpf) return [ok(id, `DKIM and SPF of ${name} are both aligned.`, about)];
  const without = isStrict
    ? `its DMARC record says aspf=s, and return paths are under ${path.name}`
    : `${path.name} does not lead to ${path.value}`;
  const step = isStrict
    ? `Take aspf=s out of the DMARC record of ${name}.`
    : `Publish at the DNS provider of ${name}:\n${formatZoneRecord(path)}`;
  if (isSigned)
    return [
      bad(id, "warning", {
        ...about,
        seen: `Only DKIM of ${name} is aligned, not SPF: ${without}. Outlook wants both of bulk mail.`,
        step,
      }),
    ];
  if (hasSpf)
    return [
      bad(id, "warning", {
        ...about,
        seen: `Only SPF of ${name} is aligned, not DKIM: mail that is forwarded fails DMARC.`,
        step: dkim.step ?? step,
      }),
    ];
  return [
    bad(id, "problem", {
      ...about,
      seen: `Neither DKIM nor SPF of ${name} is aligned: its mail fails DMARC.`,
      step: dkim.step ?? step,
    }),
  ];
}

function checkPolicy({ name, verifiedAt }: DomainView, { reading, at }: Found, { clock }: World): Finding {
  const id = "dmarc_policy";
  const about = { subject: name };
  const { record, text } = reading;
  const policy = at === name ? record.policy : record.subdomainPolicy;
  const change = (value: string) =>
    `Change the record at the DNS provider of ${at}:\n${formatZoneRecord({ type: "TXT", name: `_dmarc.${at}`, value: quote(value, 1_000) })}`;
  if (record.obsolete.length > 0)
    return bad(id, "warning", {
      ...about,
      seen: `The DMARC record of ${at} has ${record.obsolete.map((tag) => `${tag}=`).join(", ")}, which receivers no longer read (RFC 9989): the policy holds for all mail.`,
      step: change(text.replaceAll(/;\s*(?:pct|rf|ri)\s*=[^;]*/gi, "")),
    });
  if (policy !== "none")
    return ok(id, `The DMARC policy for ${name} is ${policy}${record.isTest ? ", as a test (t=y)" : ""}.`, about);
  const sinceMs = verifiedAt === null ? 0 : clock.now() - verifiedAt;
  if (sinceMs < WATCHING_MS)
    return ok(id, `The DMARC policy for ${name} is none, which is right for the first weeks.`, about);
  return bad(id, "warning", {
    ...about,
    seen: `The DMARC policy for ${name} is still none, ${Math.floor(sinceMs / 86_400_000)} days after its first mail: everybody can send in its name.`,
    step: `When the reports show only mail that passes, ${change(text.replace(/(;\s*s?p\s*=\s*)none/gi, "$1quarantine")).replace(/^C/, "c")}`,
  });
}

/** RFC 9990 §4: whoever gets reports for another's domain must say that they are wanted. */
async function checkReports(
  { name }: DomainView,
  { record, at }: { record: DmarcRecord; at: string },
  { dns }: World,
): Promise<Finding> {
  const id = "dmarc_reports";
  const about = { subject: name };
  if (record.reportTo.length === 0)
    return bad(id, "warning", {
      ...about,
      seen: `Nobody gets the DMARC reports of ${at}: its record has no rua=, so that forged mail and broken signatures stay unseen.`,
      step: `Add to the record at _dmarc.${at}, with an address that you read:\n; rua=mailto:dmarc@${organizationalDomain(at)}`,
    });
  const others = record.reportTo
    .slice(0, MAX_REPORTS)
    .map(reportDomain)
    .filter((domain) => domain !== null && organizationalDomain(domain) !== organizationalDomain(at));
  for (const other of others) {
    const permission = `${at}._report._dmarc.${other}`;
    const lookup = await dns.txt(permission);
    if (lookup.kind === "failed")
      return unknown(id, `${permission} could not be looked up: ${quote(lookup.reason)}.`, about);
    if (lookup.kind === "found" && lookup.records.some((text) => /^\s*v\s*=\s*DMARC1/.test(text))) continue;
    return bad(id, "warning", {
      ...about,
      seen: `The DMARC reports of ${at} are to go to ${other}, which does not say that it wants them: they are not sent.`,
      step: `The owner of ${other} publishes:\n${formatZoneRecord({ type: "TXT", name: permission, value: "v=DMARC1" })}`,
    });
  }
  return ok(id, `The DMARC reports of ${at} go to ${record.reportTo.map((uri) => quote(uri, 100)).join(", ")}.`, about);
}

/** Receivers refuse mail from a domain that takes none back. */
async function checkAnswerable({ name }: DomainView, { dns }: World): Promise<Finding> {
  const id = "from_domain";
  const about = { subject: name };
  const mx = await dns.mx(name);
  if (mx.kind === "failed") return unknown(id, `The MX of ${name} could not be looked up: ${quote(mx.reason)}.`, about);
  const step = `Publish at the DNS provider of ${name} where its mail is read, for example:\n${name}. 3600 IN MX 10 mx.${name}.`;
  if (mx.kind === "found") {
    if (mx.records.some(({ exchange }) => exchange === ""))
      return bad(id, "problem", {
        ...about,
        seen: `${name} has a null MX (RFC 7505): it says that it takes no mail, and receivers refuse mail that cannot be answered.`,
        step: `Remove the record “MX 0 .” at ${name}. ${step}`,
      });
    return await checkMailHosts(name, mx.records, { dns, step });
  }
  const [a, aaaa] = await Promise.all([dns.a(name), dns.aaaa(name)]);
  if (a.kind === "found" || aaaa.kind === "found")
    return ok(id, `Mail from ${name} can be answered: it has an address.`, about);
  if (a.kind === "failed")
    return unknown(id, `The address of ${name} could not be looked up: ${quote(a.reason)}.`, about);
  return bad(id, "problem", {
    ...about,
    seen: `${name} has neither an MX nor an address: receivers refuse mail that cannot be answered.`,
    step,
  });
}

async function checkMailHosts(
  name: string,
  records: readonly MxRecord[],
  { dns, step }: Pick<World, "dns"> & { step: string },
): Promise<Finding> {
  const id = "from_domain";
  const about = { subject: name };
  const best = records.toSorted((left, right) => left.preference - right.preference).slice(0, MAX_MAIL_HOSTS);
  const hosts = best.map(({ exchange }) => exchange);
  for (const host of hosts)
    for (const kind of ["a", "aaaa"] as const) {
      const lookup = await dns[kind](host);
      if (lookup.kind === "found")
        return ok(id, `Mail from ${name} can be answered: it has an MX, ${host}, with an address.`, about);
      if (lookup.kind === "failed")
        return unknown(id, `The address of ${host} could not be looked up: ${quote(lookup.reason)}.`, about);
    }
  return bad(id, "problem", {
    ...about,
    seen: `The MX of ${name} is ${hosts.map((host) => quote(host)).join(", ")}, which has no address: receivers refuse mail that cannot be answered.`,
    step: `${step}\nOr give ${quote(hosts[0] ?? "")} its address.`,
  });
}
