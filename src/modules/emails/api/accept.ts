// Accepts emails. Work that needs no state comes first: parsing, the text part, compression. Then one
// closure decides and writes everything: the replay of an idempotent answer, the workspace's blocks, domain,
// suppression, quota, the rows of email, body and queue, the stored answer. Its commit is what the 202 stands on.

import { domainToUnicode } from "node:url";
import type { Plan } from "../../../config/config.ts";
import { isSending, type DomainRow, type DomainStore } from "../../domains/store.ts";
import { returnPath } from "../../../protocols/dsn/return-path.ts";
import { AppError, type ErrorItem } from "../../../platform/errors.ts";
import { newIds } from "../../../platform/uuid.ts";
import {
  type AcceptedSend,
  acceptIdempotently,
  type AcceptSendDeps,
  type SendAnswer,
  type SendRequest,
} from "../../idempotency/accept.ts";
import {
  comparableAddress,
  type Mailbox,
  parseAddress,
  parseMailbox,
  requireMailbox,
} from "../../../protocols/mime/address.ts";
import { findRefusal, type Standing } from "../../plans/sending-refusal.ts";
import { takeEmailQuota, takeStorage } from "../../plans/quota.ts";
import type { UsageStore } from "../../plans/store.ts";
import type { QueueStore } from "../queue/store.ts";
import type { Random } from "../../../platform/random.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { StoredBody } from "../content/body.ts";
import type { RecordEvent } from "../../events/record.ts";
import type { RecordEmailEvent } from "../events.ts";
import type { Preparer } from "../content/prepare-thread.ts";
import type { FindTransport } from "../delivery/transport.ts";
import type { EmailSend } from "./schema.ts";
import type { EmailStore } from "../store/store.ts";

export interface AcceptDeps extends AcceptSendDeps {
  emails: EmailStore;
  queue: QueueStore;
  domains: DomainStore;
  suppressions: SuppressionStore;
  usage: UsageStore;
  random: Random;
  preparer: Preparer;
  workspaces: { byId(id: number): (Standing & { uid: string }) | undefined };
  findPlan: (workspaceId: number) => Plan;
  /** Called after the commit: a row of this lane is due. */
  nudge: (laneId: number, dueAt: number, expiresAt?: number) => void;
  findTransport: FindTransport;
  recordEvent: RecordEmailEvent;
  record: RecordEvent;
  settings: AcceptSendDeps["settings"] & { bounceHost: string; lifetimeMs: number; returnPathKey: Uint8Array };
}

export interface AcceptRequest extends SendRequest {
  operation: "emails" | "emails.batch";
  items: EmailSend[];
}

/** An email ready to be written, but for what only the database knows. */
interface Prepared {
  item: EmailSend;
  from: Mailbox;
  to: Mailbox;
  body: StoredBody;
}

/** Accepts all of `items` or none; resolves once that is durable. Throws AppError. */
export function acceptEmails(request: AcceptRequest, deps: AcceptDeps): Promise<SendAnswer> {
  return acceptIdempotently(request, deps, async () => {
    const prepared = await prepareAll(request.items, deps.preparer);
    return (now) => writeAll(request, prepared, now, deps);
  });
}

async function prepareAll(items: EmailSend[], preparer: Preparer): Promise<Prepared[]> {
  const bodies = await preparer(items.map(({ html, text }) => ({ html, text })));
  return items.map((item, index) => {
    const body = bodies[index];
    if (body === undefined) throw new Error("an email has no body");
    return {
      item,
      from: requireMailbox(parseMailbox(item.from)),
      to: requireMailbox(parseAddress(item.to)),
      body,
    };
  });
}

