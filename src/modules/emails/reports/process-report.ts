// Processes a report that came back by mail about an email. A permanent bounce or a complaint ends an email
// that was delivered or sent in another way, and one that is still in the queue: its row is taken off,
// waiting or in flight, so that no retry comes, and the end of an attempt that runs finds the row gone
// and leaves the status as it is (modules/emails/delivery/record-result.ts). An email that has come to another end keeps it. Everything
// that is believed is noted for the timeline. Whether a report is genuine was decided before this.

import { SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";
import type { Report } from "../../../protocols/dsn/parse-report.ts";
import type { Log } from "../../../platform/log.ts";
import { organizationalDomain } from "../../../protocols/dns/organizational-domain.ts";
import type { ReportedOutcome } from "../../plans/sending-block.ts";
import type { QueueStore } from "../queue/store.ts";
import { cleanReply, shorten } from "../../../protocols/smtp/replies/reply.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { RefusalWatch } from "../delivery/refusal-watch.ts";
import type { FindTransport } from "../delivery/transport.ts";
import { type EndDeps, endEmail } from "../events.ts";
import type { ReportRow, ReportStore } from "./store.ts";
import type { Bounce } from "../api/schema.ts";
import type { EmailEnd, EmailRow, EmailState } from "../store/store.ts";
import { type Suppression, suppressFor } from "../delivery/suppress.ts";

const MAX_REASON = 512;
const MAX_NAME = 255;

/** A report that is believed: a complaint that says the contrary (`not-spam`) is none. */
export type EmailReport = Extract<Report, { kind: "bounce" | "delayed" | "complaint" }>;

export interface Reported {
  report: EmailReport;
  reporter: string;
  /** Unix ms. */
  at: number;
  /** A listed feedback provider has signed it: towards the sending block it counts without a cap. */
  isFromProvider: boolean;
  /** The answer of the refusal watch, which is asked once, however often the transaction is run. */
  watched?: { suppression: Suppression | null };
}

export interface ReportDeps extends EndDeps {
  reports: ReportStore;
  queue: Pick<QueueStore, "remove">;
  suppressions: SuppressionStore;
  /** Watches what comes back by mail, under the recipients' domains. */
  reportedRefusals: RefusalWatch;
  rates: {
    answered(workspaceId: number, isHardBounce: boolean): void;
    reported(workspaceId: number, outcome: ReportedOutcome): void;
  };
  findTransport: FindTransport;
  /** Nothing more is written for a deleted workspace. */
  workspaces: { byId(id: number): object | undefined };
  log: Log;
  /** The form of words, and of the recipient's address in them, that may stand in the log. */
  show: (words: string, recipient: string) => string;
}

export interface ReportTaken {
  /** `noted`: on the timeline, and nothing else; `repeated`: that it is already; `full`: there is no more room; `gone`: the email is. */
  outcome: "bounced" | "complained" | "noted" | "repeated" | "full" | "gone";
  /** To be called once all of it is durable. */
  tell(): void;
}

/** Inside a transaction: writes all that follows from a report about the email `uid`. */
export function processReport(uid: string, reported: Reported, deps: ReportDeps): ReportTaken {
  const found = deps.emails.findStateByUid(uid);
  if (found === undefined || !isOwned(found.email, deps)) return { outcome: "gone", tell: () => undefined };
  const { report } = reported;
  if (report.kind === "bounce" && report.isPermanent) return takeBounce(found, report, reported, deps);
  if (report.kind === "complaint" && report.isUnwanted) return takeComplaint(found, reported, deps);
  return { outcome: note(found, reported, deps), tell: () => undefined };
}

function isOwned({ workspaceId }: EmailRow, { workspaces }: ReportDeps): boolean {
  return workspaceId === SYSTEM_WORKSPACE_ID || workspaces.byId(workspaceId) !== undefined;
}

/** Of an erased email nobody knows any more to whom it went; of pombo's own nobody could lift the suppression. */
function canSuppress({ isErased, workspaceId }: EmailRow): boolean {
  return !isErased && workspaceId !== SYSTEM_WORKSPACE_ID;
}

type BounceReport = Extract<EmailReport, { kind: "bounce" }>;

function takeBounce(found: EmailState, report: BounceReport, reported: Reported, deps: ReportDeps): ReportTaken {
  const { email } = found;
  const noted = note(found, reported, deps);
  const { type, category, smtpCode, status: enhancedCode, remoteMta: mx } = report;
  const bounce: Bounce = { type, category, smtpCode, enhancedCode, mx };
  const failedReason = formatReason(report);
  const changed = end(found, { status: "bounced", failedReason, bounce }, reported.at, deps);
  if (changed === null) return { outcome: noted, tell: () => undefined };
  countBounce(email, changed, report.isHard, deps);
  reported.watched ??= { suppression: canSuppress(email) ? watch(email, reported, deps) : null };
  const { suppression } = reported.watched;
  suppression?.write();
  return {
    outcome: "bounced",
    tell() {
      tell("email.bounced", found, failedReason, deps);
      suppression?.log();
    },
  };
}

/** The suppression that a hard bounce leads to, or its hold; null: it suppresses nobody. */
function watch(email: EmailRow, { report, at }: Reported, deps: ReportDeps): Suppression | null {
  // By the domain: a server that took the mail and then finds its recipients gone in masses is to be
  // asked about as one that refuses them is.
  const site = reportSite(email.recipientAddress);
  if (report.kind === "bounce" && report.isHard) {
    const recipient = { workspaceId: email.workspaceId, address: email.recipientAddress };
    return suppressFor({ site, recipient, now: at }, { ...deps, refusals: deps.reportedRefusals });
  }
  deps.reportedRefusals.noteReply(site, email.workspaceId, at);
  return null;
}

function takeComplaint(found: EmailState, reported: Reported, deps: ReportDeps): ReportTaken {
  const { email } = found;
  const isFirst = !deps.reports.list(email.id).some(({ kind }) => kind === "complaint");
  const noted = note(found, reported, deps);
  const changed = end(found, { status: "complained" }, reported.at, deps);
  // A complainer is not written to any more, however the email ended; but by one complaint once, so that it
  // does not bring back what somebody has lifted.
  if (changed === null && !(isFirst && noted === "noted")) return { outcome: noted, tell: () => undefined };
  const { workspaceId, recipientAddress: address } = email;
  const row = { workspaceId, channel: "email", address, reason: "complaint", createdAt: reported.at } as const;
  // One person may complain about all that has arrived: only the first of these counts as a provider's.
  const isFirstOfPerson = !deps.suppressions.hasComplained(workspaceId, address);
  const isNew = canSuppress(email) && deps.suppressions.insert(row);
  const isFromProvider = reported.isFromProvider && isNew && isFirstOfPerson;
  countComplaint(email, changed, { ...reported, isFromProvider }, deps);
  return {
    outcome: changed === null ? noted : "complained",
    tell: () => (changed === null ? undefined : tell("email.complained", found, null, deps)),
  };
}

/** The status before a report ended the email. */
type Before = "queued" | "delivered" | "sent";

/** Ends the email as the report says, unless it has come to another end; what it was before, or null. */
function end(
  { email }: EmailState,
  change: Pick<EmailEnd, "status" | "failedReason" | "bounce">,
  endedAt: number,
  deps: ReportDeps,
): Before | null {
  const { status: before, deliveredAt } = email;
  if (before !== "queued" && before !== "delivered" && before !== "sent") return null;
  const attempts = before === "queued" ? (deps.queue.remove(email.id) ?? email.attempts) : email.attempts;
  endEmail(email.id, { ...change, endedAt, deliveredAt, attempts }, deps, before);
  return before;
}

/** As at sending: of what goes through a relay the recipients' own servers have said nothing to us. */
function countBounce(email: EmailRow, before: Before, isHard: boolean, { rates, findTransport }: ReportDeps): void {
  const { workspaceId, deliveredAt: answeredAt } = email;
  const bounced = { name: "hard_bounces", domain: getReportDomain(email) } as const;
  if (before === "delivered" && isHard && answeredAt !== null) rates.reported(workspaceId, { ...bounced, answeredAt });
  if (before !== "queued" || !findTransport(email.senderDomain).isDirect) return;
  if (isHard) rates.reported(workspaceId, { ...bounced, answeredAt: null });
  else rates.answered(workspaceId, false);
}

function countComplaint(
  email: EmailRow,
  before: Before | null,
  { at, isFromProvider }: Reported,
  { rates, findTransport }: ReportDeps,
): void {
  const { workspaceId, deliveredAt, sentAt, status, senderDomain } = email;
  if (deliveredAt === null && !findTransport(senderDomain).isDirect) return;
  const complained = { name: "complaints", domain: isFromProvider ? null : getReportDomain(email) } as const;
  if (before === "queued") rates.reported(workspaceId, { ...complained, answeredAt: null });
  // Nothing was counted for emails that a relay took or that ended otherwise.
  else if (before === "delivered" || status === "bounced")
    rates.reported(workspaceId, { ...complained, answeredAt: deliveredAt ?? sentAt ?? at });
}

/** Whose reports are counted together, whatever they say of themselves: modules/plans/sending-block.ts. */
function getReportDomain({ recipientAddress }: EmailRow): string {
  return organizationalDomain(recipientAddress.slice(recipientAddress.lastIndexOf("@") + 1));
}

/** Under what reports about recipients of this address's domain are watched. */
export function reportSite(address: string): string {
  return `dsn:${address.slice(address.lastIndexOf("@") + 1)}`;
}

/** `550 5.1.1 No such user (mx1.example.net)`. */
function formatReason({ diagnostic, status, smtpCode, remoteMta }: BounceReport): string {
  const codes = [smtpCode, status].filter((code) => code !== null).join(" ");
  const said = cleanReply(diagnostic ?? `${codes} The recipient's server reported that it could not deliver it`);
  const server = remoteMta === null ? "" : ` (${remoteMta.slice(0, MAX_NAME)})`;
  return shorten(said, MAX_REASON - server.length) + server;
}

function note({ email }: EmailState, { report, reporter, at }: Reported, { reports }: ReportDeps) {
  return reports.add({
    ...BLANK,
    emailId: email.id,
    at,
    reporter: cleanReply(reporter).slice(0, MAX_NAME),
    ...toReportColumns(report),
    // A diagnostic quotes the address.
    ...(email.isErased ? { diagnostic: null } : {}),
  });
}

const BLANK = {
  isPermanent: null,
  category: null,
  code: null,
  enhancedCode: null,
  diagnostic: null,
  remoteMta: null,
  feedbackType: null,
};

function toReportColumns(report: EmailReport): Pick<ReportRow, "kind"> & Partial<ReportRow> {
  switch (report.kind) {
    case "bounce": {
      const { isPermanent, category, smtpCode: code, status: enhancedCode, diagnostic, remoteMta } = report;
      return { kind: "bounce", isPermanent, category, code, enhancedCode, diagnostic, remoteMta };
    }
    case "delayed":
      return { kind: "delay", enhancedCode: report.status, diagnostic: report.diagnostic };
    case "complaint":
      return { kind: "complaint", feedbackType: report.feedbackType };
  }
}

function tell(event: string, { email }: EmailState, detail: string | null, { log, show }: ReportDeps): void {
  const { uid, recipient } = email;
  const words = detail === null ? {} : { detail: show(detail, recipient) };
  log.event(event, { id: uid, to: show(recipient, recipient), by: "report", ...words });
}
