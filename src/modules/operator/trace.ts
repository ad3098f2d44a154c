import type { Static } from "@sinclair/typebox";
import type { AppError } from "../../platform/errors.ts";
import type { ReportStore } from "../emails/reports/store.ts";
import { showState } from "../emails/api/serialize.ts";
import type { EmailStore } from "../emails/store/store.ts";
import { MAX_SHOWN_ATTEMPTS, showTimeline } from "../emails/api/timeline.ts";
import { notFound, validationError } from "../../platform/http/errors.ts";
import { timeOf, timeOrNull } from "../../platform/http/times.ts";
import { comparableAddress, parseAddress } from "../../protocols/mime/address.ts";
import type { SegmentStore } from "../sms/queue/segment-store.ts";
import { withoutBody } from "../sms/api/serialize.ts";
import { showSuppression } from "../suppressions/serialize.ts";
import { showDelivery } from "../webhooks/api/serialize.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import type { Trace, TraceCandidate } from "./trace-schema.ts";
import type { TraceStore } from "./trace-store.ts";
import type { SegmentRow } from "../sms/queue/segment-read-store.ts";

// A message's whole way: what became of it, each attempt with what was said, what came back by mail, who was told
// of it, and whether its recipient is suppressed. Found by its own id, or by that of an event or a call about it.

/** Messages that are shown where several may be meant. */
const MAX_FOUND = 50;
/** Workspaces looked into between two turns of the event loop. */
const TURN = 200;
const PREFIX = /^[0-9a-f-]{4,36}$/i;
const NUMBER = /^\+\d{4,15}$/;

type Traced = Static<typeof Trace>;
type Candidate = Static<typeof TraceCandidate>;
type Segment = NonNullable<Traced["sms"]>["parts"][number];

export interface TraceDeps {
  traces: TraceStore;
  emails: EmailStore;
  reports: Pick<ReportStore, "of">;
  segments: Pick<SegmentStore, "listByMessage">;
  workspaces: Pick<WorkspaceStore, "byId">;
}

/** Messages that may be meant, newest first; null: of all. Throws for what is neither id, address nor number. */
export async function findMessages(find: string | null, deps: TraceDeps): Promise<Candidate[]> {
  const { traces } = deps;
  if (find === null) return beginningWith("", deps);
  if (NUMBER.test(find)) return traces.textsTo(find, MAX_FOUND).map((row) => candidate("sms", row, deps));
  const parsed = find.includes("@") ? parseAddress(find) : null;
  if (parsed?.kind === "mailbox") return await emailsTo(comparableAddress(parsed.mailbox), deps);
  if (PREFIX.test(find)) return beginningWith(find.toLowerCase(), deps);
  throw validationError([
    {
      path: ["find"],
      message: "is neither the beginning of an id, nor an address, nor a number in E.164",
      hint: "Write an address like maria@example.com, a number like +258841234567.",
    },
  ]);
}

function beginningWith(prefix: string, deps: TraceDeps): Candidate[] {
  return newest([
    ...deps.traces.emailsFrom(prefix, MAX_FOUND).map((row) => candidate("email", row, deps)),
    ...deps.traces.textsFrom(prefix, MAX_FOUND).map((row) => candidate("sms", row, deps)),
  ]);
}

async function emailsTo(address: string, deps: TraceDeps): Promise<Candidate[]> {
  let found: Candidate[] = [];
  for (const [index, id] of deps.traces.workspaceIds().entries()) {
    const rows = deps.traces.emailsTo(id, address, MAX_FOUND);
    found = newest([...found, ...rows.map((row) => candidate("email", row, deps))]);
    if (index % TURN === TURN - 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return found;
}

function newest(found: Candidate[]): Candidate[] {
  return found
    .toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0))
    .slice(0, MAX_FOUND);
}

function candidate(
  kind: Candidate["kind"],
  row: { uid: string; workspaceId: number; from: string; to: string; status: string; createdAt: number },
  { workspaces }: TraceDeps,
): Candidate {
  const { uid, workspaceId, from, to, status, createdAt } = row;
  return {
    kind,
    id: uid,
    workspaceId: workspaces.byId(workspaceId)?.uid ?? null,
    from,
    to,
    status,
    createdAt: timeOf(createdAt),
  };
}

