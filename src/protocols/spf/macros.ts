// The macros of SPF (RFC 7208 §7). Pure.

import { reverseLabels } from "../../platform/ip/address.ts";

export interface MacroValues {
  /** The envelope sender, always with a local part. */
  sender: string;
  /** The domain that is evaluated. */
  domain: string;
  ip: string;
  helo: string;
  /** The validated name of the address (the macro p), which costs look-ups; "unknown" without one. */
  validated: string;
}

const NAME_OCTETS = 253;
const EXPANSION = /%(?:\{([slodiphcrtv])(\d*)(r?)([.\-+,/_=]*)\}|([%_-]))/gi;
const LITERALS: Record<string, string> = { "%": "%", _: " ", "-": "%20" };

/** Whether a text follows the grammar of macro strings, with the letters that are allowed outside of explanations. */
export function isMacroString(text: string): boolean {
  let isValid = true;
  const rest = text.replaceAll(EXPANSION, (_, letter: string | undefined, digits: string) => {
    // c, r and t are for explanations only, and nought labels are none (§7.1).
    if (letter !== undefined && ("crt".includes(letter.toLowerCase()) || (digits !== "" && Number(digits) === 0)))
      isValid = false;
    return "";
  });
  return isValid && /^[\x21-\x24\x26-\x7e]*$/.test(rest);
}

/** Whether the costly macro p stands in it. */
export function needsValidatedName(text: string): boolean {
  return /%\{p/i.test(text);
}

/** The domain name that a domain-spec means; too long a name loses labels on its left (§7.3). */
export function expandDomain(spec: string, values: MacroValues): string {
  const expanded = spec.replaceAll(EXPANSION, (_, ...groups: (string | undefined)[]) => expandMacro(groups, values));
  let name = expanded.replace(/\.$/, "");
  while (name.length > NAME_OCTETS && name.includes(".")) name = name.slice(name.indexOf(".") + 1);
  return name;
}

function expandMacro(groups: (string | undefined)[], values: MacroValues): string {
  const [letter, digits = "", reverse = "", delimiters = "", literal = ""] = groups;
  return letter === undefined ? (LITERALS[literal] ?? "") : transform(letter, { digits, reverse, delimiters }, values);
}

function transform(
  letter: string,
  { digits, reverse, delimiters }: Record<"digits" | "reverse" | "delimiters", string>,
  values: MacroValues,
): string {
  const separators = delimiters === "" ? "." : delimiters;
  const parts = splitAt(valueOf(letter.toLowerCase(), values), separators);
  if (reverse !== "") parts.reverse();
  const kept = digits === "" ? parts : parts.slice(-Number(digits));
  const text = kept.join(".");
  return letter === letter.toUpperCase() ? encodeURIComponent(text).replaceAll(/[!'()*]/g, escapeOctet) : text;
}

function escapeOctet(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function splitAt(text: string, separators: string): string[] {
  const parts = [""];
  for (const character of text) {
    if (separators.includes(character)) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts;
}

function valueOf(letter: string, { sender, domain, ip, helo, validated }: MacroValues): string {
  const at = sender.lastIndexOf("@");
  switch (letter) {
    case "s":
      return sender;
    case "l":
      return sender.slice(0, at);
    case "o":
      return sender.slice(at + 1);
    case "d":
      return domain;
    case "i":
      return spell(ip);
    case "p":
      return validated;
    case "v":
      return spell(ip).length > 15 ? "ip6" : "in-addr";
    case "h":
      return helo;
    default:
      return "unknown";
  }
}

/** An IPv4 address as it is; of IPv6 its 32 nibbles, with dots between (§7.3). */
function spell(ip: string): string {
  const labels = reverseLabels(ip) ?? "";
  return labels.split(".").toReversed().join(".");
}
