// Everything known of a message: its record and attempts, reports about it, its events, and suppressions of its
// recipient. It is found by its own id, or by that of an event or a call about it.

import type { Static } from "@sinclair/typebox";
import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import type { AppError } from "../../platform/errors.ts";
import { notFound, validationError } from "../../platform/http/errors.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { MessageCandidate } from "../../platform/queue/queue-admin.ts";
import { comparableAddress, parseAddress } from "../../protocols/mime/address.ts";
import { showSuppression } from "../suppressions/serialize.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import type { Queues } from "./queue-actions.ts";
import type { Trace, TraceCandidate } from "./trace-schema.ts";

/** Messages that are listed where several match. */
const MAX_FOUND = 50;
/** In the place of a workspace's name. */
const SYSTEM_NAME = "pombo's own mail";
const PREFIX = /^[0-9a-f-]{4,36}$/i;
const NUMBER = /^\+\d{4,15}$/;

type Traced = Static<typeof Trace>;
type Candidate = Static<typeof TraceCandidate>;

export interface TraceDeps {
  queues: Queues;
  suppressions: Pick<SuppressionStore, "listOfAddress">;
  workspaces: Pick<WorkspaceStore, "byId">;
}

/** Messages that match, newest first; null: all do. Throws for what is neither id, address nor number. */
export async function findMessages(find: string | null, deps: TraceDeps): Promise<Candidate[]> {
  const { email, sms } = deps.queues;
  if (find === null) return findByIdPrefix("", deps);
  if (NUMBER.test(find)) return sms.findByRecipient(find, MAX_FOUND).map((row) => toCandidate("sms", row, deps));
  const parsed = find.includes("@") ? parseAddress(find) : null;
  if (parsed?.kind === "mailbox") {
    const found = await email.findByRecipient(comparableAddress(parsed.mailbox), MAX_FOUND);
    return found.map((row) => toCandidate("email", row, deps));
  }
  if (PREFIX.test(find)) return findByIdPrefix(find.toLowerCase(), deps);
  throw validationError([
    {
      path: ["find"],
      message: "is neither the beginning of an id, nor an address, nor a number in E.164",
      hint: "Write an address like maria@example.com, a number like +258841234567.",
    },
  ]);
}

/** Events whose id begins so, newest first; none for what is no beginning of an id. */
export function findEvents(find: string, deps: TraceDeps): Candidate[] {
  if (!PREFIX.test(find)) return [];
  const found = deps.queues.webhook.findByIdPrefix(find.toLowerCase(), MAX_FOUND);
  return found.map((row) => toCandidate("event", row, deps));
}

function findByIdPrefix(prefix: string, deps: TraceDeps): Candidate[] {
  const found = (["email", "sms"] as const).flatMap((kind) =>
    deps.queues[kind].findByIdPrefix(prefix, MAX_FOUND).map((row) => ({ kind, row })),
  );
  return found
    .toSorted((a, b) => b.row.createdAt - a.row.createdAt)
    .slice(0, MAX_FOUND)
    .map(({ kind, row }) => toCandidate(kind, row, deps));
}

function toCandidate(kind: Candidate["kind"], row: MessageCandidate, { workspaces }: TraceDeps): Candidate {
  const { uid, workspaceId, from, to, status, createdAt } = row;
  return {
    kind,
    id: uid,
    workspaceId: workspaces.byId(workspaceId)?.uid ?? null,
    from,
    to,
    status,
    createdAt: toIsoTime(createdAt),
  };
}

/** The trace of a message, by its id or that of an event or call about it. Throws NOT_FOUND. */
export function traceMessage(id: string, deps: TraceDeps): Traced {
  const uid = id.toLowerCase();
  const own = trace(uid, deps);
  if (own !== null) return own;
  const subject = deps.queues.webhook.subject(uid);
  if (subject === null) throw unknownId();
  const found = trace(subject.resource, deps);
  if (found === null) throw notFound(`The event is not about an existing message, but ${subject.type}`);
  return found;
}

function unknownId(): AppError {
  return notFound(
    "No email, SMS, event or webhook delivery has this id",
    "GET /api/v1/operator/trace?find= finds messages by the beginning of an id, or by recipient.",
  );
}

function trace(uid: string, { queues, workspaces, suppressions }: TraceDeps): Traced | null {
  const email = queues.email.trace(uid);
  const sms = email === null ? queues.sms.trace(uid) : null;
  const message = email ?? sms;
  if (message === null) return null;
  const { workspaceId, address } = message;
  const kind = email === null ? "sms" : "email";
  const workspace = workspaces.byId(workspaceId);
  return {
    kind,
    id: uid,
    workspaceId: workspace?.uid ?? null,
    workspaceName: workspaceId === SYSTEM_WORKSPACE_ID ? SYSTEM_NAME : (workspace?.name ?? null),
    suppressions: suppressions.listOfAddress({ workspaceId, channel: kind, address }).map(showSuppression),
    events: queues.webhook.trace(uid),
    email: email?.record ?? null,
    sms: sms?.record ?? null,
  };
}
