import type { ZoneRecord } from "../../../src/sandbox/dns/server.ts";

/** What one name holds. `MX` is [preference, exchange]; a TXT list is one record's strings. */
export interface ZoneNode {
  A?: string[];
  AAAA?: string[];
  CNAME?: string;
  MX?: [preference: number, exchange: string][];
  TXT?: (string | string[])[];
  NS?: string[];
  PTR?: string[];
  /** The minimum of its SOA record, in seconds. */
  SOA?: number;
  ttlS?: number;
}

/** Names in lower case without a trailing dot. Names above a listed name exist as well, empty. */
export type Zone = Record<string, ZoneNode>;

const CNAME_LIMIT = 32;

/** Answers as an authoritative server does: CNAMEs within the zone are followed in the answer. */
export function answerFromZone(zone: Zone, asked: string, type: string): ZoneRecord[] | "no_name" {
  const records: ZoneRecord[] = [];
  let name = asked;
  for (let step = 0; step < CNAME_LIMIT; step += 1) {
    const node = zone[name];
    if (!node) {
      const isEmptyNode = Object.keys(zone).some((other) => other.endsWith(`.${name}`));
      return records.length > 0 || isEmptyNode ? records : "no_name";
    }
    if (node.CNAME === undefined || type === "CNAME") return [...records, ...recordsOf(node, name, type)];
    const ttl = node.ttlS === undefined ? {} : { ttlS: node.ttlS };
    records.push({ type: "CNAME", name, value: node.CNAME, ...ttl });
    name = node.CNAME.toLowerCase().replace(/\.$/, "");
  }
  return records;
}

function recordsOf(node: ZoneNode, name: string, type: string): ZoneRecord[] {
  const base = { name, ...(node.ttlS === undefined ? {} : { ttlS: node.ttlS }) };
  switch (type) {
    case "A":
    case "AAAA":
      return (node[type] ?? []).map((value) => ({ ...base, type, value }));
    case "NS":
    case "PTR":
      return (node[type] ?? []).map((value) => ({ ...base, type, value }));
    case "SOA":
      return node.SOA === undefined ? [] : [{ ...base, type, minimumS: node.SOA }];
    case "CNAME":
      return node.CNAME === undefined ? [] : [{ ...base, type, value: node.CNAME }];
    case "MX":
      return (node.MX ?? []).map(([preference, exchange]) => ({ ...base, type, preference, exchange }));
    case "TXT":
      return (node.TXT ?? []).map((value) => ({ ...base, type, value }));
    default:
      return [];
  }
}
