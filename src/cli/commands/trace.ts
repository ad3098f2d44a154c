// `pombo trace ID`: the history of a message, oldest first, with the reply to each attempt.

import { isId } from "../../platform/uuid.ts";
import type { Trace, TraceCandidate } from "../../modules/operator/trace-schema.ts";
import { list, type OperatorCommand, record } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { CommandError } from "../framework/definition.ts";
import { paintStatus } from "../framework/screen.ts";
import { ApiError, formatError } from "../client/instance-client.ts";
import { count, labelledLines, plain, say, timeCell, timeText } from "../framework/text.ts";

type Traced = typeof Trace.static;
type Candidate = typeof TraceCandidate.static;
type Email = NonNullable<Traced["email"]>;
type Entry = Email["timeline"][number];
type Segment = NonNullable<Traced["sms"]>["parts"][number];

const COLUMNS: Column<Candidate>[] = [
  { title: "ID", of: ({ id }) => id, kind: "message" },
  { title: "TO", of: ({ to }) => to },
  { title: "STATUS", of: ({ status }) => status, kind: "status" },
  { title: "KIND", of: ({ kind }) => kind },
  { title: "CREATED", of: ({ createdAt }) => createdAt, kind: "time" },
  { title: "FROM", of: ({ from }) => from },
];

export const trace: OperatorCommand = {
  name: "trace",
  arguments: ["ID"],
  about:
    "Show the history of a message: attempts and replies, reports, events and webhook calls. ID is the id of an email, SMS, event or webhook delivery. The beginning of an id, an address or a number finds messages: a single one is shown, several are listed. With --json one message is an object, several are a list.",
  async run({ api, args }) {
    const wanted = args.argument("ID").trim();
    const show = async (id: string) => {
      const traced = await api.call<Traced>("GET", `/operator/trace/${encodeURIComponent(id)}`);
      return record(traced, formatTrace(traced));
    };
    if (isId(wanted)) return await show(wanted);
    const all = await api
      .call<Candidate[]>("GET", `/operator/trace?find=${encodeURIComponent(wanted)}&events=true`)
      .catch((error: unknown) => {
        throw restate(error, wanted);
      });
    const messages = all.filter(({ kind }) => kind !== "event");
    // An event begins like its message: it counts only where no message does.
    const found = messages.length > 0 ? messages : all;
    const [only] = found;
    if (only === undefined)
      throw new CommandError(say`No message went to ${wanted}, and no id of a message or event begins so.`);
    return found.length === 1 ? await show(only.id) : list(found, COLUMNS, "");
  },
};

/** An error about the API's parameter `find` is shown with the text that was typed. */
function restate(error: unknown, wanted: string): unknown {
  const item = error instanceof ApiError ? error.items.find(({ field }) => field === "find") : undefined;
  if (item === undefined) return error;
  return new CommandError(
    formatError({ ...item, message: item.message.replace(/^find\b/, () => JSON.stringify(wanted)) }),
  );
}

function formatTrace(traced: Traced): string {
  const { kind, id, workspaceId, workspaceName, email, sms, suppressions, events } = traced;
  const who = plain(workspaceName ?? "deleted") + (workspaceId === null ? "" : ` (${workspaceId})`);
  const blocks = [
    `${kind === "email" ? "Email" : "SMS"} ${id}`,
    labelledLines([
      ["Workspace", who],
      ...(email === null ? [] : emailRows(email)),
      ...(sms === null ? [] : smsRows(sms)),
    ]),
    ...(email === null ? [] : ["", ...email.timeline.flatMap(entryLines)]),
    ...(sms === null ? [] : ["", ...sms.parts.flatMap(segmentLines)]),
    ...suppressions.map(
      ({ reason, list: name, suppressedAt }) =>
        `\nThe recipient is suppressed (${reason})${name === null ? "" : ` for the list ${name}`} since ${timeText(suppressedAt)}.`,
    ),
    ...(events.length === 0 ? [] : ["", "Events:", ...events.flatMap(eventLines)]),
  ];
  return blocks.join("\n");
}

type Row = readonly [string, string];

function emailRows(email: Email): Row[] {
  return [
    ["From", plain(email.from)],
    ["To", plain(email.to)],
    ["Subject", plain(email.subject)],
    ["Status", formatState(email)],
    ["Accepted", timeText(email.createdAt)],
    ...(email.expiresAt === null ? [] : [["Expires", timeText(email.expiresAt)] as const]),
    ...(email.nextAttemptAt === null ? [] : [["Next attempt", timeText(email.nextAttemptAt)] as const]),
    ...(email.providerId === null ? [] : [["Message-ID", plain(email.providerId)] as const]),
    ["Reports to", plain(email.returnPath)],
  ];
}

