// What is told of the certificate: in /ready, by the API and by `pombo tls`.

import type { X509Certificate } from "node:crypto";
import type { Config } from "../../config/config.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import { advise } from "./advice.ts";
import type { Renewal } from "./renewal.ts";

export interface CertificateView {
  /** That is served. */
  certificate: X509Certificate | null;
  isSelfMade: boolean;
  isPublic: boolean;
  /** Null: no authority is asked. */
  renewal: Pick<Renewal, "failure" | "attempts" | "isRunning" | "nextAt" | "renewNow"> | null;
  tls: Config["tls"];
  clock: Pick<Clock, "now">;
}

/** With less than this share of its lifetime left a certificate is told of. */
const LATE_SHARE = 1 / 6;

/** The port serves meanwhile, with what it has: all are advisory. */
export function findIssues(view: CertificateView): HealthIssue[] {
  const { renewal, isSelfMade, tls, clock } = view;
  const told = (reason: string, since: number): HealthIssue => ({
    component: "tls",
    reason,
    since,
    isAdvisory: true,
  });
  const failure = describeFailure(view);
  const late = describeEnd(view);
  const meanwhile = isSelfMade
    ? "Until then a self-made one is shown, which clients refuse. "
    : late === null
      ? ""
      : `The one that is shown ${late.what}. `;
  if (failure !== null && renewal !== null)
    return [told(`${failure} ${meanwhile}${describeNext(renewal.nextAt)}`, renewal.failure?.at ?? clock.now())];
  if (isSelfMade)
    return [told(`The certificate for ${tls.names.join(", ")} is being ordered. ${meanwhile}`.trim(), clock.now())];
  if (late === null) return [];
  const cure =
    renewal === null ? "Put a new one into its files ([tls] certificate_file)." : "pombo tls renew orders a new one.";
  return [told(`The TLS certificate ${late.what}. ${cure}`, late.since)];
}

/** In the authority's words, with what can be done; null: nothing has failed. */
function describeFailure({ renewal, tls }: Pick<CertificateView, "renewal" | "tls">): string | null {
  const failure = renewal?.failure ?? null;
  if (failure === null) return null;
  const { type, detail, name, findings } = failure;
  const about = name ?? tls.names.join(", ");
  const seen = findings.length === 0 ? "" : ` pombo itself saw: ${findings.join(" ")}`;
  return `The certificate for ${about} could not be had (${type}: ${end(detail)}) ${advise(type, name)}${seen}`;
}

function end(words: string): string {
  return /[.!?]$/.test(words) ? words.slice(0, -1) : words;
}

function describeNext(nextAt: number): string {
  return `Next attempt: ${toMinute(nextAt)}; pombo tls renew makes it now.`;
}

export function isLate(view: CertificateView): boolean {
  return describeEnd(view) !== null;
}

/** Null: there is time. `since`: Unix ms. */
function describeEnd({ certificate, clock }: CertificateView): { what: string; since: number } | null {
  if (certificate === null) return null;
  const [from, until] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const since = until - (until - from) * LATE_SHARE;
  const now = clock.now();
  if (now < since) return null;
  const what = now < until ? `ends at ${toMinute(until)}` : `ended at ${toMinute(until)}, and clients refuse it`;
  return { what, since };
}

function toMinute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
