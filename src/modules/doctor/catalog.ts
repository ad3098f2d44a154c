// Everything that the doctor looks at, by id and group. docs/doctor.md explains each; a test compares the two.

export const GROUPS = [
  "resolver",
  "address",
  "name",
  "spf",
  "bounce",
  "reputation",
  "domains",
  "providers",
  "machine",
  "sms",
] as const;
export type Group = (typeof GROUPS)[number];

const CATALOG = {
  resolver_answers: "resolver",
  resolver_honest: "resolver",
  resolver_tcp: "resolver",
  resolver_dnssec: "resolver",
  resolver_txt: "resolver",
  address: "address",
  port25_out: "address",
  egress: "address",
  ports_in: "address",
  ptr: "name",
  ptr_generic: "name",
  hostname: "name",
  spf: "spf",
  spf_record: "spf",
  bounce_host: "bounce",
  bounce_port: "bounce",
  bounce_letter: "bounce",
  blocklist: "reputation",
  blocklist_name: "reputation",
  dkim: "domains",
  return_path: "domains",
  dmarc: "domains",
  dmarc_alignment: "domains",
  dmarc_policy: "domains",
  dmarc_reports: "domains",
  from_domain: "domains",
  domain_blocklist: "domains",
  domain_age: "domains",
  provider_delivery: "providers",
  provider_words: "providers",
  provider_volume: "providers",
  provider_rules: "providers",
  complaints: "providers",
  clock: "machine",
  memory: "machine",
  health: "machine",
  disk: "machine",
  disk_speed: "machine",
  backup: "machine",
  descriptors: "machine",
  certificate: "machine",
  update: "machine",
  recovery_key: "machine",
  sms_link: "sms",
  sms_senders: "sms",
  sms_receipts: "sms",
  sms_credits: "sms",
} as const satisfies Record<string, Group>;

export type FindingId = keyof typeof CATALOG;

export const FINDING_IDS = Object.keys(CATALOG) as FindingId[];

export function isFindingId(text: string): text is FindingId {
  return Object.hasOwn(CATALOG, text);
}

export function groupOf(id: FindingId): Group {
  return CATALOG[id];
}

/** Its subject is a sending domain, of which a run may look at a part only. */
export function isAboutDomain(id: FindingId): boolean {
  return groupOf(id) === "domains" || id === "resolver_txt";
}

/** The ids that a word of `--only` means: an id, or all of a group; null: neither. */
export function findIds(word: string): FindingId[] | null {
  if (isFindingId(word)) return [word];
  const own = FINDING_IDS.filter((id) => groupOf(id) === word);
  return own.length > 0 ? own : null;
}
