// What reports by mail may do towards the sending block. Their token proves that the sender has seen the email,
// which every recipient has: forged ones must not block a workspace, and those of a listed provider must.

import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { signMessage } from "../../../src/protocols/dkim/sign.ts";
import { attempted, NOON, recordOf, startAtNoon } from "../../support/api/one-email.ts";
import type { HeldInstance } from "../../support/api/kit.ts";
import { domainKeys } from "../../support/dkim/support.ts";
import type { Instance } from "../../support/fakes/instance.ts";
import { findProvider } from "../../../src/modules/inbound-mail/feedback-provider.ts";
import type { InboundMessage } from "../../../src/modules/inbound-mail/inbound-message.ts";
import { KnownReporters } from "../../../src/modules/inbound-mail/server/known-reporters.ts";
import {
  bounce,
  complaint,
  complaintAbout,
  ratesOf,
  suppressedIn,
  toEmail,
  toLoop,
  traceOf,
} from "../../support/inbound/messages.ts";

setDefaultTimeout(30_000);

const YAHOO = "feedback@arf.mail.yahoo.com";
const DAY_MS = 24 * 60 * 60_000;

/** Domains whose mail the fake server takes under the names of these hosts. */
async function startWith(mx: Record<string, string>): Promise<HeldInstance> {
  const held = await startAtNoon();
  const { zone } = held.pombo.dns;
  for (const [domain, host] of Object.entries(mx)) {
    zone[domain] = { MX: [[10, host]] };
    zone[host] = { A: ["127.0.0.1"] };
  }
  return held;
}

const startYahoo = () => startWith({ "yahoo.com": "mta5.am0.yahoodns.net" });

async function sendTo(pombo: Instance, domain: string, count: number, first = 0): Promise<string[]> {
  const ids: string[] = [];
  for (let n = first; n < first + count; n++) ids.push(await attempted(pombo, { to: `user${n}@${domain}` }));
  return ids;
}

async function isBlocked({ workspace, ...pombo }: Instance): Promise<boolean> {
  const { status, body } = await workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  if (status === 403) expect(body.errors[0].code).toBe("SENDING_BLOCKED");
  await pombo.app.worker.idle();
  return status === 403;
}

interface SignedBy {
  /** `d=`, under which the key is published. */
  domain?: string;
  from?: string;
  /** What becomes of the signed report on its way. */
  change?: (text: string) => string;
}

const keys = domainKeys("any");

/** A report about the email, signed by the provider unless told otherwise. */
async function signedAbout(pombo: Instance, id: string, by: SignedBy = {}): Promise<InboundMessage> {
  const { domain = "arf.mail.yahoo.com", from = YAHOO, change = (text: string) => text } = by;
  const { keys: made, records } = await keys;
  const value = records["pombo1._domainkey.any"] ?? [];
  pombo.dns.zone[`pombo1._domainkey.${domain}`] = { TXT: value };
  const plain = Buffer.from(complaint({ copy: [traceOf(pombo, id)] })).toString("latin1");
  const report = plain.replace("From: feedback@provider.test", `From: Feedback <${from}>`);
  const head = await signMessage(Buffer.from(report, "latin1"), [{ ...made[0], domain }], NOON);
  const signed = Buffer.from(head).toString("latin1") + report;
  return toLoop(Buffer.from(change(signed), "latin1"), { envelopeFrom: from });
}

/** Whether each report that was taken was the listed provider's own. */
function byProvider({ events }: Instance): unknown[] {
  return events.filter(({ name }) => name === "report.processed").map(({ fields }) => fields["provider"]);
}

