// What an alert says: as an email, in a chat, as an SMS. Pure.

import type { Level } from "./trouble.ts";
import type { NoticeKind } from "./watch.ts";

/** One thing that an alert says. Times in Unix ms. */
export interface AlertItem {
  kind: NoticeKind | "test";
  level: Level;
  what: string;
  step: string | null;
  beganAt: number;
  at: number;
}

export interface AlertWords {
  subject: string;
  text: string;
  /** On one line, for a phone. */
  short: string;
}

const MAX_SUBJECT = 120;
/** Two segments in the GSM alphabet. */
const MAX_SHORT = 300;
/** More at once are counted and not shown. */
const MAX_SHOWN = 20;

/** `items`: at least one. */
export function writeAlert(hostname: string, items: readonly AlertItem[]): AlertWords {
  const [first] = items;
  if (first === undefined) throw new Error("an alert of nothing");
  const subject =
    items.length === 1
      ? `[${describeKind(first)}] ${hostname}: ${shorten(firstSentence(first.what), MAX_SUBJECT)}`
      : `[${describeKind(pickHeaviest(items))}] ${hostname}: ${count(items)}`;
  const shown = items.slice(0, MAX_SHOWN).map(describeItem);
  const hidden = items.length - shown.length;
  const more = hidden > 0 ? [`And ${hidden} more: pombo status shows them all.`] : [];
  const lead = items.length === 1 ? `pombo at ${hostname}` : `pombo at ${hostname}: ${count(items)}`;
  const one = items.length === 1 ? first.what : `${count(items)}. ${pickHeaviest(items).what}`;
  return {
    subject,
    text: [lead, ...shown, ...more].join("\n\n"),
    short: shorten(`pombo ${hostname}: ${describeKind(pickHeaviest(items))}: ${one}`.replace(/\s+/g, " "), MAX_SHORT),
  };
}

/** Slack takes 40,000 characters, Mattermost 16,383, Telegram 4,096. */
const MAX_TEXT = 3_500;
/** Discord takes 2,000 characters. */
const MAX_CONTENT = 1_900;

/** The text as chats show it: Slack, Mattermost and Telegram read `text`, Discord `content`. */
export function writeChatTexts(text: string): { text: string; content: string } {
  const plain = defuse(text);
  return { text: shorten(plain, MAX_TEXT), content: shorten(plain, MAX_CONTENT) };
}

/**
 * An alert repeats words of others: names of workspaces, replies of mail servers. In a chat they must call nobody
 * (`<!channel>`, `@everyone`) and make no link with another name (`<https://…|pombo>`, `[pombo](https://…)`).
 */
function defuse(text: string): string {
  return text
    .replaceAll("<", "‹")
    .replaceAll(">", "›")
    .replaceAll("](", "] (")
    .replace(/@(?=(?:everyone|here|channel|all)\b)/gi, "@\u2060");
}

const KINDS: Record<AlertItem["kind"], string> = {
  began: "began",
  worsened: "got worse",
  reminded: "still there",
  ended: "ended",
  test: "test",
};

/** The word that stands first. */
function describeKind({ kind, level }: AlertItem): string {
  if (kind === "ended" || kind === "test") return KINDS[kind];
  return kind === "reminded" ? `${level}, ${KINDS[kind]}` : level;
}

function describeItem(item: AlertItem): string {
  const { kind, level, what, step, beganAt, at } = item;
  const head = {
    began: `${capital(level)} since ${toMinute(beganAt)}:`,
    worsened: `It got worse, and is a problem since ${toMinute(at)}:`,
    reminded: `${capital(level)}, still there since ${toMinute(beganAt)}:`,
    ended: `Ended at ${toMinute(at)}. Since ${toMinute(beganAt)} it was:`,
    test: `A test, made at ${toMinute(at)}:`,
  }[kind];
  const todo = step === null || kind === "ended" ? [] : [`What to do: ${step}`];
  return [head, what, ...todo].join("\n");
}

/** "2 problems began, 1 ended" */
function count(items: readonly AlertItem[]): string {
  const groups = Map.groupBy(items, ({ kind, level }) => (kind === "ended" ? "ended" : `${level} ${KINDS[kind]}`));
  return [...groups]
    .map(([name, { length }]) => {
      if (name === "ended") return `${length} ended`;
      const [level = "", ...verb] = name.split(" ");
      return `${length} ${level}${length === 1 ? "" : "s"} ${verb.join(" ")}`;
    })
    .join(", ");
}

const WEIGHTS: Record<AlertItem["kind"], number> = { began: 4, worsened: 4, reminded: 2, test: 1, ended: 0 };

function pickHeaviest(items: readonly AlertItem[]): AlertItem {
  const weigh = ({ kind, level }: AlertItem) => WEIGHTS[kind] + (kind !== "ended" && level === "problem" ? 1 : 0);
  return items.reduce((best, item) => (weigh(item) > weigh(best) ? item : best));
}

function firstSentence(text: string): string {
  return /^.+?[.:;](?=\s|$)/s.exec(text)?.[0].slice(0, -1) ?? text;
}

function shorten(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most
    ? text
    : `${characters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`;
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function toMinute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
