// What the doctor finds, as troubles of alerts: each with its step, and nothing twice that /ready or another source tells.

import type { Trouble, TroubleSource } from "../modules/alerts/index.ts";
import { type FindingId, groupOf, isFindingId } from "../modules/doctor/catalog.ts";
import type { Finding } from "../modules/doctor/finding.ts";
import type { Doctor } from "../modules/doctor/index.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

/** Told by /ready and the sources beside it. */
const TOLD_ELSEWHERE: readonly FindingId[] = ["health", "disk", "backup", "certificate", "provider_rules", "sms_link"];
/** How it was set up: it does not begin by itself, and a reminder of it each day would be none. */
const ADVICE: readonly FindingId[] = [
  "resolver_dnssec",
  "ptr_generic",
  "dmarc_policy",
  "dmarc_reports",
  "domain_age",
  "provider_volume",
  "memory",
  "sms_senders",
  "update",
  "recovery_key",
];
/** As problems they keep mail from being taken, an alert's too. */
const OF_MAIL: readonly FindingId[] = ["address", "port25_out", "ptr", "spf", "blocklist"];

const PREFIX = "doctor.";

export function createDoctorSource(
  doctor: Pick<Doctor, "troubles" | "isUnsure">,
  issues: () => HealthIssue[],
): TroubleSource {
  // /ready sees the end of it at once, the doctor with its next run: until then its finding says nothing.
  const told = new WeakSet<Finding>();
  let hidden = new Set<string>();
  const find = () => {
    const present = issues();
    const found = doctor.troubles().filter(counts);
    for (const finding of found) if (isTold(finding, present)) told.add(finding);
    hidden = new Set(found.filter((finding) => told.has(finding)).map((finding) => toTrouble(finding).id));
    return found.filter((finding) => !told.has(finding)).map(toTrouble);
  };
  const isUnsure = (id: string) => {
    const about = readTroubleId(id);
    return about !== null && (hidden.has(id) || doctor.isUnsure(about));
  };
  return Object.assign(find, { isUnsure });
}

function counts({ id, level }: Finding): boolean {
  // Some take no bounces, or have another server pass them on.
  if (id === "bounce_host" && level === "warning") return false;
  return !TOLD_ELSEWHERE.includes(id) && !ADVICE.includes(id);
}

/** An issue of /ready says the same. */
function isTold({ id, level }: Finding, issues: readonly HealthIssue[]): boolean {
  switch (id) {
    case "resolver_answers":
      return level === "problem" && issues.some(({ component }) => component === "dns");
    case "port25_out":
      return issues.some(({ component, kind }) => component === "delivery" && kind === "unreachable");
    case "clock":
      return issues.some(({ component }) => component === "clock");
    default:
      return false;
  }
}

function toTrouble(finding: Finding): Trouble {
  const { id, level, subject, seen, step } = finding;
  // The instance works while the mail of one domain is refused: its heartbeat goes on.
  const isOwn = groupOf(id) !== "domains" && groupOf(id) !== "providers";
  const isProblem = level === "problem" && isOwn;
  return {
    id: `${PREFIX}${id}${subject === undefined ? "" : `.${subject}`}`,
    level: isProblem ? "problem" : "warning",
    what: seen,
    step,
    ...(isProblem && OF_MAIL.includes(id) ? { via: "mail" as const } : {}),
  };
}

/** Null: it is of another source. */
function readTroubleId(text: string): Pick<Finding, "id" | "subject"> | null {
  if (!text.startsWith(PREFIX)) return null;
  const [id = "", ...rest] = text.slice(PREFIX.length).split(".");
  if (!isFindingId(id)) return null;
  return rest.length === 0 ? { id } : { id, subject: rest.join(".") };
}
