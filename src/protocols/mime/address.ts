/**
 * Mailboxes: the one place where text becomes an address. Everything that later writes an address
 * (envelope, From, To, Reply-To, suppressions) writes it from the parts made here and never from
 * the text that came in, so two readers cannot disagree about who is meant.
 *
 * Steps: refuse invisible characters, separate the display name from the address, separate the
 * local part from the domain, bring the domain to A-labels, check the lengths.
 */
import { domainToASCII, domainToUnicode } from "node:url";

/** A mailbox in parts, never changed once made. `address` is the envelope form, always `localPart@domain`. */
export interface Mailbox {
  /** Without quotes or escapes, runs of spaces made one; null when there is none. */
  readonly displayName: string | null;
  /** Wire form: quoted only when it cannot be written as a dot-atom. NFC; ASCII unless SMTPUTF8 is needed. */
  readonly localPart: string;
  /** Lower-case A-labels. */
  readonly domain: string;
  readonly address: string;
}

/** `message` is one sentence for the person who wrote the address: what is wrong and what to write. */
export type ParsedMailbox = { kind: "mailbox"; mailbox: Mailbox } | { kind: "fault"; message: string };

/** UTF-16 units of one input; the API allows 255 code points, this bounds every other caller. */
const MAX_INPUT_UNITS = 1_024;
/** RFC 5321 §4.5.3.1.1. */
const MAX_LOCAL_OCTETS = 64;
/** RFC 5321 §4.5.3.1.3: a path is at most 256 octets with its angle brackets. */
const MAX_ADDRESS_OCTETS = 254;
/** RFC 1035 §2.3.4, without the root's dot. */
const MAX_DOMAIN_OCTETS = 253;
const MAX_LABEL_OCTETS = 63;

/** Answers remembered by each parser, of inputs up to this length. */
const MAX_REMEMBERED = 4_096;
const MAX_REMEMBERED_UNITS = 320;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
// Controls, line and paragraph separators, lone surrogates, format characters (bidi overrides, soft hyphen, …).
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Cf}]/u;
// Joiners belong to emoji sequences and to Persian and Indic spelling; between two visible non-ASCII characters they hide nothing.
const JOINER = /(?<=[^\0-\x7f\p{Cf}\p{Z}])[\u200c\u200d](?=[^\0-\x7f\p{Cf}\p{Z}])/gu;
// RFC 5322 §3.2.3 specials, less the dot: "J. Doe <…>" is what people write, and we quote it when writing.
const NAME_SPECIAL = /[()<>[\]:;@\\,"]/;
// RFC 5321 §4.1.2 Atom; beyond ASCII (RFC 6531 §3.3) only letters, marks and digits that can be seen.
const ATOM =
  /^(?!\p{M})(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]|(?![\0-\x7f]|\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}])+$/u;
/** Most addresses: a dot-atom of ASCII and a domain of which only its own rules are to be asked. */
const PLAIN = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*@[A-Za-z0-9.-]+$/;
const QUOTED_CONTENT = /^(?:[\x20-\x7e]|(?![\0-\x7f]|\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}])+$/u;
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

const EXAMPLE = "write it like name@example.com";
const ONE_ONLY = "Give exactly one address, without lists, groups or routes.";
const COMMENT = `Comments in parentheses are not accepted in an address: ${EXAMPLE}.`;

/** Reads a bare address, `<address>`, `Name <address>` or `"Name" <address>`; spaces around it are dropped. */
export const parseMailbox = remembering(readMailbox);

/** Reads a bare address and nothing else; surrounding spaces are a fault. */
export const parseAddress = remembering(readAddress);

/**
 * The same function, which remembers its last answers: an address is parsed when a request is checked,
 * when its email is accepted and when it is sent, and a sender's address comes again and again. A
 * parsed value must not be changed by who got it.
 */
function remembering(read: (input: string) => ParsedMailbox): (input: string) => ParsedMailbox {
  const known = new Map<string, ParsedMailbox>();
  return (input) => {
    const before = known.get(input);
    if (before !== undefined) return before;
    const parsed = read(input);
    if (input.length > MAX_REMEMBERED_UNITS) return parsed;
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(input, parsed);
    return parsed;
  };
}

function readMailbox(input: string): ParsedMailbox {
  const invisible = invisibleFault(input.length > MAX_INPUT_UNITS ? input : input.replace(JOINER, ""));
  if (invisible !== null) return fault(invisible);
  const text = trimSpaces(input);
  if (text.startsWith('"')) {
    const quoted = readQuoted(text);
    if (quoted === null) return fault('The quotation mark is never closed: write "Name" <name@example.com>.');
    if (text[quoted.end] === "@") return readAddress(text);
    return parseAngle(quoted.value, trimSpaces(text.slice(quoted.end)));
  }
  const open = text.indexOf("<");
  if (open >= 0) {
    const name = text.slice(0, open);
    const special = NAME_SPECIAL.exec(name);
    if (special === null) return parseAngle(name, text.slice(open));
    return fault(
      `The name contains ${special[0]}: put the name in quotation marks, like "Name, Surname" <name@example.com>.`,
    );
  }
  if (/ [^ ]+@/.test(text)) return fault("Put the address in angle brackets after the name: Name <name@example.com>.");
  return readAddress(text);
}

