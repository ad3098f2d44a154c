import type { Lookup, MxRecord, Resolver } from "../../../src/protocols/dns/client.ts";
import { answerFromZone } from "./zone.ts";
import type { Zone } from "./zone.ts";

export type { Zone } from "./zone.ts";

export interface FakeResolver extends Resolver {
  zone: Zone;
  /** Names whose lookups fail, with the reason; "MX name" for one type alone. */
  failures: Record<string, string>;
  /** Every lookup so far, like "MX example.com". */
  lookups: string[];
  fresh(preferredServer: number): Resolver;
}

const SERVER = "192.0.2.53:53";
const TTL_S = 300;

/** A resolver over a zone object, no sockets. The zone and the failures may change at any time. */
export function createFakeResolver(zone: Zone = {}, failures: Record<string, string> = {}): FakeResolver {
  const lookups: string[] = [];
  const lookUp = async <T>(type: string, input: string, read: (record: unknown) => T): Promise<Lookup<T>> => {
    const name = input.toLowerCase().replace(/\.$/, "");
    lookups.push(`${type} ${name}`);
    const reason = fake.failures[`${type} ${name}`] ?? fake.failures[name];
    if (reason !== undefined) return { kind: "failed", reason: `${type} ${name}: ${reason}` };
    const answer = answerFromZone(fake.zone, name, type);
    if (answer === "no_name") return { kind: "no_name", server: SERVER };
    const records = answer.filter((record) => record.type === type);
    const last = answer.at(-1);
    if (records.length > 0) {
      return { kind: "found", records: records.map(read), ttlS: TTL_S, server: SERVER };
    }
    // A CNAME to a name outside the zone.
    if (last?.type === "CNAME" && !(bare(last.value) in fake.zone)) return { kind: "no_name", server: SERVER };
    return { kind: "no_data", server: SERVER };
  };
  const asString = (record: unknown) => {
    const { value } = record as { value: string | string[] };
    return Array.isArray(value) ? value.join("") : value;
  };
  const asMx = (record: unknown): MxRecord => {
    const { preference, exchange } = record as MxRecord;
    return { preference, exchange: bare(exchange) };
  };
  const resolver: Resolver = {
    mx: (name) => lookUp("MX", name, asMx),
    a: (name) => lookUp("A", name, asString),
    aaaa: (name) => lookUp("AAAA", name, asString),
    txt: (name) => lookUp("TXT", name, asString),
    ns: (name) => lookUp("NS", name, (record) => bare(asString(record))),
    ptr: (name) => lookUp("PTR", name, (record) => bare(asString(record))),
    caa: (name) => lookUp("CAA", name, asString),
    negativeTtl: (name) => lookUp("SOA", name, (record) => String((record as { minimumS: number }).minimumS)),
    cname: (name) => lookUp("CNAME", name, (record) => bare(asString(record))),
  };
  const fake: FakeResolver = { ...resolver, zone, failures, lookups, fresh: () => resolver };
  return fake;
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
