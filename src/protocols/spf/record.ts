/**
 * An SPF record as terms (RFC 7208 §4.6.1, §12). A fault anywhere makes the whole record a permanent error, before any
 * of it is evaluated. Pure.
 */
import { isIPv4, isIPv6 } from "node:net";
import { isMacroString } from "./macros.ts";

export type Qualifier = "+" | "-" | "~" | "?";

/** `text` is the term as it stands in the record. */
export type Mechanism = { qualifier: Qualifier; text: string } & (
  | { name: "all" }
  | { name: "include" | "exists"; domain: string }
  /** `domain` null: the domain that is evaluated. */
  | { name: "a" | "mx"; domain: string | null; bits4: number; bits6: number }
  | { name: "ptr"; domain: string | null }
  | { name: "ip4" | "ip6"; range: string }
);

export interface SpfRecord {
  mechanisms: Mechanism[];
  /** Null: there is none. */
  redirect: string | null;
}

const VERSION = /^v=spf1( |$)/i;

/** Those of a name's TXT records that are SPF records (§4.5). */
export function selectRecords(texts: readonly string[]): string[] {
  return texts.filter((text) => VERSION.test(text));
}

/** The record, or a sentence with its fault. */
export function parseRecord(text: string): SpfRecord | string {
  const terms = text.split(" ").slice(1);
  const record: SpfRecord = { mechanisms: [], redirect: null };
  let hasExplanation = false;
  for (const term of terms) {
    if (term === "") continue;
    const [, name, value = ""] = /^([a-z][a-z0-9._-]*)=(.*)$/i.exec(term) ?? [];
    if (name === undefined) {
      const mechanism = parseMechanism(term);
      if (typeof mechanism === "string") return mechanism;
      record.mechanisms.push(mechanism);
      continue;
    }
    const kind = name.toLowerCase();
    if (kind === "redirect") {
      if (record.redirect !== null) return "it has two redirect= (§6)";
      if (!isDomainSpec(value)) return `“${term}” names no domain`;
      record.redirect = value;
    } else if (kind === "exp") {
      if (hasExplanation) return "it has two exp= (§6)";
      if (!isDomainSpec(value)) return `“${term}” names no domain`;
      hasExplanation = true;
    } else if (!isMacroString(value)) return `“${term}” is no modifier`;
  }
  return record;
}

function parseMechanism(text: string): Mechanism | string {
  const [, sign = "", rawName = "", rest = ""] = /^([+\-~?]?)([a-z][a-z0-9._-]*)(.*)$/i.exec(text) ?? [];
  const qualifier = (sign === "" ? "+" : sign) as Qualifier;
  const bad = `“${text}” is no mechanism`;
  const name = rawName.toLowerCase();
  switch (name) {
    case "all":
      return rest === "" ? { name, qualifier, text } : bad;
    case "include":
    case "exists": {
      const domain = rest.slice(1);
      return rest.startsWith(":") && isDomainSpec(domain) ? { name, qualifier, text, domain } : bad;
    }
    case "a":
    case "mx": {
      const place = parsePlace(rest);
      return place === null ? bad : { name, qualifier, text, ...place };
    }
    case "ptr": {
      if (rest === "") return { name, qualifier, text, domain: null };
      const domain = rest.slice(1);
      return rest.startsWith(":") && isDomainSpec(domain) ? { name, qualifier, text, domain } : bad;
    }
    case "ip4":
    case "ip6":
      return rest.startsWith(":") && isRange(rest.slice(1), name)
        ? { name, qualifier, text, range: rest.slice(1) }
        : bad;
    default:
      return bad;
  }
}

const BITS4 = /^(?:0|[1-9]\d?)$/;
const BITS6 = /^(?:0|[1-9]\d{0,2})$/;

/** [":" domain-spec] ["/" bits] ["//" bits] */
function parsePlace(rest: string): { domain: string | null; bits4: number; bits6: number } | null {
  const [, front = "", four, six] = /^(.*?)(?:(?<!\/)\/(?!\/)(\d*))?(?:\/\/(\d*))?$/.exec(rest) ?? [];
  if (four !== undefined && (!BITS4.test(four) || Number(four) > 32)) return null;
  if (six !== undefined && (!BITS6.test(six) || Number(six) > 128)) return null;
  if (front !== "" && (!front.startsWith(":") || !isDomainSpec(front.slice(1)))) return null;
  return { domain: front === "" ? null : front.slice(1), bits4: Number(four ?? 32), bits6: Number(six ?? 128) };
}

function isRange(text: string, name: "ip4" | "ip6"): boolean {
  const [address = "", bits, ...more] = text.split("/");
  if (more.length > 0) return false;
  const [isAddress, pattern, longest] = name === "ip4" ? [isIPv4(address), BITS4, 32] : [isIPv6(address), BITS6, 128];
  return isAddress && !address.includes("%") && (bits === undefined || (pattern.test(bits) && Number(bits) <= longest));
}

/** §7.1: it ends with a macro, or with a label that is not of digits only. */
const DOMAIN_END = /(?:%\{[^}]*\}|\.(?=[a-z0-9-]*[a-z-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.?)$/i;

function isDomainSpec(text: string): boolean {
  return text !== "" && isMacroString(text) && DOMAIN_END.test(text);
}
