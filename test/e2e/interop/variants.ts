// The MX as other people run theirs: the same Postfix at further addresses of this machine, each with
// other demands. One requires TLS, others offer less than usual, are behind the times, count
// connections, or look strangers over first (postscreen, whose tests of the protocol a hasty client
// fails). Each has a domain and a mail host of its own; all mail goes to one maildir per variant.

import type { Zone } from "../../support/fakes/zone.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import { EXPECTED_VERDICTS, type Sending, waitForStatus } from "./delivery.ts";
import { MX_DOMAIN } from "./mx.ts";
import { comparableText, openDkimVerdicts, parse, tlsOf } from "./received.ts";

interface Variant {
  name: string;
  /** Of the loopback network: pombo sends to one port wherever it sends. */
  address: string;
  /** The recipient's local part; `user` unless told. */
  user?: string;
  /** The rest of the service's line in master.cf. */
  service: string;
  /** What the hop into the MX says of TLS: a version, or null for clear text; undefined: whatever it is. */
  tls?: string | null;
  /** Emails sent at once; 1 unless told. */
  count?: number;
  /** Attempts that delivery takes; 1 unless told. */
  attempts?: number;
}

const SMTPD = "inet n - n - - smtpd";
const CLEAR = "-o smtpd_tls_security_level=none";

/** Offers no SMTPUTF8, which some recipients need. */
const ASCII_ONLY = "offers-nothing";

const VARIANTS: Variant[] = [
  // RFC 6531: a recipient beyond ASCII.
  { name: "smtputf8", address: "127.0.0.9", user: "josé", service: SMTPD },
  {
    name: "tls-required",
    address: "127.0.0.2",
    service: `${SMTPD} -o smtpd_tls_security_level=encrypt`,
    tls: "TLSv1.3",
  },
  { name: "tls-1-2-only", address: "127.0.0.3", service: `${SMTPD} -o smtpd_tls_protocols=TLSv1.2`, tls: "TLSv1.2" },
  {
    name: "no-8bitmime",
    address: "127.0.0.4",
    service: `${SMTPD} ${CLEAR} -o smtpd_discard_ehlo_keywords=8bitmime`,
    tls: null,
  },
  {
    name: "no-pipelining",
    address: "127.0.0.5",
    service: `${SMTPD} -o smtpd_discard_ehlo_keywords=pipelining`,
    count: 3,
  },
  {
    name: ASCII_ONLY,
    address: "127.0.0.6",
    service: `${SMTPD} -o smtpd_discard_ehlo_keywords=8bitmime,auth,chunking,dsn,enhancedstatuscodes,etrn,pipelining,size,smtputf8,starttls,vrfy`,
    tls: null,
    count: 3,
  },
  // In clear: postscreen hands over connections under TLS through a daemon of its own, which is not what is tried.
  {
    name: "postscreen",
    address: "127.0.0.7",
    service: `inet n - n - 1 postscreen ${CLEAR} -o postscreen_greet_wait=1s -o postscreen_greet_action=enforce -o postscreen_pipelining_enable=yes -o postscreen_pipelining_action=enforce -o postscreen_non_smtp_command_enable=yes -o postscreen_non_smtp_command_action=enforce -o postscreen_bare_newline_enable=yes -o postscreen_bare_newline_action=enforce`,
    tls: null,
    // Who passes its tests is asked to come back, once.
    attempts: 2,
  },
];

/** Takes nothing larger than this, and says so. */
const SMALL = { name: "small", address: "127.0.0.8", bytes: 20_000 };

export const VARIANT_USERS = VARIANTS.map(({ name, user }) => ({
  address: addressAt(name, user),
  folder: `variant-${name}`,
}));
export const VARIANT_DOMAINS = [...VARIANTS, SMALL].map(({ name }) => domainOf(name));

export function variantZone(): Zone {
  const zone: Zone = {};
  for (const { name, address } of [...VARIANTS, SMALL]) {
    zone[domainOf(name)] = { MX: [[10, `mx.${domainOf(name)}`]] };
    zone[`mx.${domainOf(name)}`] = { A: [address] };
  }
  return zone;
}

/** Lines of master.cf. */
export function variantServices(port: number): string {
  const lines = VARIANTS.map(({ address, service }) => `${address}:${port} ${service}\n`);
  lines.push(`${SMALL.address}:${port} ${SMTPD} -o message_size_limit=${SMALL.bytes}\n`);
  // What postscreen hands those on to who pass.
  return `${lines.join("")}smtpd pass - - n - - smtpd ${CLEAR}\ndnsblog unix - - n - 0 dnsblog\n`;
}

