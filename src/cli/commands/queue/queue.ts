import type { DeliveryState, QueuedMessage, QueueOverview } from "../../../modules/operator/queue-schema.ts";
import { UsageError } from "../../framework/failure.ts";
import { type Choice, CHOICE_OPTIONS, choiceOf, KIND_OPTIONS, kindsOf } from "./filter.ts";
import { dropMessages, retryMessages } from "./change.ts";
import { type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import { type Column, tableLines } from "../../framework/table.ts";
import { count, plain, timeCell, timeText } from "../../framework/text.ts";

// `pombo queue …`: what waits, why, and the operator's hand in it.

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
    about: "Shows what waits by destination, and why: emails by recipient domain, texts by route, calls by webhook.",
    async run({ api, given, terminal }) {
      const limit = wholeNumber(given.text("limit"), 1_000);
      const seen = await api.call<Overview>("GET", `/operator/queue${limit === undefined ? "" : `?limit=${limit}`}`);
      return { kind: "words", data: seen, words: overviewWords(seen, terminal.width) };
    },
  },
  {
    name: "queue list",
    options: {
      ...CHOICE_OPTIONS,
      ...KIND_OPTIONS,
      limit: { value: "N", about: `how many are shown (${DEFAULT_LIST})` },
    },
    about: "Lists single messages, oldest first: emails, unless --sms, --webhooks or a number asks for others.",
    run: listMessages,
  },
  {
    name: "queue pause",
    options: { reason: { value: "TEXT", about: "why; shown wherever the pause is" } },
    about:
      "Pauses all delivery, of emails, texts and webhook calls, also over a restart. What is under way ends; what is accepted waits.",
    async run({ api, given }) {
      const reason = given.text("reason");
      const seen = await api.call<State>("POST", "/operator/queue/pause", reason === undefined ? {} : { reason });
      return record(seen, "Delivery is paused. pombo queue resume lets it go on.");
    },
  },
  {
    name: "queue resume",
    about: "Lets delivery go on after a pause, be it yours or that of a restore.",
    async run({ api }) {
      return record(await api.call<State>("POST", "/operator/queue/resume"), "Delivery goes on.");
    },
  },
  {
    name: "queue retry",
    arguments: ["[ID...]"],
    options: { ...CHOICE_OPTIONS, ...KIND_OPTIONS, all: { about: "every one that waits for its next attempt" } },
    about:
      "Has messages tried now that wait for their next attempt. What a blocked site, a hold or a pause keeps stays kept.",
    run: retryMessages,
  },
  {
    name: "queue drop",
    arguments: ["[ID...]"],
    options: {
      ...CHOICE_OPTIONS,
      ...KIND_OPTIONS,
      reason: { value: "TEXT", about: "why; it stands in the record of each" },
      yes: { about: "do it without asking" },
    },
    about:
      "Takes messages off the queue: they become failed, and SMS credits come back. It says first how many, and asks. What is being delivered at that moment is left alone. Broken off, it has done a part; the same command does the rest.",
    run: dropMessages,
  },
];

/** A line of the overview. */
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
  { title: "OLDEST", of: ({ oldestAt }) => oldestAt, isTime: true },
  { title: "NEXT", of: ({ nextAttemptAt }) => nextAttemptAt, isTime: true },
  { title: "WHY", of: ({ why }) => why },
];

function overviewWords(seen: Overview, width: number | null): string {
  const { paused, waiting, running, others } = seen;
  const lines = [
    ...seen.destinations.map(emailLine),
    ...seen.sms.map((route) => ({
      kind: "sms",
      to: route.route,
      waiting: route.waiting,
      running: route.running,
      oldestAt: route.oldestAt,
      nextAttemptAt: route.nextAttemptAt,
      why: keptWhy(route, paused),
    })),
    ...seen.webhooks.map((webhook) => ({
      kind: "webhook",
      to: webhook.url,
      waiting: webhook.waiting,
      running: 0,
      oldestAt: null,
      nextAttemptAt: webhook.nextAttemptAt,
      why: keptWhy(webhook, paused),
    })),
  ];
  const table = tableLines(lines, COLUMNS, width);
  // Another program gets the lines and nothing else.
  if (width === null) return table.join("\n");
  const pause =
    paused === null ? [] : [`All delivery is paused since ${timeText(paused.since)}: ${plain(paused.reason)}`];
  const head = `${count(waiting, "email waits", "emails wait")}, ${running.toLocaleString("en")} being delivered.`;
  const more =
    others.destinations === 0
      ? []
      : [`and ${count(others.destinations, "destination")} more, with ${count(others.waiting, "email")}`];
  return [...pause, head, ...(lines.length === 0 ? [] : ["", ...table]), ...more].join("\n");
}

