// `pombo sms …`: the links to SMSCs, and the link test.

import { systemClock } from "../../../platform/clock.ts";
import type { LinkHistory, OperatorLink, LinkTestRecord } from "../../../modules/sms/api/operator-schema.ts";
import { CommandError, UsageError } from "../../framework/definition.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import { getAdvice, formatLastError, formatIdFormat, formatTestLine, formatLink, STATES } from "./messages.ts";
import type { Column } from "../../framework/table.ts";
import { jsonLine, plain } from "../../framework/text.ts";

type Link = typeof OperatorLink.static;
type Test = typeof LinkTestRecord.static;

const COLUMNS: Column<Link>[] = [
  { title: "LINK", of: ({ name }) => name },
  { title: "ROUTE", of: ({ route }) => route },
  { title: "STATE", of: ({ state }) => STATES[state], kind: "status" },
  { title: "SINCE", of: ({ since }) => since, kind: "time" },
  { title: "WINDOW", of: ({ window }) => `${window.used}/${window.size}` },
  { title: "RATE", of: ({ rate }) => `${rate.now}/${rate.configured}` },
  { title: "ACCEPTED", of: ({ submits }) => submits.accepted },
  { title: "REFUSED", of: ({ submits: { refused, later, throttled } }) => refused + later + throttled },
  { title: "UNCERTAIN", of: ({ submits: { unanswered, lost } }) => unanswered + lost },
  { title: "RECEIPTS", of: ({ receipts }) => receipts },
  { title: "AGAIN", of: ({ retryAt }) => retryAt, kind: "time" },
  { title: "SMSC", of: ({ host, port, tls }) => `${host}:${port}${tls === "none" ? "" : " TLS"}` },
  { title: "IDS", of: ({ ids }) => ids },
  { title: "LAST ERROR", of: formatLastError, kind: "prose" },
];

const NO_LINKS = "No link is configured. Add one under [[sms.routes]] in the configuration.";
const POLL_MS = 200;
const DEFAULT_WAIT_S = 60;
const INTERRUPTED = 130;

export const SMS_COMMANDS: OperatorCommand[] = [
  {
    name: "sms links",
    arguments: ["[LINK]"],
    about:
      "Show the links to SMSCs: state, window, rate, segments since the start, the last error. With LINK also its history and last PDUs.",
    run: links,
  },
  {
    name: "sms test",
    options: {
      to: { value: "NUMBER", about: "a phone at hand, as +258841234567" },
      route: { value: "NAME", about: "the route (the one for the number)" },
      link: { value: "NAME", about: "a link of the route (one that is bound)" },
      from: { value: "SENDER", about: "a sender id that the network has registered (Pombo)" },
      wait: { value: "TIME", about: "how long to wait for receipts, as 90s or 5m (60s)" },
    },
    about:
      "Test a link of the running instance with three messages: GSM, UCS-2, two parts. Print each PDU and receipt, and the settings to change. Exit code 0: all delivered, 1: nothing sent, 3: accepted, but not all confirmed in time, 4: one was refused, not answered or not delivered.",
    run: test,
  },
];

async function links({ api, args, terminal, isJson }: Work): Promise<Shown> {
  const all = await api.call<Link[]>("GET", "/operator/sms/links");
  const wanted = args.optional("LINK");
  if (wanted !== undefined) {
    const link = all.find(({ name }) => name === wanted);
    if (link === undefined) {
      const names = all.map(({ name }) => name).join(", ");
      throw new CommandError(
        `There is no link ${plain(JSON.stringify(wanted))}. ${names === "" ? NO_LINKS : `Links: ${plain(names)}.`}`,
      );
    }
    const path = `/operator/sms/link-history?${new URLSearchParams({ link: wanted }).toString()}`;
    const history = await api.call<typeof LinkHistory.static>("GET", path);
    return record({ ...link, ...history }, formatLink(link, history));
  }
  if (!isJson && all.length > 0 && all.every(({ state }) => state === "not_running"))
    terminal.err("No instance runs here, so no link is connected: these are the configured links.");
  const shown = list(all, COLUMNS, NO_LINKS);
  if (isJson || terminal.width === null || shown.kind !== "list") return shown;
  const advised = all.flatMap((link) => {
    const advice = getAdvice(link);
    return advice === null ? [] : [plain(`${link.name}: ${advice}`)];
  });
  const idFormats = all.flatMap(({ route, ids }) =>
    ids === null || ids === "same" ? [] : [plain(`${route}: message ids are ${formatIdFormat(ids)}.`)],
  );
  const notes = [...advised, ...new Set(idFormats)];
  if (notes.length === 0) return shown;
  return { ...shown, lines: (options) => [...shown.lines(options), "", ...notes] };
}

