// The names of a run, held in one zone object that pombo, OpenDKIM and the run's own DKIM check all
// read: served over loopback by the project's small DNS server, and looked up directly by mailauth.

import { renameSync, writeFileSync } from "node:fs";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { startSandboxDns } from "../../../src/sandbox/dns/server.ts";
import { answerFromZone, type Zone } from "../fakes/zone.ts";

/** A record as the API's create-domain answer shows it. */
export interface DnsRecord {
  type: string;
  name: string;
  value: string;
}

/** Serves `zone`, which may change meanwhile, on a free port of 127.0.0.1. */
export function serveZone(zone: Zone): ReturnType<typeof startSandboxDns> {
  return startSandboxDns({ answer: (name, type) => answerFromZone(zone, name, type) });
}

/** Publishes TXT and CNAME records, as the owner of a domain would. @throws Error on another type. */
export function publish(zone: Zone, records: DnsRecord[]): void {
  for (const record of records) {
    const name = record.name.toLowerCase().replace(/\.$/, "");
    if (record.type === "TXT") zone[name] = { TXT: [record.value] };
    else if (record.type === "CNAME") zone[name] = { CNAME: record.value };
    else throw new Error(`a ${record.type} record for ${record.name} was not expected`);
  }
}

/** The zone, whose DKIM keys are also in `file`, one a line, for OpenDKIM's TestPublicKeys. */
export function withKeyFile(zone: Zone, file: string): Zone {
  const write = (): void => {
    const keys = Object.entries(zone).filter(([name]) => name.includes("._domainkey."));
    const lines = keys.flatMap(([name, { TXT = [] }]) => TXT.map((text) => `${name} ${[text].flat().join("")}\n`));
    // Renamed, so that a reader finds a whole file at any time.
    writeFileSync(`${file}.new`, lines.join(""));
    renameSync(`${file}.new`, file);
  };
  write();
  return new Proxy(zone, {
    set(target, name, node) {
      Reflect.set(target, name, node);
      write();
      return true;
    },
  });
}

export interface CheckedSignature {
  domain: string;
  algorithm: string;
  /** `pass`, or what mailauth says instead, with its reason. */
  result: string;
}

/** mailauth's strict verdict on each signature of a message with CRLF line ends; keys come from `zone`. */
export async function checkSignatures(message: Buffer, zone: Zone): Promise<CheckedSignature[]> {
  const resolver = async (name: string, type: string): Promise<string[][]> => {
    const found = answerFromZone(zone, name.toLowerCase(), type);
    const records = found === "no_name" ? [] : found.filter((record) => record.type === "TXT");
    if (records.length === 0) throw Object.assign(new Error(`no ${type} at ${name}`), { code: "ENOTFOUND" });
    return records.map((record) => [record.value].flat());
  };
  const verdict = await dkimVerify(message, { resolver, strict: true });
  return verdict.results.map((signature) => ({
    domain: signature.signingDomain ?? "",
    algorithm: signature.algo ?? "",
    result: [signature.status.result, signature.status.result === "pass" ? "" : signature.status.comment]
      .filter(Boolean)
      .join(": "),
  }));
}