function emailLine(row: Destination): Line {
  const { to, waiting, running, oldestAt, nextAttemptAt } = row;
  return { kind: "email", to, waiting, running, oldestAt, nextAttemptAt, why: whyOf(row) };
}

/** Of texts and calls. */
function keptWhy({ waiting, reason }: { waiting: number; reason: string | null }, paused: Overview["paused"]): string {
  const kept = paused !== null && waiting > 0 ? ["all delivery is paused"] : [];
  return [...kept, ...(reason === null ? [] : [reason])].join("; ") || "-";
}

function whyOf({ state, reason, held, waiting, blockedUntil }: Destination): string {
  const said = reason === null ? "" : `: ${reason}`;
  const some = held > 0 && held < waiting ? ` (${held.toLocaleString("en")} of them held)` : "";
  switch (state) {
    case "paused":
      return "all delivery is paused";
    case "held":
      return "you hold the queue of its workspaces";
    case "blocked":
      return `the site is left alone until ${blockedUntil === null ? "later" : timeCell(blockedUntil)}${said}${some}`;
    case "running":
      return `goes out now${some}`;
    case "due":
      return `its turn comes${said}${some}`;
    case "delayed":
      return `waits for its next attempt${said}${some}`;
  }
}

const MESSAGE_COLUMNS: Column<Message>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "QUEUED", of: ({ queuedAt }) => queuedAt, isTime: true },
  { title: "STATE", of: ({ state }) => state },
  { title: "ATTEMPTS", of: ({ attempts }) => attempts },
  { title: "NEXT", of: ({ nextAttemptAt }) => nextAttemptAt, isTime: true },
  { title: "TO", of: ({ to }) => to },
  { title: "SAID LAST", of: ({ lastReply }) => lastReply },
];

async function listMessages(work: Work): Promise<Shown> {
  const { api, given, terminal } = work;
  const { to, ...choice } = await choiceOf(work);
  const kinds = kindsOf(work);
  if (kinds.length > 1) throw new UsageError("One queue is listed at a time: give one of --emails, --sms, --webhooks.");
  const limit = wholeNumber(given.text("limit"), MAX_LIST) ?? DEFAULT_LIST;
  const rows: Message[] = [];
  for await (const page of api.pages<Message>("/operator/queue/messages", { ...choice, to, kind: kinds[0] })) {
    rows.push(...page);
    if (rows.length < limit) continue;
    terminal.err(`These are the first ${limit.toLocaleString("en")}; --limit N shows more.`);
    break;
  }
  const shown = rows.slice(0, limit);
  const lines = (width: number | null) => tableLines(shown, MESSAGE_COLUMNS, width);
  const empty = shown.length === 0 && to === undefined ? await othersWords(work, choice, kinds[0]) : NOTHING;
  return { kind: "list", data: shown, lines, empty };
}

const NOTHING = "Nothing of that waits.";
const LISTED = {
  email: { noun: "email", option: "--emails" },
  sms: { noun: "text", option: "--sms" },
  webhook: { noun: "webhook call", option: "--webhooks" },
} as const;

/** "No email waits; 2 texts do: add --sms." */
async function othersWords({ api }: Work, choice: Choice, asked: keyof typeof LISTED | undefined): Promise<string> {
  const others: string[] = [];
  const options: string[] = [];
  for (const kind of ["email", "sms", "webhook"] as const) {
    if (kind === (asked ?? "email")) continue;
    for await (const page of api.pages<Message>("/operator/queue/messages", { ...choice, kind })) {
      if (page.length === 0) break;
      const least = page.length >= PAGE_ROWS ? "at least " : "";
      others.push(`${least}${count(page.length, LISTED[kind].noun)} ${page.length === 1 ? "does" : "do"}`);
      options.push(LISTED[kind].option);
      break;
    }
  }
  if (others.length === 0) return NOTHING;
  const how = `${asked === undefined ? "add" : `instead of ${LISTED[asked].option} give`} ${options.join(" or ")}`;
  return `No ${LISTED[asked ?? "email"].noun}${Object.keys(choice).length > 0 ? " of that" : ""} waits; ${others.join(", ")}: ${how}.`;
}

function wholeNumber(text: string | undefined, maximum: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maximum) return number;
  throw new UsageError(`--limit must be a whole number from 1 to ${maximum.toLocaleString("en")}, not ${plain(text)}.`);
}
