/**
 * The DNS records that the owner of a sending domain publishes: two DKIM keys, one
 * CNAME that hands the return path to the operator, and a DMARC policy. Pure.
 */
import { dkimRecordValue } from "../../protocols/dkim/record.ts";

/** RSA-2048: the key that decides whether a domain is verified. */
export const RSA_SELECTOR = "pombo1";
export const ED25519_SELECTOR = "pombo2";
/** The label under the sending domain that return paths live under. */
const BOUNCE_LABEL = "bounce";

/** `name` is the full host name without a trailing dot. */
export interface DnsRecord {
  type: "TXT" | "CNAME";
  name: string;
  value: string;
}

export interface DomainRecords {
  dkim: [rsa: DnsRecord, ed25519: DnsRecord];
  /** A CNAME: the bounce host's own zone holds the MX and SPF, so that one record gives both. */
  spf: DnsRecord;
  dmarc: DnsRecord;
}

export interface RecordsSource {
  /** Lower-case A-labels. */
  domain: string;
  /** TXT values as `dkimRecordValue` makes them. */
  dkim: { rsa: string; ed25519: string };
  /** The operator's host for returned mail. */
  bounceHost: string;
  /** Where DMARC reports go, an address with or without `mailto:`; null for no reports. */
  dmarcRua: string | null;
}

export function domainRecords({ domain, dkim, bounceHost, dmarcRua }: RecordsSource): DomainRecords {
  const reports = dmarcRua === null ? "" : `; rua=${dmarcRua.startsWith("mailto:") ? "" : "mailto:"}${dmarcRua}`;
  return {
    dkim: [
      { type: "TXT", name: `${RSA_SELECTOR}._domainkey.${domain}`, value: dkim.rsa },
      { type: "TXT", name: `${ED25519_SELECTOR}._domainkey.${domain}`, value: dkim.ed25519 },
    ],
    spf: { type: "CNAME", name: `${BOUNCE_LABEL}.${domain}`, value: bounceHost },
    // p=none changes nothing for the owner's other mail; large receivers ask for a policy to exist.
    dmarc: { type: "TXT", name: `_dmarc.${domain}`, value: `v=DMARC1; p=none${reports}` },
  };
}

/** The records that the owner of a registered domain publishes. */
export function buildRecords(
  domain: { name: string },
  keys: readonly (Parameters<typeof dkimRecordValue>[0] & { selector: string })[],
  settings: { bounceHost: string; dmarcRua: string | null },
): DomainRecords {
  const valueOf = (selector: string) => {
    const key = keys.find((row) => row.selector === selector);
    if (key === undefined) throw new Error(`the domain ${domain.name} has no key ${selector}`);
    return dkimRecordValue(key);
  };
  const dkim = { rsa: valueOf(RSA_SELECTOR), ed25519: valueOf(ED25519_SELECTOR) };
  return domainRecords({ domain: domain.name, dkim, ...settings });
}