function readAddress(input: string): ParsedMailbox {
  return readPlain(input) ?? readAnyAddress(input);
}

/** Says the same as readAnyAddress in a quarter of its time, or null: it does not know. */
function readPlain(input: string): ParsedMailbox | null {
  if (input.length > MAX_ADDRESS_OCTETS || !PLAIN.test(input)) return null;
  const at = input.indexOf("@");
  const domain = toAsciiDomain(input.slice(at + 1));
  if (domain === null || at > MAX_LOCAL_OCTETS) return null;
  const localPart = input.slice(0, at);
  return { kind: "mailbox", mailbox: { displayName: null, localPart, domain, address: `${localPart}@${domain}` } };
}

function readAnyAddress(input: string): ParsedMailbox {
  const invisible = invisibleFault(input);
  if (invisible !== null) return fault(invisible);
  return parseAddrSpec(input, null);
}

/** The mailbox of an address that was parsed before. Throws when it cannot be parsed any more. */
export function requireMailbox(parsed: ParsedMailbox): Mailbox {
  if (parsed.kind === "mailbox") return parsed.mailbox;
  throw new Error(`an address that was accepted cannot be read: ${parsed.message}`);
}

/** A mailbox as text that reads back as the same. */
export function formatMailbox(address: string, displayName: string | null): string {
  if (displayName === null) return address;
  const name = NAME_SPECIAL.test(displayName) ? `"${displayName.replace(/["\\]/g, "\\$&")}"` : displayName;
  return `${name} <${address}>`;
}

/** The form in which addresses are compared for suppressions: lower case, NFC, domain as A-labels. */
export function comparableAddress(mailbox: Mailbox): string {
  return mailbox.address.toLowerCase().normalize("NFC");
}

/**
 * A domain as lower-case A-labels, or null when it is not a usable mail domain. It needs a dot,
 * letters-digits-hyphen labels of at most 63 octets, 253 octets in all, and a last label that
 * starts with a letter, so that no IPv4 address in any notation passes.
 */
