// The sandbox's DNS: every domain in the world takes its mail at the sandbox's MX, and the records of
// every registered domain are published at once, so that a verification check succeeds. Names under
// .invalid do not exist (RFC 2606), for trying what a mistyped domain does.

import { buildRecords } from "../../modules/domains/records.ts";
import type { DomainStore } from "../../modules/domains/store.ts";
import type { AnswerQuery, ZoneRecord } from "./server.ts";

export const SANDBOX_DOMAIN = "sandbox.test";
export const SANDBOX_HOST = `mail.${SANDBOX_DOMAIN}`;
export const MX_HOST = `mx.${SANDBOX_DOMAIN}`;
const LOOPBACK = "127.0.0.1";

/** Answers for the sandbox's world; `domains` is null until the instance runs. */
export function sandboxZone(domains: () => DomainStore | null): AnswerQuery {
  return (name, type) => {
    if (name === "invalid" || name.endsWith(".invalid")) return "no_name";
    const published = publishedAt(name, domains());
    if (published !== null) {
      const here = published.filter((record) => record.type === type || record.type === "CNAME");
      return here.length > 0 && here[0]?.type === "CNAME" && type === "A"
        ? [...here, { name: SANDBOX_HOST, type: "A", value: LOOPBACK }]
        : here;
    }
    if (type === "MX")
      return name.endsWith(SANDBOX_DOMAIN) && name !== SANDBOX_DOMAIN
        ? []
        : [{ type, preference: 10, exchange: MX_HOST }];
    return type === "A" ? [{ type, value: LOOPBACK }] : [];
  };
}

/** The records of a registered domain at this name; null when no domain has one there. */
function publishedAt(name: string, domains: DomainStore | null): ZoneRecord[] | null {
  if (domains === null) return null;
  for (let at = name.indexOf("."); at > 0; at = name.indexOf(".", at + 1)) {
    // Of several workspaces with the same domain, the one that sends from it, else the first.
    const holders = domains.listByName(name.slice(at + 1));
    const domain = holders.find((row) => row.status === "verified") ?? holders[0];
    if (domain === undefined) continue;
    const records = buildRecords(domain, domains.listKeys(domain.id), { bounceHost: SANDBOX_HOST, dmarcRua: null });
    const all = [...records.dkim, records.spf, records.dmarc].filter((record) => record.name === name);
    if (all.length > 0) return all.map(({ type, value }) => ({ type, value }));
  }
  return null;
}
