// Whether the mail of this instance meets what the three large providers ask, by what the other findings say. Pure.

import { type FindingId, type Group, groupOf } from "./catalog.ts";
import { bad, type Finding, ok, unknown } from "./finding.ts";
import { type ProviderRules, RULES } from "./rules.ts";

const ID = "provider_rules";
/** Subjects named in a sentence. */
const MAX_NAMED = 3;

/** Findings that are derived from those of RULE_GROUPS. */
export const RULE_IDS: readonly FindingId[] = [ID, "provider_volume"];
export const RULE_GROUPS: readonly Group[] = ["name", "domains", "providers"];

type Standing = "met" | "unknown" | { missing: string };

export function checkRules(found: readonly Finding[]): Finding[] {
  const domains = new Set(found.flatMap(({ id, subject }) => (id === "dkim" ? (subject ?? []) : [])));
  return RULES.map((rules) => checkProvider(rules, found, [...domains]));
}

/** Much mail to a provider is no trouble once its rules are met, as far as that can be looked at: there is nothing to do. */
export function settleVolumes(found: readonly Finding[], rules: readonly Finding[]): Finding[] {
  const met = new Set(rules.filter(({ level }) => level === "ok").map(({ subject }) => subject));
  return found.map((finding) => {
    const { id, level, subject, seen } = finding;
    if (id !== "provider_volume" || level !== "warning" || !met.has(subject)) return finding;
    const source = RULES.find(({ name }) => name === subject)?.source ?? "";
    const words = `${seen.replace(/\.$/, "")}; those that pombo can check are met. Source: ${source}`;
    return ok(id, words, subject === undefined ? {} : { subject });
  });
}

function checkProvider(rules: ProviderRules, found: readonly Finding[], domains: readonly string[]): Finding {
  const { name, source, asOf } = rules;
  const about = { subject: name };
  const volume = found.find(({ id, subject }) => id === "provider_volume" && subject === name);
  const isBulk = volume !== undefined && volume.level !== "ok";
  const look = (asked: ProviderRules["forAll"]) => asked.map((ids) => findStanding(ids, found, domains));
  const [forAll, forBulk] = [look(rules.forAll), look(rules.forBulk)];
  const due = isBulk ? [...forAll, ...forBulk] : forAll;
  const missing = listMissing(due);
  if (missing.length > 0)
    return bad(ID, listMissing(forAll).length > 0 ? "problem" : "warning", {
      ...about,
      seen: `What ${name} asks of ${isBulk ? "senders of so much mail" : "each sender"} is not met: ${missing.join("; ")}.`,
      step: `pombo doctor --only ${[...new Set([...rules.forAll, ...(isBulk ? rules.forBulk : [])].flat())].join(",")} shows what to do. Its own words, as of ${asOf}: ${source}`,
    });
  if (due.includes("unknown"))
    return unknown(ID, `Whether what ${name} asks is met is not known: not all of it could be looked at.`, about);
  const later = listMissing(forBulk);
  const rest = forBulk.includes("unknown") && later.length === 0;
  const bulk =
    later.length > 0
      ? `; for bulk senders this would be missing: ${later.join("; ")}`
      : rest
        ? ""
        : ", and of bulk senders too";
  return ok(ID, `What ${name} asks of each sender is met${bulk}.`, about);
}

function listMissing(standings: readonly Standing[]): string[] {
  return standings.flatMap((standing) => (typeof standing === "string" ? [] : [standing.missing]));
}

/** Of the findings of a domain one of these suffices, for each domain. */
function findStanding(ids: readonly FindingId[], found: readonly Finding[], domains: readonly string[]): Standing {
  const own = found.filter(({ id }) => ids.includes(id));
  const isOfDomains = ids.every((id) => groupOf(id) === "domains");
  const subjects = isOfDomains ? domains : [...new Set(own.map(({ subject }) => subject ?? ""))];
  const levels = subjects.map((subject) => ({
    subject,
    levels: own.filter((each) => (each.subject ?? "") === subject).map(({ level }) => level),
  }));
  // A warning is less than could be, and not what is refused.
  const isMet = (each: readonly string[]) => each.includes("ok") || each.includes("warning");
  const isKnown = (each: readonly string[]) => each.length > 0 && !each.includes("unknown");
  const failed = levels.filter((each) => !isMet(each.levels) && isKnown(each.levels)).map(({ subject }) => subject);
  if (failed.length > 0) {
    const more = failed.length > MAX_NAMED ? ` and ${failed.length - MAX_NAMED} more` : "";
    return { missing: `${ids.join(" or ")} of ${failed.slice(0, MAX_NAMED).join(", ")}${more}` };
  }
  return levels.every((each) => isMet(each.levels)) ? "met" : "unknown";
}
