// Refuses a send for what the clock and the database know of its times, senders and recipients.

import { domainToUnicode } from "node:url";
import { AppError, type ErrorItem } from "../../../platform/errors.ts";
import type { Mailbox } from "../../../protocols/mime/address.ts";
import { type DomainRow, type DomainStore, isSending } from "../../domains/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { UnsubscribeLinks } from "../../unsubscribe/links.ts";
import type { Recipient } from "./mailboxes.ts";
import type { Prepared } from "./prepare.ts";
import type { EmailSend } from "./schema.ts";
import { findSendAtFault } from "./send-at.ts";
import type { AcceptRequest } from "./stage-send.ts";

/** The verified domain of each email's From; throws with every item at fault. */
export function chooseDomains(
  request: AcceptRequest,
  prepared: Prepared[],
  domains: Pick<DomainStore, "senderNamed">,
): DomainRow[] {
  const { workspaceId, domainId } = request.caller;
  const byName = new Map<string, DomainRow | null>();
  const chosen: DomainRow[] = [];
  const items: ErrorItem[] = [];
  for (const [index, { from }] of prepared.entries()) {
    let domain = byName.get(from.domain);
    if (domain === undefined) {
      domain = domains.senderNamed(workspaceId, from.domain) ?? null;
      byName.set(from.domain, domain);
    }
    if (domainId !== null && domain?.id !== domainId) {
      throw new AppError("API_KEY_RESTRICTED", `This key may not send from ${domainToUnicode(from.domain)}`, {
        ...getPlace(request, index, "from"),
        hint: "Send from the domain that the key is restricted to, or use another key.",
      });
    }
    if (domain !== null && isSending(domain)) chosen.push(domain);
    else
      items.push({ message: "Domain not verified", ...getPlace(request, index, "from"), hint: hintFor(domain, from) });
  }
  if (items.length > 0) throw new AppError("VALIDATION_ERROR", "Domain not verified", { items });
  return chosen;
}

function hintFor(domain: DomainRow | null, from: Mailbox): string {
  const name = domainToUnicode(from.domain);
  if (domain === null)
    return `Register ${name} with POST /api/v1/domains, publish its records and call the verification check.`;
  if (domain.status === "suspended") return `The operator has suspended ${name}; ask the operator.`;
  return `Publish the records of ${name} and call POST /api/v1/domains/${domain.uid}/verification-checks.`;
}

/** Throws where an email needs a page that nobody could open. */
export function requireHostedPages(request: AcceptRequest, links: Pick<UnsubscribeLinks, "isHosted">): void {
  if (!request.items.some(hasHostedList) || links.isHosted()) return;
  const message = "unsubscribe.list needs a public address of this service, and it has none";
  const hint =
    'The operator sets public_url = "https://…" under [http] in the configuration; or host the page yourself and send unsubscribe.url.';
  const items = [...request.items.entries()]
    .filter(([, item]) => hasHostedList(item))
    .map(([index]) => ({ message, ...getPlace(request, index, "unsubscribe"), hint }));
  throw new AppError("VALIDATION_ERROR", message, { items });
}

function hasHostedList({ unsubscribe }: EmailSend): boolean {
  return unsubscribe?.list !== undefined;
}

/** The suppressed recipients, and why; throws where an email has no other. */
export function findSuppressed(
  request: AcceptRequest,
  prepared: Prepared[],
  suppressions: Pick<SuppressionStore, "reasonFor">,
): Map<Recipient, string> {
  const found = new Map<Recipient, string>();
  const items: ErrorItem[] = [];
  for (const [index, { recipients, item }] of prepared.entries()) {
    const list = item.unsubscribe?.list;
    for (const recipient of recipients) {
      const reason = suppressions.reasonFor(request.caller.workspaceId, recipient.comparable, list);
      if (reason !== null) found.set(recipient, reason);
    }
    if (!recipients.every((recipient) => found.has(recipient))) continue;
    for (const recipient of recipients) {
      items.push({
        message: `The recipient is suppressed (${found.get(recipient)})`,
        ...getPlace(request, index, recipient.kind, recipient.index),
        hint: explainSuppression(recipient.comparable, list),
      });
    }
  }
  if (items.length > 0) throw new AppError("RECIPIENT_SUPPRESSED", "The recipient is suppressed", { items });
  return found;
}

export function refuseTimes(request: AcceptRequest, now: number): void {
  const items: ErrorItem[] = [];
  for (const [index, { sendAt }] of request.items.entries()) {
    const fault = sendAt === undefined ? null : findSendAtFault(sendAt, now);
    if (fault !== null) items.push({ ...fault, ...getPlace(request, index, "sendAt") });
  }
  if (items.length > 0) throw new AppError("VALIDATION_ERROR", "sendAt is too far away", { items });
}

export function explainSuppression(address: string, list: string | undefined): string {
  const lift = `DELETE /api/v1/suppressions/${encodeURIComponent(address)}`;
  return list === undefined
    ? `Mail to it bounced or caused a complaint, or it was suppressed by hand; ${lift} lifts that.`
    : `It unsubscribed, mail to it bounced or caused a complaint, or it was suppressed by hand; ${lift} lifts that, with ?list=${list} if it is for this list.`;
}

function getPlace(
  { operation }: AcceptRequest,
  index: number,
  field: string,
  position: number | null = null,
): { field: string; path?: string } {
  const place = position === null ? field : `${field}[${position}]`;
  if (operation !== "emails.batch") return position === null ? { field } : { field, path: place };
  return { field, path: `emails[${index}].${place}` };
}
