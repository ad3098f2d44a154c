// `pombo queue …`: waiting messages and the reasons; pause, resume, retry and drop.

import type { DeliveryState, QueuedMessage, QueueOverview } from "../../../modules/operator/queue-schema.ts";
import { UsageError } from "../../framework/definition.ts";
import { FILTER_OPTIONS, KIND_OPTIONS, KIND_WORDS, KINDS, type QueueFilter, readFilter, readKinds } from "./filter.ts";
import { dropMessages, retryMessages } from "./change.ts";
import { getTableOptions, type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import { type Column, type TableOptions, tableLines } from "../../framework/table.ts";
import { count, plain, timeCell, timeText } from "../../framework/text.ts";

type Overview = typeof QueueOverview.static;
type Destination = Overview["destinations"][number];
type Message = typeof QueuedMessage.static;
type State = typeof DeliveryState.static;

const DEFAULT_LIST = 100;
const MAX_LIST = 1_000_000;
/** Messages that one answer of the API holds. */
const PAGE_ROWS = 100;

export const QUEUE_COMMANDS: OperatorCommand[] = [
  {
    name: "queue",
    options: { limit: { value: "N", about: "how many destinations are shown (50)" } },
    about: "Show how much waits and why: emails by recipient domain, SMS by route, calls by webhook.",
    async run({ api, args, terminal }) {
      const limit = wholeNumber(args.text("limit"), 1_000);
      const seen = await api.call<Overview>("GET", `/operator/queue${limit === undefined ? "" : `?limit=${limit}`}`);
      return { kind: "words", data: seen, words: formatOverview(seen, getTableOptions(terminal)) };
    },
  },
  {
    name: "queue list",
    options: {
      ...FILTER_OPTIONS,
      ...KIND_OPTIONS,
      limit: { value: "N", about: `how many are shown (${DEFAULT_LIST})` },
    },
    about:
      "List messages that wait, oldest first: emails, or others with --sms, --webhooks or a number. Trace, retry and drop take the short ids that it shows.",
    run: listMessages,
  },
  {
    name: "queue pause",
    options: { reason: { value: "TEXT", about: "the reason; shown with the pause" } },
    about:
      "Pause all delivery of emails, SMS and webhook calls, across restarts too. Running deliveries end; accepted messages wait.",
    async run({ api, args }) {
      const state = await api.call<State>("POST", "/operator/queue/pause", { reason: args.text("reason") });
      return record(state, "Delivery is paused. Resume it with pombo queue resume.");
    },
  },
  {
    name: "queue resume",
    about: "Resume delivery after a pause, also the one after a restore.",
    async run({ api }) {
      return record(await api.call<State>("POST", "/operator/queue/resume"), "Delivery is resumed.");
    },
  },
  {
    name: "queue retry",
    arguments: ["[ID...]"],
    options: { ...FILTER_OPTIONS, ...KIND_OPTIONS, all: { about: "all messages that wait for their next attempt" } },
    about: "Retry messages now that wait for their next attempt. A blocked site, a hold or a pause still delays them.",
    run: retryMessages,
  },
  {
    name: "queue drop",
    arguments: ["[ID...]"],
    options: {
      ...FILTER_OPTIONS,
      ...KIND_OPTIONS,
      reason: { value: "TEXT", about: "the reason, kept in the record of each" },
      yes: { about: "do not ask for confirmation" },
    },
    about:
      "Drop messages from the queue: their status becomes failed, and SMS credits are refunded. It shows the number first, and asks. Messages that are being delivered are left alone. If it is interrupted, the same command does the rest.",
    run: dropMessages,
  },
];

interface Line {
  kind: string;
  to: string;
  waiting: number;
  running: number;
  oldestAt: string | null;
  nextAttemptAt: string | null;
  why: string;
}

const COLUMNS: Column<Line>[] = [
  { title: "KIND", of: ({ kind }) => kind },
  { title: "TO", of: ({ to }) => to },
  { title: "WAITING", of: ({ waiting }) => waiting },
  { title: "RUNNING", of: ({ running }) => running },
  { title: "OLDEST", of: ({ oldestAt }) => oldestAt, kind: "time" },
  { title: "NEXT", of: ({ nextAttemptAt }) => nextAttemptAt, kind: "time" },
  { title: "WHY", of: ({ why }) => why, kind: "prose" },
];

function formatOverview(seen: Overview, options: TableOptions | null): string {
  const { paused, waiting, running, scheduled, others } = seen;
  const lines = [
    ...seen.destinations.map(toEmailLine),
    ...seen.sms.map((route) => ({
      kind: "sms",
      to: route.route,
      waiting: route.waiting,
      running: route.running,
      oldestAt: route.oldestAt,
      nextAttemptAt: route.nextAttemptAt,
      why: explain(route, paused),
    })),
    ...seen.webhooks.map((webhook) => ({
      kind: "webhook",
      to: webhook.url,
      waiting: webhook.waiting,
      running: 0,
      oldestAt: null,
      nextAttemptAt: webhook.nextAttemptAt,
      why: explain(webhook, paused),
    })),
  ];
  const table = tableLines(lines, COLUMNS, options);
  // A program gets only the lines.
  if (options === null) return table.join("\n");
  const pause =
    paused === null ? [] : [`All delivery is paused since ${timeText(paused.since)}: ${plain(paused.reason)}`];
  const later = scheduled === 0 ? "" : `, ${scheduled.toLocaleString("en")} scheduled for later`;
  const head = `${count(waiting, "email waits", "emails wait")}, ${running.toLocaleString("en")} being delivered${later}.`;
  const more =
    others.destinations === 0
      ? []
      : [`and ${count(others.destinations, "destination")} more, with ${count(others.waiting, "email")}`];
  return [...pause, head, ...(lines.length === 0 ? [] : ["", ...table]), ...more].join("\n");
}

function toEmailLine(row: Destination): Line {
  const { to, waiting, running, oldestAt, nextAttemptAt } = row;
  return { kind: "email", to, waiting, running, oldestAt, nextAttemptAt, why: explainEmails(row) };
}

/** For SMS and calls. */
function explain({ waiting, reason }: { waiting: number; reason: string | null }, paused: Overview["paused"]): string {
  const pause = paused !== null && waiting > 0 ? ["all delivery is paused"] : [];
  return [...pause, ...(reason === null ? [] : [reason])].join("; ") || "-";
}

function explainEmails({ state, reason, held, waiting, blockedUntil }: Destination): string {
  const reply = reason === null ? "" : `: ${reason}`;
  const some = held > 0 && held < waiting ? ` (${held.toLocaleString("en")} of them held)` : "";
  switch (state) {
    case "paused":
      return "all delivery is paused";
    case "held":
      return "you hold the queue of their workspaces";
    case "blocked":
      return `the site is blocked until ${blockedUntil === null ? "later" : timeCell(blockedUntil)}${reply}${some}`;
    case "running":
      return `being delivered now${some}`;
    case "due":
      return `due, waiting for a slot${reply}${some}`;
    case "delayed":
      return `waiting for the next attempt${reply}${some}`;
  }
}

const MESSAGE_COLUMNS: Column<Message>[] = [
  { title: "ID", of: ({ id }) => id, kind: "message" },
  { title: "TO", of: ({ to }) => to },
  { title: "STATE", of: ({ state }) => state, kind: "status" },
  { title: "ATTEMPTS", of: ({ attempts }) => attempts },
  { title: "NEXT", of: ({ nextAttemptAt }) => nextAttemptAt, kind: "time" },
  { title: "QUEUED", of: ({ queuedAt }) => queuedAt, kind: "time" },
  { title: "LAST REPLY", of: ({ lastReply }) => lastReply, kind: "prose" },
];

async function listMessages(work: Work): Promise<Shown> {
  const { api, args, terminal } = work;
  const filter = await readFilter(work);
  const kinds = readKinds(work);
  if (kinds.length > 1) throw new UsageError("Only one queue can be listed: give one of --emails, --sms, --webhooks.");
  const limit = wholeNumber(args.text("limit"), MAX_LIST) ?? DEFAULT_LIST;
  const rows: Message[] = [];
  for await (const page of api.pages<Message>("/operator/queue/messages", { ...filter, kind: kinds[0] })) {
    rows.push(...page);
    if (rows.length < limit) continue;
    terminal.err(`These are the first ${limit.toLocaleString("en")}; --limit N shows more.`);
    break;
  }
  const shown = rows.slice(0, limit);
  const lines = (options: TableOptions | null) => tableLines(shown, MESSAGE_COLUMNS, options);
  const empty = shown.length === 0 && filter.to === undefined ? await suggestKinds(work, filter, kinds[0]) : NO_SUCH;
  return { kind: "list", data: shown, lines, empty };
}

const NO_SUCH = "No such message waits.";

/** "No email waits; 2 SMS do: add --sms." */
async function suggestKinds(
  { api }: Work,
  filter: QueueFilter,
  asked: (typeof KINDS)[number] | undefined,
): Promise<string> {
  const others: string[] = [];
  const options: string[] = [];
  for (const kind of KINDS) {
    if (kind === (asked ?? "email")) continue;
    for await (const page of api.pages<Message>("/operator/queue/messages", { ...filter, kind })) {
      if (page.length === 0) break;
      const least = page.length >= PAGE_ROWS ? "at least " : "";
      const { one, many, option } = KIND_WORDS[kind];
      others.push(`${least}${count(page.length, one, many)} ${page.length === 1 ? "does" : "do"}`);
      options.push(`--${option}`);
      break;
    }
  }
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (others.length === 0) return isFiltered ? NO_SUCH : "Nothing waits.";
  const how = `${asked === undefined ? "add" : `instead of --${KIND_WORDS[asked].option} give`} ${options.join(" or ")}`;
  return `No ${isFiltered ? "such " : ""}${KIND_WORDS[asked ?? "email"].one} waits; ${others.join(", ")}: ${how}.`;
}

function wholeNumber(text: string | undefined, maximum: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maximum) return number;
  throw new UsageError(`--limit must be a whole number from 1 to ${maximum.toLocaleString("en")}, not ${plain(text)}.`);
}