/** The trace of a message, by its id or that of an event or call about it. Throws NOT_FOUND. */
export function traceOf(id: string, deps: TraceDeps): Traced {
  const uid = id.toLowerCase();
  const own = traceMessage(uid, deps);
  if (own !== null) return own;
  const about = deps.traces.resourceOf(uid);
  if (about === null) throw nothingHas();
  const found = traceMessage(about.resource, deps);
  if (found === null) throw notFound(`The event is about no message that is still there, but ${about.type}`);
  return found;
}

function nothingHas(): AppError {
  return notFound(
    "No email, text, event or webhook delivery has this id",
    "GET /api/v1/operator/trace?find= finds messages by the beginning of an id, or their recipient.",
  );
}

function traceMessage(uid: string, deps: TraceDeps): Traced | null {
  const email = deps.traces.emailOf(uid);
  if (email !== null) return traceEmail(email, deps);
  return traceText(uid, deps);
}

function traceEmail(id: number, deps: TraceDeps): Traced | null {
  const state = deps.emails.stateById(id);
  if (state === undefined) return null;
  const { email, queue } = state;
  const attempts = deps.emails.attemptsOf(id, MAX_SHOWN_ATTEMPTS);
  const dialogues = new Map(attempts.map(({ number, dialogue }) => [number, dialogue]));
  const timeline = showTimeline(state, attempts, deps.reports.of(id)).map((entry) =>
    entry.attempt === undefined ? entry : { ...entry, dialogue: dialogues.get(entry.attempt) ?? null },
  );
  return {
    ...frameOf("email", email, email.recipientAddress, deps),
    email: {
      ...showState(state),
      returnPath: email.returnPath,
      expiresAt: timeOrNull(queue?.expiresAt ?? null),
      timeline,
    },
    sms: null,
  };
}

function traceText(uid: string, deps: TraceDeps): Traced | null {
  const message = deps.traces.textOf(uid);
  if (message === null) return null;
  return {
    ...frameOf("sms", message, message.recipient, deps),
    email: null,
    sms: {
      ...withoutBody(message),
      expiresAt: timeOf(message.expiresAt),
      parts: deps.segments.listByMessage(message.id).map(showSegment),
    },
  };
}

function frameOf(
  kind: Traced["kind"],
  { uid, workspaceId }: { uid: string; workspaceId: number },
  address: string,
  deps: TraceDeps,
): Omit<Traced, "email" | "sms"> {
  const workspace = deps.workspaces.byId(workspaceId);
  return {
    kind,
    id: uid,
    workspaceId: workspace?.uid ?? null,
    workspaceName: workspace?.name ?? null,
    suppressions: deps.traces.suppressionsOf(workspaceId, address).map(showSuppression),
    events: eventsOf(workspaceId, uid, deps),
  };
}

function eventsOf(workspaceId: number, uid: string, { traces }: TraceDeps): Traced["events"] {
  const hooks = new Map(traces.webhooksOf(workspaceId).map((hook) => [hook.id, hook]));
  const ids = [...hooks.keys()];
  const of = (webhookId: number) => ({
    webhookId: hooks.get(webhookId)?.uid ?? "",
    url: hooks.get(webhookId)?.url ?? "",
  });
  return traces.eventsAbout(uid).map((event) => ({
    id: event.uid,
    type: event.type,
    at: timeOf(event.createdAt),
    calls: traces.callsMade(ids, event.id).map((row) => ({ ...showDelivery(row), ...of(row.webhookId) })),
    waiting: traces.callsWaiting(ids, event.id).map(({ webhookId, attempts, inFlight, nextAt }) => ({
      ...of(webhookId),
      attempts,
      nextAttemptAt: inFlight ? null : timeOf(nextAt),
    })),
  }));
}

function showSegment(row: SegmentRow): Segment {
  const { state, route, link, attempts, resends, reroutes, smscId, receiptState } = row;
  const { providerStatus, providerCode, category, reason, credit } = row;
  return {
    part: row.seq,
    state,
    route,
    link,
    attempts,
    resends,
    reroutes,
    submittedAt: timeOrNull(row.submittedAt),
    acceptedAt: timeOrNull(row.acceptedAt),
    smscId,
    receiptState,
    receiptAt: timeOrNull(row.receiptAt),
    providerStatus,
    providerCode,
    category,
    reason,
    nextAttemptAt: state === "ready" ? timeOf(row.nextAt) : null,
    credit,
  };
}