function writeAll(request: AcceptRequest, prepared: Prepared[], now: number, deps: AcceptDeps): AcceptedSend {
  const { workspaceId } = request.caller;
  const workspace = deps.workspaces.byId(workspaceId);
  const blocked = findRefusal(workspace);
  if (blocked !== null) throw blocked;
  const senders = chooseDomains(request, prepared, deps);
  refuseSuppressed(request, prepared, deps);
  const plan = deps.findPlan(workspaceId);
  const warnings = takeEmailQuota({ workspaceId, plan, amount: prepared.length, now }, deps.usage);
  const bytes = prepared.reduce((sum, { body }) => sum + body.content.length, 0);
  takeStorage({ workspaceId, plan, bytes }, deps.usage);
  for (const warning of warnings) {
    const resource = workspace?.uid ?? "";
    deps.record({ workspaceId, type: "workspace.quota_warning", resource, at: now, data: () => warning });
  }

  const lanes = new Map<number, string>();
  const uids = newIds(prepared.length, now, deps.random);
  const accepted = prepared.map((email, index) => {
    const domain = senders[index];
    const uid = uids[index];
    if (domain === undefined || uid === undefined) throw new Error("an email has no domain");
    write(email, domain, { uid, now, lanes, deps });
    return { id: uid, status: "queued" };
  });
  return {
    data: request.operation === "emails" ? accepted[0] : accepted,
    committed: () => {
      for (const [laneId, destination] of lanes) {
        deps.queue.rememberLane(workspaceId, destination, laneId);
        deps.nudge(laneId, now, now + deps.settings.lifetimeMs);
      }
    },
  };
}

/** The verified domain of each email's From; throws with every item at fault. */
function chooseDomains(request: AcceptRequest, prepared: Prepared[], deps: AcceptDeps): DomainRow[] {
  const { workspaceId, domainId } = request.caller;
  const byName = new Map<string, DomainRow | null>();
  const chosen: DomainRow[] = [];
  const items: ErrorItem[] = [];
  for (const [index, { from }] of prepared.entries()) {
    let domain = byName.get(from.domain);
    if (domain === undefined) {
      domain = deps.domains.senderNamed(workspaceId, from.domain) ?? null;
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

function refuseSuppressed(request: AcceptRequest, prepared: Prepared[], deps: AcceptDeps): void {
  const items: ErrorItem[] = [];
  for (const [index, { to }] of prepared.entries()) {
    const address = comparableAddress(to);
    const reason = deps.suppressions.reasonFor(request.caller.workspaceId, address);
    if (reason === null) continue;
    items.push({
      message: `The recipient is suppressed (${reason})`,
      ...getPlace(request, index, "to"),
      hint: `Mail to it bounced or caused a complaint, or it was suppressed by hand; DELETE /api/v1/suppressions/${encodeURIComponent(address)} lifts that.`,
    });
  }
  if (items.length > 0) throw new AppError("RECIPIENT_SUPPRESSED", "The recipient is suppressed", { items });
}

function getPlace(request: AcceptRequest, index: number, field: string): { field: string; path?: string } {
  return request.operation === "emails" ? { field } : { field, path: `emails[${index}].${field}` };
}

function write(
  email: Prepared,
  domain: DomainRow,
  context: { uid: string; now: number; lanes: Map<number, string>; deps: AcceptDeps },
): void {
  const { uid, now, lanes, deps } = context;
  const { settings } = deps;
  const { item, from, to, body } = email;
  const owner = { workspaceId: domain.workspaceId, domainId: domain.id };
  const host = domain.hasReturnPath ? `bounce.${domain.name}` : settings.bounceHost;
  const recipientAddress = comparableAddress(to);
  const id = deps.emails.insert({
    ...owner,
    uid,
    sender: item.from,
    senderAddress: comparableAddress(from),
    senderDomain: domain.name,
    recipient: item.to,
    recipientAddress,
    subject: item.subject,
    replyTo: item.replyTo ?? null,
    returnPath: returnPath({ id: uid, recipient: recipientAddress }, host, settings.returnPathKey),
    createdAt: now,
    body,
  });
  deps.emails.addTotal({ ...owner, status: "queued" }, 1);
  const destination = deps.findTransport(domain.name).siteFor(to.domain);
  const laneId = deps.queue.laneFor(owner.workspaceId, destination);
  deps.queue.add({ ...owner, id, laneId, createdAt: now, nextAt: now, expiresAt: now + settings.lifetimeMs });
  lanes.set(laneId, destination);
  deps.recordEvent("email.queued", { id, ...owner }, now);
}
