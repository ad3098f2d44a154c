// What can be wrong with what is published, one fault a case; the finding's own step must mend it.

import type { Level } from "../../../../src/modules/doctor/finding.ts";
import type { FindingId } from "../../../../src/modules/doctor/catalog.ts";
import { BOUNCE_HOST, HOST, REVERSE, type Records, SENDER_DOMAIN } from "./world.ts";
import { SELF } from "./network.ts";

export interface RecordCase {
  id: FindingId;
  what: string;
  level: Level;
  /** Of the finding, where there are several of its id. */
  subject?: string;
  /** By name and type; none: they are not there. In this order, since a CNAME bears nothing beside it. */
  broken: Records;
}

const txt = (text: string): string => `"${text}"`;
const DMARC = `_dmarc.${SENDER_DOMAIN} TXT`;
const ELSEWHERE = "192.0.2.200";

export const HOST_CASES: RecordCase[] = [
  { id: "ptr", what: "no PTR", level: "problem", broken: { [`${REVERSE} PTR`]: [] } },
  {
    id: "ptr",
    what: "a PTR that does not lead back",
    level: "problem",
    broken: { [`${REVERSE} PTR`]: ["vps7.example.info."] },
  },
  {
    id: "ptr",
    what: "a PTR that is another name of this address",
    level: "warning",
    broken: { "vps7.example.info A": [SELF], [`${REVERSE} PTR`]: ["vps7.example.info."] },
  },
  {
    id: "ptr_generic",
    what: "the hoster's own PTR",
    level: "warning",
    broken: { "203-0-113-7.static.example.info A": [SELF], [`${REVERSE} PTR`]: ["203-0-113-7.static.example.info."] },
  },
  { id: "hostname", what: "no address", level: "problem", broken: { [`${HOST} A`]: [] } },
  {
    id: "hostname",
    what: "a CNAME",
    level: "problem",
    broken: {
      [`${HOST} A`]: [],
      [`${HOST} TXT`]: [],
      "vps7.example.info A": [SELF],
      [`${HOST} CNAME`]: ["vps7.example.info."],
    },
  },
  { id: "hostname", what: "another machine's address", level: "warning", broken: { [`${HOST} A`]: [ELSEWHERE] } },
  { id: "hostname", what: "loopback", level: "problem", broken: { [`${HOST} A`]: ["127.0.1.1"] } },
  { id: "spf", what: "no record", level: "problem", subject: `${HOST} ${SELF}`, broken: { [`${HOST} TXT`]: [] } },
  {
    id: "spf",
    what: "another address",
    level: "problem",
    subject: `${BOUNCE_HOST} ${SELF}`,
    broken: { [`${BOUNCE_HOST} TXT`]: [txt(`v=spf1 ip4:${ELSEWHERE} ~all`)] },
  },
  {
    id: "spf_record",
    what: "two records",
    level: "problem",
    subject: HOST,
    broken: { [`${HOST} TXT`]: [txt("v=spf1 a -all"), txt("v=spf1 mx -all")] },
  },
  {
    id: "spf_record",
    what: "more than ten look-ups",
    level: "problem",
    subject: HOST,
    broken: {
      [`${HOST} TXT`]: [txt(`v=spf1 ${Array.from({ length: 11 }, (_, at) => `a:a${at}.example.net`).join(" ")} -all`)],
      ...Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`a${at}.example.net A`, [ELSEWHERE]])),
    },
  },
  {
    id: "spf_record",
    what: "open to the world",
    level: "problem",
    subject: BOUNCE_HOST,
    broken: { [`${BOUNCE_HOST} TXT`]: [txt("v=spf1 +all")] },
  },
  {
    id: "spf_record",
    what: "a misspelt word",
    level: "problem",
    subject: HOST,
    broken: { [`${HOST} TXT`]: [txt(`v=spf1 ipv4:${SELF} -all`)] },
  },
  {
    id: "bounce_host",
    what: "another machine",
    level: "problem",
    broken: { "other.example.net A": [ELSEWHERE], [`${BOUNCE_HOST} MX`]: ["10 other.example.net."] },
  },
  { id: "bounce_host", what: "nothing at all", level: "problem", broken: { [`${BOUNCE_HOST} MX`]: [] } },
];