type State = Record<"status", string> & Pick<Email, "failedReason" | "possibleDuplicate">;

function formatState({ status, failedReason, possibleDuplicate }: State): string {
  const why = failedReason === null ? "" : `: ${plain(failedReason)}`;
  return `${paintStatus(plain(status))}${why}${possibleDuplicate ? " (may have been delivered twice)" : ""}`;
}

function smsRows(sms: NonNullable<Traced["sms"]>): Row[] {
  const { from, to, deliveryState, failureCategory, encoding, segments, credits } = sms;
  const network = deliveryState === null ? "no receipt yet" : plain(deliveryState);
  return [
    ["From", plain(from)],
    ["To", plain(to)],
    ["Status", formatState(sms) + (failureCategory === null ? "" : ` [${plain(failureCategory)}]`)],
    ["Delivery", network + (sms.providerStatus === null ? "" : ` (${plain(sms.providerStatus)})`)],
    ["Accepted", timeText(sms.createdAt)],
    ["Expires", timeText(sms.expiresAt)],
    ["Segments", `${segments}, ${plain(encoding)}, ${count(credits, "credit")}`],
  ];
}

function entryLines(entry: Entry): string[] {
  const head = `${timeCell(entry.at)}  ${paintStatus(plain(entry.type))}`;
  const what = [
    entry.attempt === undefined ? null : `attempt ${entry.attempt}`,
    formatServer(entry),
    typeof entry.egress === "string" ? `by ${entry.egress}` : null,
    entry.tls ?? null,
    entry.stage === undefined || entry.stage === null ? null : `at ${entry.stage}`,
    formatReply(entry) ?? entry.reason,
  ].filter((part): part is string => part !== null && part !== "");
  return [
    [head, ...what.map(plain)].join("  "),
    ...(entry.tries ?? []).map(
      (one) =>
        `    tried ${plain(`${one.host ?? ""} [${one.address ?? ""}]`)} at ${plain(one.stage ?? "?")}: ${plain(formatReply(one) ?? "")}`,
    ),
    ...(entry.dialogue ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => `    ${plain(line)}`),
  ];
}

function formatServer({ host, address }: Pick<Entry, "host" | "address">): string | null {
  if (host === undefined || host === null) return null;
  return address === undefined || address === null ? host : `${host} [${address}]`;
}

function formatReply({ code, reply }: { code?: number | null; reply?: string | null }): string | null {
  const words = [code ?? "", reply ?? ""].join(" ").trim();
  return words === "" ? null : words;
}

function segmentLines(row: Segment): string[] {
  const when = (what: string, at: string | null) => (at === null ? [] : [`    ${what} ${timeText(at)}`]);
  const { part, state, route, link, attempts, smscId, receiptState, providerStatus, providerCode, reason } = row;
  const details = [providerStatus, providerCode, reason]
    .filter((each) => each !== null)
    .map(plain)
    .join(", ");
  const by = `${plain(route)}${link === null ? "" : ` over ${plain(link)}`}`;
  return [
    `  segment ${part}: ${paintStatus(plain(state))}, by ${by}, ${count(attempts, "attempt")}${details === "" ? "" : `: ${details}`}`,
    ...when("submitted", row.submittedAt),
    ...when(`accepted as ${plain(smscId ?? "?")},`, row.acceptedAt),
    ...when(`receipt ${plain(receiptState ?? "")},`, row.receiptAt),
    ...when("next attempt", row.nextAttemptAt),
  ];
}

function eventLines({ id, type, at, calls, waiting }: Traced["events"][number]): string[] {
  return [
    `  ${timeCell(at)}  ${plain(type)}  ${id}`,
    ...calls.map(({ createdAt, url, attempt, responseStatus, errorMessage, durationMs }) => {
      const result = responseStatus === null ? "no response" : `response ${responseStatus}`;
      const why = errorMessage === null ? "" : `: ${plain(errorMessage)}`;
      return `    ${timeCell(createdAt)}  call ${attempt} to ${plain(url)}: ${result} after ${durationMs} ms${why}`;
    }),
    ...waiting.map(
      ({ url, nextAttemptAt }) =>
        `    next call to ${plain(url)}: ${nextAttemptAt === null ? "now" : timeText(nextAttemptAt)}`,
    ),
  ];
}
