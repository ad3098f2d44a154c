import { isId } from "../../platform/uuid.ts";
import type { Trace, TraceCandidate } from "../../modules/operator/trace-schema.ts";
import { list, type OperatorCommand, record } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { CommandError } from "../framework/failure.ts";
import { Refusal, sentencesOf } from "../client/instance-client.ts";
import { facts, plain, say, timeCell, timeText } from "../framework/text.ts";

// `pombo trace ID`: a message's whole way, oldest first, with what was said at each attempt.

type Traced = typeof Trace.static;
type Candidate = typeof TraceCandidate.static;
type Email = NonNullable<Traced["email"]>;
type Entry = Email["timeline"][number];
type Segment = NonNullable<Traced["sms"]>["parts"][number];

const COLUMNS: Column<Candidate>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "CREATED", of: ({ createdAt }) => createdAt, isTime: true },
  { title: "KIND", of: ({ kind }) => kind },
  { title: "STATUS", of: ({ status }) => status },
  { title: "FROM", of: ({ from }) => from },
  { title: "TO", of: ({ to }) => to },
];

export const trace: OperatorCommand = {
  name: "trace",
  arguments: ["ID"],
  about:
    "Shows a message's whole way: attempts with what was said, reports, events and webhook calls. ID is that of an email, a text, an event or a webhook delivery; its beginning, an address or a number finds messages, and one alone is shown. With --json one message is an object, and several are a list.",
  async run({ api, given }) {
    const wanted = given.argument("ID").trim();
    const show = async (id: string) => {
      const traced = await api.call<Traced>("GET", `/operator/trace/${encodeURIComponent(id)}`);
      return record(traced, screen(traced));
    };
    if (isId(wanted)) return await show(wanted);
    const found = await api
      .call<Candidate[]>("GET", `/operator/trace?find=${encodeURIComponent(wanted)}`)
      .catch((error: unknown) => {
        throw named(error, wanted);
      });
    const [only] = found;
    if (only === undefined)
      throw new CommandError(say`No message has an id that begins with ${wanted}, or went there.`);
    return found.length === 1 ? await show(only.id) : list(found, COLUMNS, "");
  },
};

/** A refusal of the API's parameter `find`, by what the person wrote. */
function named(error: unknown, wanted: string): unknown {
  const item = error instanceof Refusal ? error.items.find(({ field }) => field === "find") : undefined;
  if (item === undefined) return error;
  return new CommandError(
    sentencesOf({ ...item, message: item.message.replace(/^find\b/, () => JSON.stringify(wanted)) }),
  );
}

function screen(traced: Traced): string {
  const { kind, id, workspaceId, workspaceName, email, sms, suppressions, events } = traced;
  const who = workspaceId === null ? "a workspace that was deleted" : `${plain(workspaceName ?? "")} (${workspaceId})`;
  const blocks = [
    `${kind === "email" ? "Email" : "Text"} ${id}`,
    facts([["Workspace", who], ...(email === null ? [] : emailFacts(email)), ...(sms === null ? [] : smsFacts(sms))]),
    ...(email === null ? [] : ["", ...email.timeline.flatMap(entryLines)]),
    ...(sms === null ? [] : ["", ...sms.parts.flatMap(segmentLines)]),
    ...suppressions.map(
      ({ reason, suppressedAt }) => `\nThe recipient is suppressed (${reason}) since ${timeText(suppressedAt)}.`,
    ),
    ...(events.length === 0 ? [] : ["", "Told:", ...events.flatMap(eventLines)]),
  ];
  return blocks.join("\n");
}

type Fact = readonly [string, string];

function emailFacts(email: Email): Fact[] {
  return [
    ["From", plain(email.from)],
    ["To", plain(email.to)],
    ["Subject", plain(email.subject)],
    ["Status", statusWords(email)],
    ["Accepted", timeText(email.createdAt)],
    ...(email.expiresAt === null ? [] : [["Expires", timeText(email.expiresAt)] as const]),
    ...(email.nextAttemptAt === null ? [] : [["Next try", timeText(email.nextAttemptAt)] as const]),
    ...(email.providerId === null ? [] : [["Message-ID", plain(email.providerId)] as const]),
    ["Reports to", plain(email.returnPath)],
  ];
}