test("five forged complaints about recipients of one domain block nobody, and the operator is told", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const ids = await sendTo(pombo, "example.com", 5);
  // Another host each, whatever it calls itself.
  for (const [n, id] of ids.entries()) {
    const clientAddress = `192.0.2.${n}`;
    await pombo.app.receive({ ...complaintAbout(pombo, id), clientAddress, helo: `mx${n}.provider.test` });
  }
  expect(await isBlocked(pombo)).toBe(false);
  expect(Object.keys(await suppressedIn(pombo))).toHaveLength(5);
  for (const id of ids) expect((await recordOf(pombo, id)).status).toBe("complained");
  expect(ratesOf(pombo)).toEqual({ answered: 6, complaints: 2, capped_complaints: 3 });
  const reason =
    "5 of 5 emails answered in the last 7 days were complained about (100.00 %; the limit is 0.3 %); " +
    "5 complaints came by mail about recipients at example.com, and 2 of a domain count";
  expect(pombo.events.filter(({ name }) => name === "workspace.reports_capped").map(({ fields }) => fields)).toEqual([
    { workspace: pombo.workspace.id, reason },
  ]);
  const { body } = await pombo.operator.call("GET", "/api/v1/operator/status");
  expect(body.data.issues).toEqual([
    { component: "reports", reason: expect.stringContaining(reason), since: new Date(NOON).toISOString() },
  ]);
  // It passes a day after, and nobody outside is told.
  const ready = await fetch(`${pombo.app.url}/ready`);
  expect([ready.status, ((await ready.json()) as { issues: unknown[] }).issues]).toEqual([200, []]);
  await held.advance(DAY_MS + 1);
  expect((await pombo.operator.call("GET", "/api/v1/operator/status")).body.data.issues).toEqual([]);
});

test("twenty forged hard bounces of one domain's recipients block nobody, under its subdomains neither", async () => {
  const names = ["example.com", "a.example.com", "b.example.com", "c.example.com"];
  await using held = await startWith(Object.fromEntries(names.map((name) => [name, "mx.example.com"])));
  const { pombo } = held;
  for (const name of names) for (const id of await sendTo(pombo, name, 5)) await pombo.app.receive(bounce(id));
  expect(ratesOf(pombo)).toEqual({ answered: 20, hard_bounces: 5, capped_hard_bounces: 15 });
  expect(await isBlocked(pombo)).toBe(false);
});

test("five complaints that a listed provider has signed block", async () => {
  await using held = await startYahoo();
  const { pombo } = held;
  const ids = await sendTo(pombo, "yahoo.com", 5);
  for (const id of ids.slice(0, 4)) await pombo.app.receive(await signedAbout(pombo, id));
  expect(await isBlocked(pombo)).toBe(false);
  const [last = ""] = ids.slice(4);
  const { bytes } = await signedAbout(pombo, last);
  await pombo.app.receive(toEmail(last, bytes, { envelopeFrom: YAHOO }));
  expect(await isBlocked(pombo)).toBe(true);
  expect(ratesOf(pombo)).toEqual({ answered: 6, complaints: 5 });
  expect(byProvider(pombo)).toEqual(ids.map(() => true));
});

test("a domain that its owner has hosted by a listed provider is no provider's: he makes as many mailboxes as he likes", async () => {
  await using held = await startWith({ "evil.test": "mx-biz.mail.am0.yahoodns.net" });
  const { pombo } = held;
  for (const id of await sendTo(pombo, "evil.test", 5)) await pombo.app.receive(await signedAbout(pombo, id));
  expect(ratesOf(pombo)).toEqual({ answered: 5, complaints: 2, capped_complaints: 3 });
  expect(await isBlocked(pombo)).toBe(false);
});

test.each([
  ["", ["maria", "maria", "maria", "maria", "maria"]],
  [", written with a plus", ["maria", "maria+a", "maria+b", "maria+c+d", "maria+e-f"]],
  [", written as Yahoo's disposable addresses", ["maria-a", "maria-b", "maria-c", "maria", "maria-d"]],
])(
  "one mailbox whose owner complains about five emails blocks nobody, though a listed provider signs each%s",
  async (_, names) => {
    await using held = await startYahoo();
    const { pombo } = held;
    const ids: string[] = [];
    for (const name of names) ids.push(await attempted(pombo, { to: `${name}@yahoo.com` }));
    for (const id of ids) await pombo.app.receive(await signedAbout(pombo, id));
    expect(await isBlocked(pombo)).toBe(false);
    expect(ratesOf(pombo)).toEqual({ answered: 6, complaints: 3, capped_complaints: 2 });
    expect(Object.keys(await suppressedIn(pombo))).toHaveLength(new Set(names).size);
  },
);

