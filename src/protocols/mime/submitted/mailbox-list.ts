/**
 * Address lists as mail programs write them (RFC 5322 §3.4, with the obsolete forms of §4.4): groups, comments, quoted
 * names, encoded-words, folding. The list is cut into tokens, the tokens into mailboxes, and each address goes through
 * the one parser of addresses (address.ts). An encoded-word is decoded in names only, after the address is known.
 */
import { parseAddress, type Mailbox } from "../address.ts";
import { decodeWords, toOneLine, unfold } from "./text.ts";

export interface MailboxList {
  mailboxes: Mailbox[];
  /** Why the others could not be read, each the end of a sentence. */
  faults: string[];
  groups: number;
}

interface Token {
  kind: "atom" | "quoted" | "comment" | "literal" | "special";
  text: string;
  /** White space or a comment stands before it. */
  isSpaced: boolean;
}

/** The rest is not read. */
const MAX_MAILBOXES = 1_000;
const MAX_NAME_UNITS = 1_000;
const ATOM = /[^ \t\r\n"()<>,;:@\\[\]]+/y;
/** Programs leave commas, colons and parentheses in them. With an address in it, it is none. */
const ENCODED_WORD = /=\?[\w.:+-]{1,40}(?:\*[\w-]{0,20})?\?[bq]\?[^?\s<>@"]{0,2000}\?=/iy;
const CLOSERS: Record<string, string> = { '"': '"', "(": ")", "[": "]" };
const KINDS: Record<string, Token["kind"]> = { '"': "quoted", "(": "comment", "[": "literal" };

/** `text`: the field's value, raw octets decoded, encoded-words as they are. */
export function readMailboxList(text: string): MailboxList {
  const list: MailboxList = { mailboxes: [], faults: [], groups: 0 };
  let element: Token[] = [];
  let isInAngle = false;
  const finish = () => {
    readElement(element, list);
    element = [];
    isInAngle = false;
  };
  for (const token of tokenize(unfold(text))) {
    const mark = token.kind === "special" ? token.text : "";
    if (mark === "<") isInAngle = true;
    else if (mark === ">") isInAngle = false;
    if (mark === ":" && !isInAngle) {
      list.groups++;
      element = [];
    } else if ((mark === "," && !isInAngle) || mark === ";") finish();
    else element.push(token);
    if (list.mailboxes.length === MAX_MAILBOXES) {
      list.faults.push("it holds too many mailboxes");
      return list;
    }
  }
  finish();
  return list;
}

/** Without faults and groups: the mailboxes say all that the field says. */
export function isWhole({ mailboxes, faults, groups }: MailboxList): boolean {
  return mailboxes.length > 0 && faults.length === 0 && groups === 0;
}

function* tokenize(text: string): Generator<Token> {
  let isSpaced = false;
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? "";
    if (/[ \t\r\n]/.test(character)) {
      isSpaced = true;
      at++;
      continue;
    }
    const closer = CLOSERS[character];
    const enclosed = closer === undefined ? null : readEnclosed(text, at, closer);
    if (enclosed !== null) {
      const kind = KINDS[character] ?? "special";
      yield { kind, text: enclosed.content, isSpaced };
      at = enclosed.end;
      isSpaced = kind === "comment";
      continue;
    }
    const atom = readAtom(text, at);
    yield { kind: atom === "" ? "special" : "atom", text: atom === "" ? character : atom, isSpaced };
    // Of what is never closed nobody knows where it ends.
    if (closer !== undefined) return;
    at += Math.max(atom.length, 1);
    isSpaced = false;
  }
}

/** A quoted string, a comment or a literal, without its marks and escapes; null: it is never closed. */
function readEnclosed(text: string, start: number, closer: string): { content: string; end: number } | null {
  const opener = text[start];
  let content = "";
  let depth = 1;
  for (let i = start + 1; i < text.length; i++) {
    const character = text[i] ?? "";
    if (character === closer && --depth === 0) return { content, end: i + 1 };
    if (character === opener && opener === "(") depth++;
    content += character === "\\" ? (text[++i] ?? "") : character;
  }
  return null;
}

function readAtom(text: string, at: number): string {
  ENCODED_WORD.lastIndex = at;
  const word = text.startsWith("=?", at) ? ENCODED_WORD.exec(text)?.[0] : undefined;
  if (word !== undefined) return word;
  ATOM.lastIndex = at;
  return ATOM.exec(text)?.[0] ?? "";
}

function readElement(tokens: Token[], list: MailboxList): void {
  const comments = tokens.filter(({ kind }) => kind === "comment").map(({ text }) => text);
  const words = tokens.filter(({ kind }) => kind !== "comment");
  if (words.length === 0) return;
  const open = words.findIndex((token) => isSpecial(token, "<"));
  const spec = open < 0 ? words : readAngle(words, open);
  const nameFault = open > 0 ? findNameFault(words.slice(0, open)) : null;
  const address = nameFault ?? (typeof spec === "string" ? spec : readAddrSpec(spec));
  if (typeof address === "string") {
    list.faults.push(address);
    return;
  }
  const displayName = (open > 0 ? formatPhrase(words.slice(0, open)) : null) ?? toName(comments.at(-1) ?? "");
  list.mailboxes.push({ ...address, displayName });
}

function isSpecial({ kind, text }: Token, mark: string): boolean {
  return kind === "special" && text === mark;
}

/** The tokens between the angle brackets without a route (§4.4 obs-route), or what is wrong. */
function readAngle(words: Token[], open: number): Token[] | string {
  const close = words.findIndex((token) => isSpecial(token, ">"));
  if (close < open) return "an angle bracket is never closed";
  if (close < words.length - 1) return "something stands after the angle brackets; a comma may be missing";
  const inner = words.slice(open + 1, close);
  const [first] = inner;
  if (first === undefined || !isSpecial(first, "@")) return inner;
  const colon = inner.findIndex((token) => isSpecial(token, ":"));
  return colon < 0 ? "there is nothing before the @" : inner.slice(colon + 1);
}

function findNameFault(words: Token[]): string | null {
  const wrong = words.find(({ kind }) => kind === "special" || kind === "literal");
  if (wrong === undefined) return null;
  return `the name before the address contains ${wrong.kind === "literal" ? "[" : wrong.text}; put the name in quotation marks`;
}

/** White space may stand beside dots and the @ (§4.4); the words are joined without it. */
function readAddrSpec(tokens: Token[]): Mailbox | string {
  const at = tokens.findIndex((token) => isSpecial(token, "@"));
  if (at < 0) return "the address has no @";
  const local = tokens.slice(0, at);
  const domain = tokens.slice(at + 1);
  if ([...local, ...domain].some(({ kind }) => kind === "special"))
    return "the address holds a character that it may not";
  if (!isJoined(local) || !isJoined(domain)) return "the address is not in angle brackets, or a comma is missing";
  if (domain.some(({ kind }) => kind !== "atom")) return "after the @ there is no domain name";
  const localText = local.map(({ text }) => text).join("");
  // Readers that decode it would see another address.
  const word = localText.indexOf("=?");
  if (word >= 0 && localText.includes("?=", word + 2)) return "the address holds an encoded-word";
  const isQuoted = local.some(({ kind }) => kind === "quoted");
  const localPart = isQuoted ? `"${localText.replace(/["\\]/g, "\\$&")}"` : localText;
  const parsed = parseAddress(`${localPart}@${domain.map(({ text }) => text).join("")}`);
  return parsed.kind === "mailbox" ? parsed.mailbox : lowerFirst(parsed.message.replace(/\.$/, ""));
}

/** Between two words there is a dot. */
function isJoined(words: Token[]): boolean {
  return words.every(({ kind, text }, i) => {
    const before = words[i - 1];
    if (before === undefined) return true;
    return (before.kind === "atom" && before.text.endsWith(".")) || (kind === "atom" && text.startsWith("."));
  });
}

function formatPhrase(words: Token[]): string | null {
  return toName(words.map(({ text, isSpaced }, i) => (isSpaced && i > 0 ? ` ${text}` : text)).join(""));
}

function toName(text: string): string | null {
  const name = toOneLine(decodeWords(text)).replace(/ {2,}/g, " ").slice(0, MAX_NAME_UNITS).toWellFormed();
  return name === "" ? null : name;
}

function lowerFirst(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}