function statusWords({
  status,
  failedReason,
  possibleDuplicate,
}: {
  status: string;
  failedReason: string | null;
  possibleDuplicate: boolean;
}): string {
  const why = failedReason === null ? "" : `: ${plain(failedReason)}`;
  return `${plain(status)}${why}${possibleDuplicate ? " (may have arrived twice)" : ""}`;
}

function smsFacts(sms: NonNullable<Traced["sms"]>): Fact[] {
  const { from, to, deliveryState, failureCategory, encoding, segments, credits } = sms;
  const network = deliveryState === null ? "nothing yet" : plain(deliveryState);
  return [
    ["From", plain(from)],
    ["To", plain(to)],
    ["Status", statusWords(sms) + (failureCategory === null ? "" : ` [${plain(failureCategory)}]`)],
    ["Network", network + (sms.providerStatus === null ? "" : ` (${plain(sms.providerStatus)})`)],
    ["Accepted", timeText(sms.createdAt)],
    ["Expires", timeText(sms.expiresAt)],
    ["Size", `${segments} ${segments === 1 ? "part" : "parts"}, ${plain(encoding)}, credits ${credits}`],
  ];
}

function entryLines(entry: Entry): string[] {
  const head = `${timeCell(entry.at)}  ${plain(entry.type)}`;
  const what = [
    entry.attempt === undefined ? null : `attempt ${entry.attempt}`,
    serverOf(entry),
    entry.tls ?? null,
    entry.stage === undefined || entry.stage === null ? null : `at ${entry.stage}`,
    replyOf(entry) ?? entry.reason,
  ].filter((part): part is string => part !== null && part !== "");
  return [
    [head, ...what.map(plain)].join("  "),
    ...(entry.tries ?? []).map(
      (one) =>
        `    tried ${plain(`${one.host ?? ""} [${one.address ?? ""}]`)} at ${plain(one.stage ?? "?")}: ${plain(replyOf(one) ?? "")}`,
    ),
    ...(entry.dialogue ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => `    ${plain(line)}`),
  ];
}

function serverOf({ host, address }: Pick<Entry, "host" | "address">): string | null {
  if (host === undefined || host === null) return null;
  return address === undefined || address === null ? host : `${host} [${address}]`;
}

function replyOf({ code, reply }: { code?: number | null; reply?: string | null }): string | null {
  const words = [code ?? "", reply ?? ""].join(" ").trim();
  return words === "" ? null : words;
}

function segmentLines(row: Segment): string[] {
  const when = (what: string, at: string | null) => (at === null ? [] : [`    ${what} ${timeText(at)}`]);
  const { part, state, route, link, attempts, smscId, receiptState, providerStatus, providerCode, reason } = row;
  const said = [providerStatus, providerCode, reason]
    .filter((each) => each !== null)
    .map(plain)
    .join(", ");
  const by = `${plain(route)}${link === null ? "" : ` over ${plain(link)}`}`;
  return [
    `  part ${part}: ${plain(state)}, by ${by}, ${attempts} ${attempts === 1 ? "attempt" : "attempts"}${said === "" ? "" : `: ${said}`}`,
    ...when("submitted", row.submittedAt),
    ...when(`accepted as ${plain(smscId ?? "?")},`, row.acceptedAt),
    ...when(`receipt ${plain(receiptState ?? "")},`, row.receiptAt),
    ...when("next try", row.nextAttemptAt),
  ];
}

function eventLines({ id, type, at, calls, waiting }: Traced["events"][number]): string[] {
  return [
    `  ${timeCell(at)}  ${plain(type)}  ${id}`,
    ...calls.map(({ createdAt, url, attempt, responseStatus, errorMessage, durationMs }) => {
      const came = responseStatus === null ? "no answer" : `answered ${responseStatus}`;
      const why = errorMessage === null ? "" : `: ${plain(errorMessage)}`;
      return `    ${timeCell(createdAt)}  call ${attempt} to ${plain(url)}: ${came} after ${durationMs} ms${why}`;
    }),
    ...waiting.map(
      ({ url, nextAttemptAt }) =>
        `    to be called: ${plain(url)}, ${nextAttemptAt === null ? "now" : timeText(nextAttemptAt)}`,
    ),
  ];
}