/** `dkim`: what the API says is to be published. */
export function domainCases(dkim: { name: string; value: string }[]): RecordCase[] {
  const [rsa = { name: "", value: "" }, ed25519 = rsa] = dkim;
  const strings = (text: string): string => (text.match(/.{1,250}/g) ?? []).map(txt).join(" ");
  const about = { subject: SENDER_DOMAIN };
  const cases: Omit<RecordCase, "subject">[] = [
    { id: "dkim", what: "no RSA key", level: "problem", broken: { [`${rsa.name} TXT`]: [] } },
    { id: "dkim", what: "no Ed25519 key", level: "warning", broken: { [`${ed25519.name} TXT`]: [] } },
    {
      id: "dkim",
      what: "another's key",
      level: "problem",
      broken: { [`${rsa.name} TXT`]: [strings(`${rsa.value.slice(0, 100)}${"A".repeat(40)}${rsa.value.slice(140)}`)] },
    },
    {
      id: "dkim",
      what: "t=y",
      level: "warning",
      broken: { [`${rsa.name} TXT`]: [strings(rsa.value.replace("; p=", "; t=y; p="))] },
    },
    { id: "return_path", what: "no CNAME", level: "warning", broken: { [`bounce.${SENDER_DOMAIN} CNAME`]: [] } },
    {
      id: "return_path",
      what: "another's CNAME",
      level: "warning",
      broken: { [`bounce.${SENDER_DOMAIN} CNAME`]: ["bounces.example.info."] },
    },
    { id: "dmarc", what: "no record", level: "problem", broken: { [DMARC]: [] } },
    {
      id: "dmarc",
      what: "two records",
      level: "problem",
      broken: { [DMARC]: [txt("v=DMARC1; p=none"), txt("v=DMARC1; p=reject")] },
    },
    {
      id: "dmarc",
      what: "a record that cannot be read",
      level: "problem",
      broken: { [DMARC]: [txt("v=DMARC1; p=never")] },
    },
    {
      id: "dmarc_alignment",
      what: "aspf=s",
      level: "warning",
      broken: { [DMARC]: [txt(`v=DMARC1; p=none; aspf=s; rua=mailto:dmarc@${SENDER_DOMAIN}`)] },
    },
    {
      id: "dmarc_alignment",
      what: "no DKIM key",
      level: "warning",
      broken: { [`${rsa.name} TXT`]: [], [`${ed25519.name} TXT`]: [] },
    },
    {
      id: "dmarc_alignment",
      what: "neither DKIM nor the return path",
      level: "problem",
      broken: { [`${rsa.name} TXT`]: [], [`bounce.${SENDER_DOMAIN} CNAME`]: [] },
    },
    {
      id: "dmarc_policy",
      what: "pct=",
      level: "warning",
      broken: { [DMARC]: [txt(`v=DMARC1; p=quarantine; pct=50; rua=mailto:dmarc@${SENDER_DOMAIN}`)] },
    },
    { id: "dmarc_reports", what: "nobody gets them", level: "warning", broken: { [DMARC]: [txt("v=DMARC1; p=none")] } },
    {
      id: "dmarc_reports",
      what: "somebody who did not ask for them",
      level: "warning",
      broken: { [DMARC]: [txt("v=DMARC1; p=none; rua=mailto:reports@example.info")] },
    },
    { id: "from_domain", what: "a null MX", level: "problem", broken: { [`${SENDER_DOMAIN} MX`]: ["0 ."] } },
    {
      id: "from_domain",
      what: "an MX without an address",
      level: "problem",
      broken: { [`${SENDER_DOMAIN} MX`]: [`10 gone.${SENDER_DOMAIN}.`] },
    },
    { id: "from_domain", what: "neither MX nor address", level: "problem", broken: { [`${SENDER_DOMAIN} MX`]: [] } },
  ];
  return cases.map((each) => ({ ...each, ...about }));
}