test("mailboxes whose names begin alike are several, and a block's", async () => {
  await using held = await startYahoo();
  const { pombo } = held;
  const ids: string[] = [];
  for (const name of ["maria", "maria.a", "maria1", "mari", "marias"])
    ids.push(await attempted(pombo, { to: `${name}@yahoo.com` }));
  for (const id of ids) await pombo.app.receive(await signedAbout(pombo, id));
  expect(await isBlocked(pombo)).toBe(true);
});

const FORGERIES: Record<string, SignedBy> = {
  "its name alone, without a signature": { change: (text) => text.slice(text.search(/^From:/m)) },
  "a signature of another domain": { domain: "evil.test" },
  "a signature of the parent domain, which signs what its users write": { domain: "yahoo.com" },
  "another address of the domain": { from: "maria@arf.mail.yahoo.com" },
  "a body that was changed": { change: (text) => text.replace("an abuse report", "a report") },
  "a second From": { from: "a@arf.mail.yahoo.com", change: (text) => `From: ${YAHOO}\r\n${text}` },
  "the address as the name of another": { from: `${YAHOO}> <a@arf.mail.yahoo.com` },
};

test.each([
  ["one of two addresses", "maria@hotmail.com, <staff@hotmail.com>"],
  ["one of two, in a group", "x: maria@hotmail.com, <staff@hotmail.com>"],
  ["behind a comment", "maria@hotmail.com (x <staff@hotmail.com>"],
  ["behind a bare line end", "maria@hotmail.com\nX: <staff@hotmail.com>"],
  ["of a folded field with another name", "maria@hotmail.com\r\n , <staff@hotmail.com>"],
])("who may sign as a user of a provider does not become its loop: %s", (_, from) => {
  const mx = "hotmail-com.olc.protection.outlook.com";
  const email = { recipient: "ana@hotmail.co.uk", mx };
  const by = (text: string) => findProvider(Buffer.from(`From: ${text}\r\n\r\n`), email)?.from ?? null;
  expect(by(from)).toBeNull();
  for (const own of ["staff@hotmail.com", "<STAFF@hotmail.com>", '"Hotmail Staff" <staff@hotmail.com>'])
    expect(by(own)).toBe("staff@hotmail.com");
});

test("a provider's name under a suffix that is not its own is anybody's domain", () => {
  const mx = "mx-biz.mail.am0.yahoodns.net";
  const report = Buffer.from(`From: ${YAHOO}\r\n\r\n`);
  for (const domain of ["yahoo.co.uk", "AOL.com"])
    expect(findProvider(report, { recipient: `ana@${domain}`, mx })?.from).toBe(YAHOO);
  for (const domain of ["aim.lol", "rocketmail.shop", "mail.aim.shop", "mail.yahoo.com.evil.test"])
    expect(findProvider(report, { recipient: `ana@${domain}`, mx })).toBeNull();
});

test("one report makes one network known, however many bring it", async () => {
  using noted = spyOn(KnownReporters.prototype, "note");
  await using held = await startAtNoon();
  const { pombo } = held;
  const [id = "", other = ""] = await sendTo(pombo, "example.com", 2);
  const bring = (message: InboundMessage, n: number) =>
    pombo.app.receive({ ...message, clientAddress: `192.0.${n}.1` });
  for (const n of [2, 3]) await bring(complaintAbout(pombo, id), n);
  for (const n of [4, 5]) await bring(bounce(id, `5.1.${n}`), n);
  for (const n of [6, 7]) await bring(bounce(other, "4.4.1", null, "delayed"), n);
  await bring(bounce(other), 8);
  const known = noted.mock.calls.map(([address]) => address).filter((address) => address.startsWith("192.0."));
  expect(known).toEqual(["192.0.2.1", "192.0.8.1"]);
});

