import { systemClock } from "../../../platform/clock.ts";
import type { LinkHistory, OperatorLink, LinkTestRecord } from "../../../modules/sms/api/operator-schema.ts";
import { CommandError, UsageError } from "../../framework/failure.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import { adviceText, errorText, idsText, lineText, linkText, stateText } from "./messages.ts";
import type { Column } from "../../framework/table.ts";
import { jsonLine, plain } from "../../framework/text.ts";

// `pombo sms …`: the links to SMSCs, and a test of one.

type Link = typeof OperatorLink.static;
type Test = typeof LinkTestRecord.static;

const COLUMNS: Column<Link>[] = [
  { title: "ROUTE", of: ({ route }) => route },
  { title: "LINK", of: ({ name }) => name },
  { title: "SMSC", of: ({ host, port, tls }) => `${host}:${port}${tls === "none" ? "" : " TLS"}` },
  { title: "STATE (UTC)", of: stateText },
  { title: "WINDOW", of: ({ window }) => `${window.used}/${window.size}` },
  { title: "RATE", of: ({ rate }) => `${rate.now}/${rate.configured}` },
  { title: "IDS", of: ({ ids }) => ids ?? "-" },
  { title: "ACCEPTED", of: ({ submits }) => submits.accepted },
  { title: "REFUSED", of: ({ submits: { refused, later, throttled } }) => refused + later + throttled },
  { title: "IN DOUBT", of: ({ submits: { unanswered, lost } }) => unanswered + lost },
  { title: "RECEIPTS", of: ({ receipts }) => receipts },
  { title: "LAST ERROR (UTC)", of: errorText },
];

const NO_LINKS = "No link is configured: see [[sms.routes]] in the configuration.";
const POLL_MS = 200;
const DEFAULT_WAIT_S = 60;
const INTERRUPTED = 130;

export const SMS_COMMANDS: OperatorCommand[] = [
  {
    name: "sms links",
    arguments: ["[LINK]"],
    about:
      "Shows how the links to SMSCs stand: window, rate, what became of the segments since the start, the last error. Of one LINK also what happened to it and its last PDUs.",
    run: links,
  },
  {
    name: "sms test",
    options: {
      to: { value: "NUMBER", about: "a phone in your hand, as +258841234567" },
      route: { value: "NAME", about: "the route (the one that the number goes by)" },
      link: { value: "NAME", about: "one of its links (one that is bound)" },
      from: { value: "SENDER", about: "a sender that the network has registered (Pombo)" },
      wait: { value: "TIME", about: "how long receipts are waited for, as 90s or 5m (60s)" },
    },
    about:
      "Tries a link of the running instance with three texts: GSM, UCS-2, two parts. Prints each PDU and each receipt, and which settings to change. Ends with 0: all delivered, 3: taken and not all confirmed in time, 4: one refused, not answered or not delivered, 1: nothing sent.",
    run: test,
  },
];

async function links({ api, given, terminal, isJson }: Work): Promise<Shown> {
  const all = await api.call<Link[]>("GET", "/operator/sms/links");
  const wanted = given.optional("LINK");
  if (wanted !== undefined) {
    const link = all.find(({ name }) => name === wanted);
    if (link === undefined) {
      const names = all.map(({ name }) => name).join(", ");
      throw new CommandError(
        `There is no link ${plain(JSON.stringify(wanted))}. ${names === "" ? NO_LINKS : `There is: ${plain(names)}.`}`,
      );
    }
    const path = `/operator/sms/link-history?${new URLSearchParams({ link: wanted }).toString()}`;
    const history = await api.call<typeof LinkHistory.static>("GET", path);
    return record({ ...link, ...history }, linkText(link, history));
  }
  if (!isJson && all.length > 0 && all.every(({ state }) => state === "not_running"))
    terminal.err("Links live in a running instance, and none runs here: this is how they are configured.");
  const shown = list(all, COLUMNS, NO_LINKS);
  if (isJson || terminal.width === null || shown.kind !== "list") return shown;
  const advised = all.flatMap((link) => {
    const advice = adviceText(link);
    return advice === null ? [] : [plain(`${link.name}: ${advice}`)];
  });
  const known = all.flatMap(({ route, ids }) =>
    ids === null || ids === "same" ? [] : [plain(`${route}: ids are ${idsText(ids)}.`)],
  );
  const notes = [...advised, ...new Set(known)];
  if (notes.length === 0) return shown;
  return { ...shown, lines: (width) => [...shown.lines(width), "", ...notes] };
}