export function toAsciiDomain(domain: string): string | null {
  if (domain.length > MAX_DOMAIN_OCTETS) return null;
  let ascii = domain.toLowerCase();
  if (!PRINTABLE_ASCII.test(domain)) {
    // UTS 46 deletes soft hyphens, and the URL parser behind domainToASCII decodes %41, drops tabs
    // and stops at "/": none of these characters may reach it.
    if (INVISIBLE.test(domain) || /[\0-,/:-@[-`{-\x7f]/.test(domain)) return null;
    ascii = domainToASCII(domain);
  }
  const labels = ascii.split(".");
  if (ascii.length > MAX_DOMAIN_OCTETS || labels.length < 2) return null;
  if (!labels.every((label) => label.length <= MAX_LABEL_OCTETS && LABEL.test(label))) return null;
  // RFC 1123 §2.1: a top-level label is alphabetic (or an A-label), which tells a name from a dotted number.
  if (!/^[a-z]/.test(labels.at(-1) ?? "")) return null;
  return ascii.includes("xn--") && !hasValidALabels(ascii) ? null : ascii;
}

/** Fake A-labels ("xn--a") come back empty or altered; a hyphen at the edge may hide behind the encoding (RFC 5891 §4.2.3.1). */
function hasValidALabels(ascii: string): boolean {
  return domainToASCII(ascii) === ascii && !/(?:^|\.)-|-(?:\.|$)/.test(domainToUnicode(ascii));
}

function parseAngle(name: string, rest: string): ParsedMailbox {
  if (!rest.startsWith("<"))
    return fault("After the name comes the address in angle brackets: Name <name@example.com>.");
  const inner = rest.slice(1, -1);
  const quoted = inner.startsWith('"') ? readQuoted(inner) : null;
  const close = inner.indexOf(">", quoted?.end ?? 0);
  if (!rest.endsWith(">"))
    return fault(rest.includes(">") ? ONE_ONLY : "The angle bracket is never closed: Name <name@example.com>.");
  if (close >= 0) return fault(ONE_ONLY);
  const displayName = name.trim().replace(/ {2,}/g, " ");
  return parseAddrSpec(inner, displayName === "" ? null : displayName);
}

function parseAddrSpec(text: string, displayName: string | null): ParsedMailbox {
  if (text === "") return fault(`The address is empty: ${EXAMPLE}.`);
  const quoted = text.startsWith('"') ? readQuoted(text) : null;
  const at = quoted === null ? text.indexOf("@") : quoted.end;
  const local = quoted === null ? text.slice(0, Math.max(at, 0)) : quoted.value;
  const domainText = text.slice(at + 1);
  const wrong =
    shapeFault(quoted === null ? text : domainText) ?? (text[at] === "@" ? null : `The address has no @: ${EXAMPLE}.`);
  if (wrong !== null) return fault(wrong);
  const localPart = wireLocalPart(local.normalize("NFC"), quoted !== null);
  if (localPart.kind === "fault") return localPart;
  const domain = parseDomain(domainText);
  if (domain.kind === "fault") return domain;
  const address = `${localPart.value}@${domain.value}`;
  if (Buffer.byteLength(address) > MAX_ADDRESS_OCTETS)
    return fault(`The address is longer than ${MAX_ADDRESS_OCTETS} octets.`);
  return {
    kind: "mailbox",
    mailbox: { displayName, localPart: localPart.value, domain: domain.value, address },
  };
}

/** Names the forms that RFC 5322 knows and this service does not take. */
function shapeFault(text: string): string | null {
  if (/[()]/.test(text)) return COMMENT;
  if (text.startsWith("@") && /[,:]/.test(text)) return ONE_ONLY;
  if (/[,;]/.test(text) || /@.*@/.test(text)) return ONE_ONLY;
  if (/[<>"\\]/.test(text)) return `The address contains a character that is not allowed there: ${EXAMPLE}.`;
  if (/^[^@[]*:/.test(text)) return ONE_ONLY;
  if (text.includes(" ")) return `The address contains a space: ${EXAMPLE}.`;
  return null;
}

type Piece = { kind: "piece"; value: string } | { kind: "fault"; message: string };

function wireLocalPart(local: string, wasQuoted: boolean): Piece {
  if (local === "") return fault(`There is nothing before the @: ${EXAMPLE}.`);
  const isDotAtom = local.split(".").every((atom) => ATOM.test(atom));
  if (!isDotAtom && !wasQuoted) {
    if (/^\.|\.$|\.\./.test(local))
      return fault("The part before the @ may not begin or end with a dot, or have two dots together.");
    return fault(`The part before the @ contains a character that is not allowed: ${EXAMPLE}.`);
  }
  if (!isDotAtom && !QUOTED_CONTENT.test(local))
    return fault(`The quoted part before the @ contains a character that is not allowed: ${EXAMPLE}.`);
  // RFC 5321 §4.1.2: the quoted form should be avoided where the plain one says the same.
  const value = isDotAtom ? local : `"${local.replace(/["\\]/g, "\\$&")}"`;
  if (Buffer.byteLength(value) > MAX_LOCAL_OCTETS)
    return fault(`The part before the @ is longer than ${MAX_LOCAL_OCTETS} octets.`);
  return { kind: "piece", value };
}

function parseDomain(text: string): Piece {
  if (text === "") return fault(`There is no domain after the @: ${EXAMPLE}.`);
  if (text.startsWith("[")) return fault("An IP address in brackets is not accepted: give a domain name after the @.");
  if (text.endsWith(".")) return fault("The domain ends with a dot: leave the dot out.");
  if (!/[.\u3002\uff0e\uff61]/.test(text)) return fault("The domain after the @ needs a dot, as in example.com.");
  const value = toAsciiDomain(text);
  return value === null ? fault("The domain after the @ is not a valid domain name.") : { kind: "piece", value };
}

/** The content of the quoted string that `text` begins with, and the index after it; null when it is not closed. */
function readQuoted(text: string): { value: string; end: number } | null {
  let value = "";
  for (let i = 1; i < text.length; i++) {
    const unit = text[i] ?? "";
    if (unit === '"') return { value, end: i + 1 };
    value += unit === "\\" ? (text[++i] ?? "") : unit;
  }
  return null;
}

function invisibleFault(text: string): string | null {
  if (text.length > MAX_INPUT_UNITS) return "The address is too long.";
  if (PRINTABLE_ASCII.test(text)) return null;
  const found = INVISIBLE.exec(text)?.[0].codePointAt(0);
  if (found === undefined) return null;
  const codePoint = found.toString(16).toUpperCase().padStart(4, "0");
  return `The address contains an invisible character (U+${codePoint}): remove line breaks, control and formatting characters.`;
}

function trimSpaces(text: string): string {
  return text.replace(/^ +| +$/g, "");
}

function fault(message: string): { kind: "fault"; message: string } {
  return { kind: "fault", message };
}