test("a listed provider's report is one like any other when its signature does not say so", async () => {
  await using held = await startYahoo();
  const { pombo } = held;
  const forgeries = Object.entries(FORGERIES);
  const ids = await sendTo(pombo, "yahoo.com", forgeries.length);
  for (const [n, [what, by]] of forgeries.entries()) {
    await pombo.app.receive(await signedAbout(pombo, ids[n] ?? "", by));
    expect([what, byProvider(pombo)[n]]).toEqual([what, false]);
  }
  expect(ratesOf(pombo)).toEqual({ answered: 7, complaints: 2, capped_complaints: 5 });
  expect(await isBlocked(pombo)).toBe(false);
});

test("a listed provider's report about mail that went elsewhere is one like any other: somebody sent it on and complained", async () => {
  await using held = await startYahoo();
  const { pombo } = held;
  for (const id of await sendTo(pombo, "example.com", 5)) await pombo.app.receive(await signedAbout(pombo, id));
  expect(ratesOf(pombo)).toEqual({ answered: 5, complaints: 2, capped_complaints: 3 });
  // Nothing was looked up for it.
  expect(pombo.dns.queries.filter(({ name }) => name.includes("_domainkey.arf"))).toEqual([]);
});

test("a key that DNS cannot tell loses no report, and holds the port up for seconds at most", async () => {
  await using held = await startYahoo();
  const { pombo, clock } = held;
  const [one = "", two = ""] = await sendTo(pombo, "yahoo.com", 2);
  const key = "pombo1._domainkey.arf.mail.yahoo.com";
  pombo.dns.faults[key] = "servfail";
  await pombo.app.receive(await signedAbout(pombo, one));
  pombo.dns.faults[key] = "silence";
  const taken = pombo.app.receive(await signedAbout(pombo, two));
  await pombo.dns.seen(pombo.dns.queries.length + 1);
  clock.advance(5_000);
  await taken;
  for (const id of [one, two]) expect((await recordOf(pombo, id)).status).toBe("complained");
  expect(byProvider(pombo)).toEqual([false, false]);
  expect(pombo.bugs).toEqual([]);
});

test("of three organizational domains the first two complaints of each count, over a restart, and from nothing after a lift", async () => {
  await using held = await startWith({ "loja-a.co.mz": "mx.example.com", "loja-b.co.mz": "mx.example.com" });
  const { pombo } = held;
  const ids = await sendTo(pombo, "example.com", 3);
  for (const id of ids) await pombo.app.receive(complaintAbout(pombo, id));
  for (const id of await sendTo(pombo, "loja-a.co.mz", 2)) await pombo.app.receive(complaintAbout(pombo, id));
  await held.restart();
  for (const id of await sendTo(pombo, "example.com", 3, 3)) await pombo.app.receive(complaintAbout(pombo, id));
  // The same report again, as when its answer was lost.
  await pombo.app.receive(complaintAbout(pombo, ids[0] ?? ""));
  expect(ratesOf(pombo)).toEqual({ answered: 8, complaints: 4, capped_complaints: 4 });
  expect(await isBlocked(pombo)).toBe(false);
  for (const id of await sendTo(pombo, "loja-b.co.mz", 1)) await pombo.app.receive(complaintAbout(pombo, id));
  expect(await isBlocked(pombo)).toBe(true);
  await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/unblock`);
  expect(ratesOf(pombo)).toEqual({});
  for (const id of await sendTo(pombo, "example.com", 3, 6)) await pombo.app.receive(complaintAbout(pombo, id));
  expect(ratesOf(pombo)).toEqual({ answered: 3, complaints: 2, capped_complaints: 1 });
});