async function test({ api, args, terminal, isJson }: Work): Promise<Shown> {
  const to = args.text("to");
  if (to === undefined) throw new UsageError("--to is required: the number of a phone at hand.");
  const waitS = parseWait(args.text("wait"));
  const body = { to, from: args.text("from"), route: args.text("route"), link: args.text("link"), waitS };
  const stop = terminal.stopSignal();
  let linkTest = await api.call<Test>("POST", "/operator/sms/trial", body);
  if (!isJson) {
    const via = linkTest.link === null ? "" : `, link ${linkTest.link}`;
    terminal.say(plain(`Testing route ${linkTest.route}${via}: three messages to ${linkTest.to}. Ctrl-C stops it.`));
  }
  const { id } = linkTest;
  const lines = [...linkTest.lines];
  let isStopped = false;
  void stop.then(() => {
    isStopped = true;
  });
  const show = (more: Test["lines"]) => {
    if (!isJson) for (const line of more) terminal.say(formatTestLine(line));
  };
  show(lines);
  while (linkTest.verdict === null) {
    await Promise.race([stop, new Promise<void>((resolve) => void systemClock.after(POLL_MS, resolve))]);
    const next: Test | null = isStopped
      ? await api.call<Test | null>("DELETE", "/operator/sms/trial")
      : await api.call<Test | null>("GET", `/operator/sms/trial?after=${lines.length}`);
    if (next === null)
      throw new CommandError(
        "The instance was stopped during the test: check on the phone whether the messages arrived.",
      );
    if (next.id !== id) throw new CommandError("Another test was started, which ended this one.");
    const more = next.lines.filter(({ no }) => no > lines.length);
    show(more);
    lines.push(...more);
    linkTest = next;
  }
  const { result, sentences } = linkTest.verdict;
  if (isJson) terminal.out(jsonLine({ ...linkTest, lines }));
  else terminal.say(["", ...sentences.map((sentence) => plain(sentence))].join("\n"));
  const ending = ENDINGS[result];
  if (isStopped) throw new CommandError("Stopped. Messages already sent may still arrive.", INTERRUPTED);
  if (ending !== null && ending.words !== null) throw new CommandError(ending.words, ending.code);
  if (ending !== null) terminal.setExitCode(ending.code);
  return { kind: "shown" };
}

interface Ending {
  /** Null: the verdict explains it. */
  words: string | null;
  code: 1 | 3 | 4 | 130;
}

const ENDINGS: Record<NonNullable<Test["verdict"]>["result"], Ending | null> = {
  delivered: null,
  unconfirmed: { words: "The SMSC accepted the messages, but not all deliveries were confirmed.", code: 3 },
  failed: { words: "The link does not carry all three messages.", code: 4 },
  not_sent: { words: null, code: 1 },
  stopped: { words: "The test was stopped early.", code: 130 },
};

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600 };
const MAX_WAIT_S = 3_600;

function parseWait(text: string | undefined): number {
  if (text === undefined) return DEFAULT_WAIT_S;
  const [, number = "", unit = "s"] = /^(\d{1,5})([smh])?$/.exec(text) ?? [];
  const seconds = Number(number) * (UNITS[unit] ?? 1);
  if (number !== "" && seconds >= 1 && seconds <= MAX_WAIT_S) return seconds;
  throw new UsageError(`--wait must be a time from 1s to 1h, as 90s or 5m, not ${plain(text)}.`);
}
