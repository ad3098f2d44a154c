// The records of a domain as a fragment of a zone file.

import { formatZoneComment, formatZoneRecord } from "../../protocols/dns/zone-file.ts";
import type { Dns } from "./schema.ts";

interface Zone {
  domain: string;
  dns: typeof Dns.static;
}

/** What DNS has already stands in it as a comment. */
export function formatZone({ domain, dns }: Zone): string {
  const lines = [...dns.dkim, dns.spf, dns.dmarc].flatMap((record) => {
    const { status, found = [] } = record;
    const line = formatZoneRecord(record);
    if (status === "found") return [formatZoneComment(`published: ${line}`)];
    return [...found.map((each) => formatZoneComment(`replaces: ${each}`)), line];
  });
  return [formatZoneComment(`DNS records of ${domain} for pombo. Add them to its zone.`), ...lines].join("\n");
}