async function test({ api, given, terminal, isJson }: Work): Promise<Shown> {
  const to = given.text("to");
  if (to === undefined) throw new UsageError("--to is missing: give the number of a phone in your hand.");
  const waitS = secondsOf(given.text("wait"));
  const body = { to, from: given.text("from"), route: given.text("route"), link: given.text("link"), waitS };
  const stop = terminal.stopSignal();
  let linkTest = await api.call<Test>("POST", "/operator/sms/trial", body);
  if (!isJson) {
    const by = linkTest.link === null ? "" : `, link ${linkTest.link}`;
    terminal.out(plain(`Testing route ${linkTest.route}${by}: three texts to ${linkTest.to}. Ctrl-C ends it.`));
  }
  const { id } = linkTest;
  const lines = [...linkTest.lines];
  let isStopped = false;
  void stop.then(() => {
    isStopped = true;
  });
  const show = (more: Test["lines"]) => {
    if (!isJson) for (const line of more) terminal.out(lineText(line));
  };
  show(lines);
  while (linkTest.verdict === null) {
    await Promise.race([stop, new Promise<void>((resolve) => void systemClock.after(POLL_MS, resolve))]);
    const next: Test | null = isStopped
      ? await api.call<Test | null>("DELETE", "/operator/sms/trial")
      : await api.call<Test | null>("GET", `/operator/sms/trial?after=${lines.length}`);
    if (next === null)
      throw new CommandError("The instance was stopped meanwhile: whether the texts arrived, the phone shows.");
    if (next.id !== id) throw new CommandError("Another test has begun and ended this one.");
    const more = next.lines.filter(({ no }) => no > lines.length);
    show(more);
    lines.push(...more);
    linkTest = next;
  }
  const { result, sentences } = linkTest.verdict;
  if (isJson) terminal.out(jsonLine({ ...linkTest, lines }));
  else terminal.out(["", ...sentences.map((sentence) => plain(sentence))].join("\n"));
  const ending = ENDINGS[result];
  if (isStopped) throw new CommandError("Stopped: what was sent is sent.", INTERRUPTED);
  if (ending !== null && ending.words !== null) throw new CommandError(ending.words, ending.code);
  if (ending !== null) terminal.ends(ending.code);
  return { kind: "shown" };
}

/** What a test that did not show all ends with; 2 is a command line that is not understood. */
interface Ending {
  /** Null: the verdict's sentences say it. */
  words: string | null;
  code: 1 | 3 | 4 | 130;
}

const ENDINGS: Record<NonNullable<Test["verdict"]>["result"], Ending | null> = {
  delivered: null,
  unconfirmed: { words: "Taken by the SMSC, and not confirmed as delivered.", code: 3 },
  failed: { words: "The link does not carry all three texts.", code: 4 },
  not_sent: { words: null, code: 1 },
  stopped: { words: "Ended before it was through.", code: 130 },
};

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600 };
const MAX_WAIT_S = 3_600;

function secondsOf(given: string | undefined): number {
  if (given === undefined) return DEFAULT_WAIT_S;
  const [, number = "", unit = "s"] = /^(\d{1,5})([smh])?$/.exec(given) ?? [];
  const seconds = Number(number) * (UNITS[unit] ?? 1);
  if (number !== "" && seconds >= 1 && seconds <= MAX_WAIT_S) return seconds;
  throw new UsageError(`--wait must be a time from 1s to 1h, as 90s or 5m, not ${plain(given)}.`);
}
