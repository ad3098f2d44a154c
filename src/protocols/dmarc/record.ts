/**
 * A DMARC policy record as its tags (RFC 9989 §4.7, which replaces RFC 7489: `pct`, `rf` and `ri` are gone, `np`, `psd` and
 * `t` are new). Tolerant where receivers must be: a tag that nobody knows is passed over. Pure.
 */

export type DmarcPolicy = "none" | "quarantine" | "reject";
export type Alignment = "relaxed" | "strict";

export interface DmarcRecord {
  policy: DmarcPolicy;
  /** For names under the domain; default: `policy`. */
  subdomainPolicy: DmarcPolicy;
  dkim: Alignment;
  spf: Alignment;
  /** t=y: the owner only tests, and receivers apply the next weaker policy. */
  isTest: boolean;
  /** Where aggregate reports go, URIs as they stand there. */
  reportTo: string[];
  /** Tags that the older standard knew and no receiver has to read any more. */
  obsolete: string[];
}

/** The one of a name's TXT records that holds (§4.10.1); several count as none. `fault` ends "The record …". */
export type DmarcReading =
  | { kind: "record"; record: DmarcRecord; text: string }
  | { kind: "none" }
  | { kind: "several"; texts: string[] }
  | { kind: "faulty"; text: string; fault: string };

const VERSION = /^v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/;
const POLICIES: readonly string[] = ["none", "quarantine", "reject"] satisfies DmarcPolicy[];
const OBSOLETE = ["pct", "rf", "ri"];

export function readDmarc(texts: readonly string[]): DmarcReading {
  const records = texts.filter((text) => VERSION.test(text));
  const [text] = records;
  if (text === undefined) {
    const almost = texts.find((each) => /^[\s"“”]*v\s*=\s*DMARC1/i.test(each));
    return almost === undefined
      ? { kind: "none" }
      : { kind: "faulty", text: almost, fault: "does not begin with v=DMARC1 exactly, without quotation marks" };
  }
  if (records.length > 1) return { kind: "several", texts: records };
  const record = parseRecord(text);
  return typeof record === "string" ? { kind: "faulty", text, fault: record } : { kind: "record", record, text };
}

function parseRecord(text: string): DmarcRecord | string {
  const tags = new Map<string, string>();
  for (const part of text.split(";")) {
    if (part.trim() === "") continue;
    const [, name, value = ""] = /^\s*([A-Za-z0-9_]+)\s*=\s*(.*?)\s*$/s.exec(part) ?? [];
    if (name === undefined) return `holds “${part.trim()}”, which is no tag`;
    const key = name.toLowerCase();
    if (tags.has(key)) return `has ${key}= twice`;
    tags.set(key, value);
  }
  const reportTo = (tags.get("rua") ?? "")
    .split(",")
    .map((uri) => uri.trim())
    .filter((uri) => uri !== "");
  const badUri = reportTo.find((uri) => !/^[a-z][a-z0-9+.-]*:[^\s;,!]+(?:![0-9]+[kmgt]?)?$/i.test(uri));
  if (badUri !== undefined) return `has “${badUri}” in rua=, which is no address of the form mailto:name@example.org`;
  const policy = tags.get("p")?.toLowerCase();
  // §4.7: without a valid p= and with somewhere to report to, it is as p=none; else it is not applied.
  if (policy === undefined || !POLICIES.includes(policy)) return `has no valid p= (none, quarantine or reject)`;
  const subdomainPolicy = tags.get("sp")?.toLowerCase() ?? policy;
  if (!POLICIES.includes(subdomainPolicy)) return `has no valid sp= (none, quarantine or reject)`;
  const [dkim, spf] = [readAlignment(tags.get("adkim")), readAlignment(tags.get("aspf"))];
  if (dkim === null || spf === null) return "has another adkim= or aspf= than r (relaxed) or s (strict)";
  return {
    policy: policy as DmarcPolicy,
    subdomainPolicy: subdomainPolicy as DmarcPolicy,
    dkim,
    spf,
    isTest: tags.get("t")?.toLowerCase() === "y",
    reportTo,
    obsolete: OBSOLETE.filter((tag) => tags.has(tag)),
  };
}

function readAlignment(value: string | undefined): Alignment | null {
  switch (value?.toLowerCase()) {
    case undefined:
    case "r":
      return "relaxed";
    case "s":
      return "strict";
    default:
      return null;
  }
}

/** The domain that a `mailto:` URI of rua= reports to; null: it is none. */
export function reportDomain(uri: string): string | null {
  return /^mailto:[^@]+@([^!?]+)/i.exec(uri)?.[1]?.toLowerCase() ?? null;
}
