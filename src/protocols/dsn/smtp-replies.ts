/**
 * The answers of a mail server that a report repeats: found in a line of text, with the command
 * that they were given to where the text tells it. Pure.
 */
import { makeReply, type Reply } from "../smtp/replies/reply.ts";

const MAX_REPLIES = 20;
const MAX_SEARCHED = 4_000;
const MAX_REPLY_CHARACTERS = 500;

/** A code where a code may stand: at the start, after a mark, or doubled; or anywhere with an enhanced code behind it. */
const CODE =
  /(?:(?:^|[:;>'"([,\]] ?|<<< |- |\b(?:said|error|reason|code|returned|response|responded|was|status)[:=]? )(?:smtp; ?)?|\b[45]\d\d )([45][0-57]\d)(?=[ :'-]|$)(?:[ :'"-]{0,4}#?([45]\.\d{1,3}\.\d{1,3})\b)?|\b([45][0-57]\d)[ :'"-]{1,4}#?([45]\.\d{1,3}\.\d{1,3})\b/dgi;
/** Not of class 2: in a report of a failure that is the version of a program. */
const ENHANCED = /(?<![\d.])([45]\.\d{1,2}\.\d{1,3})(?![\d.])/;

/** A text of one line without the replies in it: the reporter's own words. */
export function withoutReplies(text: string): string {
  return spans(text).reduceRight((rest, { start, end }) => `${rest.slice(0, start)} ${rest.slice(end)}`, text);
}

/** The replies in a text of one line, in order; each reaches to the next. `text` is as it was written. */
export function findReplies(text: string): Reply[] {
  return spans(text).map(({ code, start, end }) => {
    const words = text
      .slice(start + 3, end)
      .replace(/^[ :'"-]{1,6}/, "")
      .trim();
    return makeReply(code, [words]);
  });
}

/** IronPort calls every refusal under 5.1.0 so. */
const NO_WORDS = /\bunknown address error\b/gi;
/** Sendmail calls every 550 to RCPT so, below the answer itself, which it marks. */
const ECHO = /(?<!<<< ?)\b55[013][ -](?:5\.1\.\d )?<?[^\s<>]{1,320}>?\.\.\. user unknown/gi;
const MARKED = /<<< ?5\d\d/;

/** Texts without what their writer only guessed from a basic code. */
export function withoutGuesses(texts: string[]): string[] {
  const isMarked = texts.some((text) => MARKED.test(text));
  return texts.map((text) => {
    const told = text.replace(NO_WORDS, "error");
    return isMarked ? told.replace(ECHO, "") : told;
  });
}

interface Span {
  code: number;
  start: number;
  end: number;
}

function spans(text: string): Span[] {
  const searched = text.slice(0, MAX_SEARCHED);
  const found: Span[] = [];
  for (const match of searched.matchAll(CODE)) {
    const digits = match[1] ?? match[3] ?? "";
    const start = (match.indices?.[1] ?? match.indices?.[3])?.[0] ?? match.index;
    const before = found.at(-1);
    if (before !== undefined) before.end = Math.min(before.end, start);
    if (found.length === MAX_REPLIES) break;
    found.push({ code: Number(digits), start, end: Math.min(start + MAX_REPLY_CHARACTERS, searched.length) });
  }
  return found;
}

/** The first enhanced code in a text, or null. */
export function findEnhanced(text: string): string | null {
  return ENHANCED.exec(text.slice(0, MAX_SEARCHED))?.[1] ?? null;
}

/** The command that a refusal answered. `early`: before MAIL. `content`: from DATA on. `pipelined`: to RCPT, as it seems. */
export type Command = "early" | "mail" | "rcpt" | "content" | "pipelined";

const BEFORE =
  "(?:in reply to|after|following|>>>|<<<|\\[|our|for|response to|error (?:on|in)|failed on|smtp(?: command)?)[ :]{0,2}";
const said = (command: string, others: string) => new RegExp(`${BEFORE}(?:${command})|${others}`);

const COMMANDS: [Command, RegExp][] = [
  // Sendmail shows DATA above answers to RCPT that it sent together with it. What DATA itself was answered
  // tells that there was one: 503, or 554 "no valid recipients" (RFC 5321 §3.3).
  ["pipelined", />>> data <<< 5(?!03).{0,900}<<< 503|<<< 5.{0,20}no valid recipients/],
  [
    "rcpt",
    said(
      "(?:pipelined )?rcpt(?![a-z])",
      "does not like recipient|rejected recipient|\\(state 14\\)|server has rejected address|rcpt(?: to)? (?:command|generated)",
    ),
  ],
  ["mail", said("(?:pipelined )?mail(?:[ _]from| command)", "does not like sender|\\(state 13\\)|mail from command")],
  [
    "content",
    said(
      "(?:end of |pipelined |final )?(?:data|dot|body|content|text)\\b",
      "end of data|after i sent the message|(?:text|data) command|\\(state 1[5-8]\\)|transmission failure",
    ),
  ],
  [
    "early",
    said(
      "(?:initial )?(?:connect|ehlo|helo|greeting|starttls)",
      "greeting failed|my name was rejected|refused to talk",
    ),
  ],
  // Postfix says so of recipients only.
  ["rcpt", /recipient address rejected/],
];

/** The command that a plain text says was refused; null where it does not say. */
export function findCommand(text: string): Command | null {
  const searched = text.slice(0, MAX_SEARCHED);
  return COMMANDS.find(([, pattern]) => pattern.test(searched))?.[0] ?? null;
}