export async function checkVariants(options: Sending & { zone: Zone }): Promise<void> {
  const { checks } = options;
  const sent = new Map<Variant, string[]>();
  for (const variant of VARIANTS) {
    await checks.group(`${variant.name}: accepted`, async () => {
      sent.set(variant, await send(options, addressAt(variant.name, variant.user), variant.count ?? 1));
    });
  }
  for (const [variant, ids] of sent) {
    await checks.group(variant.name, () => checkVariant({ ...options, variant, ids }));
  }
  await checks.group("size limit", () => checkTooLarge(options));
  await checks.group("no SMTPUTF8", () => checkAsciiOnly(options));
}

const TEXT = "Olá Conceição,\n\n.\na sua encomenda nº 1234 foi confirmada.\n";

async function send({ api, sender }: Sending, to: string, count: number): Promise<string[]> {
  const email = { from: sender, to, subject: "Olá", text: TEXT };
  const answers = await Promise.all(
    Array.from({ length: count }, () => api.expect(202, "POST", "/api/v1/emails", email)),
  );
  return answers.map((answer) => answer.data.id);
}

async function checkVariant(options: Sending & { zone: Zone; variant: Variant; ids: string[] }): Promise<void> {
  const { api, mx, zone, checks, sender, variant, ids } = options;
  const { name, attempts = 1 } = variant;
  for (const id of ids) {
    const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
    const expected = { status: "delivered", possibleDuplicate: false };
    checks.equal(
      `${name}: delivered`,
      { status: record.status, possibleDuplicate: record.possibleDuplicate },
      expected,
    );
    checks.claim(
      `${name}: in ${attempts === 1 ? "the first attempt" : `attempt ${attempts}`}`,
      record.attempts === attempts,
      () => record,
    );
  }
  const messages = await mx.allMailOf(`variant-${name}`, ids.length);
  checks.equal(`${name}: as many messages as emails`, messages.length, ids.length);
  for (const message of messages) {
    if (variant.tls !== undefined) checks.equal(`${name}: TLS`, tlsOf(message), variant.tls);
    const domain = sender.split("@")[1] ?? "";
    const byOpenDkim = openDkimVerdicts(message, domain).map((verdict) => verdict.join(" "));
    checks.equal(`${name}: OpenDKIM says pass`, byOpenDkim.toSorted(), EXPECTED_VERDICTS);
    const byMailauth = (await checkSignatures(message, zone)).map(({ algorithm, result }) => `${algorithm} ${result}`);
    checks.equal(`${name}: mailauth says pass`, byMailauth.toSorted(), EXPECTED_VERDICTS);
    const mail = await parse(message);
    checks.equal(`${name}: text`, comparableText(mail.text ?? ""), comparableText(TEXT));
  }
}

/** RFC 1870: the announced limit is believed, and nothing is sent for nothing. */
async function checkTooLarge({ api, checks, sender, mx }: Sending): Promise<void> {
  const email = {
    from: sender,
    to: addressAt(SMALL.name),
    subject: "Grande",
    text: `${"x".repeat(70)}\n`.repeat(500),
  };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
  const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
  checks.equal(
    "size limit: bounced",
    [record.status, record.bounce?.category, record.bounce?.enhancedCode],
    ["bounced", "policy", "5.3.4"],
  );
  checks.claim("size limit: told with the numbers", record.failedReason.includes(String(SMALL.bytes)), () => record);
  checks.claim("size limit: nothing was sent", !mx.postfix.log().includes(`to=<${email.to}>`), () => mx.postfix.log());
  const again = await api.call("POST", "/api/v1/emails", { ...email, text: TEXT });
  checks.equal("size limit: not suppressed", again.status, 202);
}

/** R21: said before anything is sent, and not held against the address. */
async function checkAsciiOnly(options: Sending): Promise<void> {
  const { api, checks } = options;
  const [id = ""] = await send(options, addressAt(ASCII_ONLY, "josé"), 1);
  const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
  checks.equal(
    "no SMTPUTF8: bounced",
    [record.status, record.bounce?.category, record.bounce?.enhancedCode],
    ["bounced", "protocol", "5.6.7"],
  );
  checks.equal("no SMTPUTF8: not suppressed", (await send(options, addressAt(ASCII_ONLY, "josé"), 1)).length, 1);
}

function addressAt(name: string, user = "user"): string {
  return `${user}@${domainOf(name)}`;
}

function domainOf(name: string): string {
  return `${name}.${MX_DOMAIN}`;
}
