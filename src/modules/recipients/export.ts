// Exports the records about a recipient, newest first, a page at a time: emails and SMS with their contents, timelines and events,
// SMS received, suppressions.

import { NEWEST } from "../../platform/db/batches.ts";
import { type ListPages, type Position } from "../../platform/http/pagination.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { MAX_SHOWN_ATTEMPTS, showTimeline } from "../emails/api/timeline.ts";
import { showRecord } from "../emails/api/serialize.ts";
import type { ReadContent } from "../emails/submitted/show.ts";
import type { ReportStore } from "../emails/reports/store.ts";
import type { EmailRecipientStore } from "../emails/store/recipient-store.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { EventBody } from "../events/schema.ts";
import type { EventStore } from "../events/store.ts";
import { showInbound, showMessage } from "../sms/api/serialize.ts";
import { showSmsTimeline } from "../sms/api/timeline.ts";
import type { SmsStores } from "../sms/stores.ts";
import { showSuppression } from "../suppressions/serialize.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { Recipient, WorkspaceRecipient } from "./erase.ts";
import type { RecipientItem } from "./schema.ts";

const LIST = "recipient";
/** For one message or suppression. */
const MAX_EVENTS = 100;

export interface ExportDeps {
  pages: ListPages;
  emails: Pick<EmailStore, "findRecord" | "listAttempts">;
  recipientEmails: Pick<EmailRecipientStore, "list">;
  reports: Pick<ReportStore, "list">;
  sms: SmsStores;
  events: Pick<EventStore, "listAbout">;
  suppressions: Pick<SuppressionStore, "listOfAddress" | "findHeld">;
  readContent: ReadContent;
}

type Item = typeof RecipientItem.static;

const NO_MEMBERS = {
  email: null,
  sms: null,
  inboundSms: null,
  suppression: null,
  held: false,
  emailTimeline: [],
  smsTimeline: [],
};

/** A row of one of the lists, at its place among all of them. */
interface Found extends Position {
  /** Undefined: it is gone meanwhile. */
  show(): Promise<Item | undefined>;
}

interface Source {
  list(before: Position, limit: number): Found[];
}

export async function exportRecipient(
  workspaceId: number,
  recipient: Recipient,
  query: { cursor?: string; limit?: string },
  deps: ExportDeps,
) {
  const sources = listSources({ workspaceId, ...recipient }, deps);
  const name = `${LIST} ${workspaceId} ${recipient.channel} ${recipient.address}`;
  const { data, meta } = deps.pages.list(
    query,
    name,
    (before, limit) => mergeNewest(sources, before ?? NEWEST, limit + 1),
    (found) => found.show(),
  );
  return { data: (await Promise.all(data)).filter((item) => item !== undefined), meta };
}

/** Ids of different tables may be equal, so that a position is made of the id and the source. */
function mergeNewest(sources: Source[], before: Position, limit: number): Found[] {
  const found = sources.flatMap((source, index) => {
    // The first id of this source that is not older than the place.
    const id = Math.ceil((before.id - index) / sources.length);
    const rows = source.list({ createdAt: before.createdAt, id }, limit);
    return rows.map((row) => ({ ...row, id: row.id * sources.length + index }));
  });
  return found.toSorted((a, b) => b.createdAt - a.createdAt || b.id - a.id).slice(0, limit);
}

function listSources(owned: WorkspaceRecipient, deps: ExportDeps): Source[] {
  return owned.channel === "email"
    ? [emailSource(owned, deps), suppressionSource(owned, deps)]
    : [smsSource(owned, deps), inboundSource(owned, deps), suppressionSource(owned, deps)];
}

function emailSource({ workspaceId, address }: WorkspaceRecipient, deps: ExportDeps): Source {
  const { emails, recipientEmails, reports } = deps;
  return {
    list: (before, limit) =>
      recipientEmails.list(workspaceId, address, before, limit).map(({ id, uid, createdAt }) => ({
        createdAt,
        id,
        async show() {
          const found = emails.findRecord({ workspaceId, domainId: null }, uid);
          if (found === undefined) return undefined;
          const emailTimeline = showTimeline(found, emails.listAttempts(id, MAX_SHOWN_ATTEMPTS), reports.list(id));
          const events = listEvents(workspaceId, uid, deps);
          return {
            ...NO_MEMBERS,
            kind: "email",
            at: toIsoTime(createdAt),
            // The addresses of others are theirs, and so is that of who sent it.
            email: await showRecord({ ...found, group: null, sentBy: null }, deps.readContent),
            emailTimeline,
            events,
          };
        },
      })),
  };
}

function smsSource({ workspaceId, address }: WorkspaceRecipient, deps: ExportDeps): Source {
  const { messages, segments } = deps.sms;
  return {
    list: (before, limit) =>
      messages.listTo(workspaceId, address, before, limit).map((row) => ({
        createdAt: row.createdAt,
        id: row.id,
        show: async () => ({
          ...NO_MEMBERS,
          kind: "sms",
          at: toIsoTime(row.createdAt),
          sms: showMessage(row),
          smsTimeline: showSmsTimeline(row, segments.listByMessage(row.id)),
          events: listEvents(workspaceId, row.uid, deps),
        }),
      })),
  };
}

function inboundSource({ workspaceId, address }: WorkspaceRecipient, deps: ExportDeps): Source {
  return {
    list: (before, limit) =>
      deps.sms.inbound.listFrom(workspaceId, address, before, limit).map((row) => ({
        createdAt: row.receivedAt,
        id: row.id,
        show: async () => ({
          ...NO_MEMBERS,
          kind: "inbound_sms",
          at: toIsoTime(row.receivedAt),
          inboundSms: showInbound(row),
          events: listEvents(workspaceId, row.uid, deps),
        }),
      })),
  };
}

/** Those that block, and the one that is held for the operator; an erased one is shown with the requested address. */
function suppressionSource(owned: WorkspaceRecipient, deps: ExportDeps): Source {
  const { suppressions } = deps;
  const { workspaceId, address } = owned;
  return {
    list(before) {
      const held = suppressions.findHeld(owned);
      const rows = [
        ...suppressions.listOfAddress(owned).map((row) => ({ row, isHeld: false })),
        ...(held === undefined ? [] : [{ row: held, isHeld: true }]),
      ].map((each) => ({ ...each, id: each.row.id * 2 + (each.isHeld ? 1 : 0) }));
      return rows
        .filter(
          ({ row, id }) => row.createdAt < before.createdAt || (row.createdAt === before.createdAt && id < before.id),
        )
        .map(({ row, id, isHeld }) => ({
          createdAt: row.createdAt,
          id,
          show: async () => ({
            ...NO_MEMBERS,
            kind: "suppression",
            at: toIsoTime(row.createdAt),
            suppression: { ...showSuppression(row), address },
            held: isHeld,
            events: isHeld ? [] : listEvents(workspaceId, address, deps),
          }),
        }));
    },
  };
}

function listEvents(workspaceId: number, resource: string, { events }: ExportDeps): (typeof EventBody.static)[] {
  return events
    .listAbout(workspaceId, resource, MAX_EVENTS)
    .map(({ body }) => JSON.parse(body) as typeof EventBody.static);
}
