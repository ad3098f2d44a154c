// Bounces that come back by mail, through the whole instance: messages as values in, what the API shows out.

import { expect, setDefaultTimeout, test } from "bun:test";
import { mail } from "../../support/dsn/mails.ts";
import {
  attempted,
  HOUR,
  LATER,
  MINUTE,
  NOON,
  recordOf,
  startAtNoon,
  timelineOf,
  totalsOf,
} from "../../support/api/one-email.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { startHeld } from "../../support/api/kit.ts";
import {
  bounce,
  GONE,
  inboxOf,
  inboundMessage,
  ratesOf,
  rowsOf,
  suppressedIn,
  toEmail,
} from "../../support/inbound/messages.ts";

setDefaultTimeout(30_000);

const typesOf = (entries: Json[]) => entries.map(({ type }) => type);
const told = ({ events }: Instance, name: string) => events.filter((event) => event.name === name).length;

function expectTotals(pombo: Instance): void {
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
}

test("a permanent bounce ends a delivered email, with its code, category and words, and suppresses", async () => {
  await using held = await startAtNoon();
  const { pombo, clock } = held;
  const id = await attempted(pombo);
  clock.advance(MINUTE);
  await pombo.app.receive(bounce(id));
  expect(await recordOf(pombo, id)).toMatchObject({
    ...{ status: "bounced", failedReason: `${GONE} (mx1.example.net)`, attempts: 1 },
    ...{ sentAt: new Date(NOON).toISOString(), deliveredAt: new Date(NOON).toISOString() },
    bounce: {
      ...{ type: "permanent", category: "invalid_recipient", smtpCode: 550, enhancedCode: "5.1.1" },
      mx: "mx1.example.net",
    },
  });
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "hard_bounce" });
  expect(ratesOf(pombo)).toEqual({ answered: 1, hard_bounces: 1 });
  expectTotals(pombo);
  const entries = await timelineOf(pombo, id);
  const at = new Date(NOON + MINUTE).toISOString();
  expect(typesOf(entries)).toEqual(["email.queued", "email.delivered", "report.bounce", "email.bounced"]);
  expect(entries[2]).toEqual({
    ...{ type: "report.bounce", at, reason: null, permanent: true, category: "invalid_recipient" },
    ...{ host: "mx1.example.net", code: 550, enhancedCode: "5.1.1", reply: GONE },
    ...{ reporter: "mx1.example.net", feedbackType: null },
  });
  expect(entries[3]).toEqual({ type: "email.bounced", at, reason: `${GONE} (mx1.example.net)` });
  expect([told(pombo, "email.bounced"), pombo.bugs]).toEqual([1, []]);
});

test("a bounce that says nothing of the address ends the email and suppresses nobody", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(bounce(id, "5.7.1", "550 5.7.1 Message rejected due to policy"));
  expect(await recordOf(pombo, id)).toMatchObject({ status: "bounced", bounce: { category: "policy" } });
  expect([await suppressedIn(pombo), ratesOf(pombo)]).toEqual([{}, { answered: 1 }]);
});

test("failed with a passing code is on the timeline and changes nothing (R40), and so is a delay", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(bounce(id, "4.2.2", "452 4.2.2 Mailbox full"));
  await pombo.app.receive(bounce(id, "4.4.1", null, "delayed"));
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", failedReason: null, bounce: null });
  const entries = await timelineOf(pombo, id);
  expect(typesOf(entries)).toEqual(["email.queued", "email.delivered", "report.bounce", "report.delay"]);
  expect(entries[2]).toMatchObject({ permanent: false, category: "mailbox_full", code: 452 });
  expect(entries[3]).toMatchObject({ permanent: null, enhancedCode: "4.4.1" });
  expect([await suppressedIn(pombo), ratesOf(pombo)]).toEqual([{}, { answered: 1 }]);
});

test("the same bounce again changes nothing, and does not bring back a suppression that was lifted", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(bounce(id));
  await pombo.workspace.call("DELETE", "/api/v1/suppressions/maria%40example.com");
  const before = [await recordOf(pombo, id), await timelineOf(pombo, id)];
  held.clock.advance(MINUTE);
  await pombo.app.receive(bounce(id));
  expect([await recordOf(pombo, id), await timelineOf(pombo, id)]).toEqual(before);
  // Another server's about the same is noted, and no more.
  await pombo.app.receive(bounce(id, "5.1.1", "550 5.1.1 Unknown"));
  expect(typesOf(await timelineOf(pombo, id)).slice(2)).toEqual(["report.bounce", "email.bounced", "report.bounce"]);
  expect([await suppressedIn(pombo), ratesOf(pombo)]).toEqual([{}, { answered: 1, hard_bounces: 1 }]);
  expectTotals(pombo);
});

test("an email keeps twenty reports, and a bounce after them ends it all the same", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  for (let n = 0; n < 25; n++) await pombo.app.receive(bounce(id, "4.4.1", `451 4.4.1 Try ${n}`, "delayed"));
  expect(rowsOf(pombo, "email_report")).toBe(20);
  await pombo.app.receive(bounce(id));
  expect((await recordOf(pombo, id)).status).toBe("bounced");
  expect(rowsOf(pombo, "email_report")).toBe(20);
});

test("what is over in another way stays so: bounced at the door, canceled, failed", async () => {
  await using held = await startAtNoon({ rcpt: GONE });
  const { pombo } = held;
  const bounced = await attempted(pombo);
  pombo.mx.script = { rcpt: LATER };
  const canceled = await attempted(pombo, { to: "ana@example.com" });
  await pombo.workspace.call("POST", `/api/v1/emails/${canceled}/cancel`);
  for (const [id, status] of [
    [bounced, "bounced"],
    [canceled, "canceled"],
  ] as const) {
    const before = await recordOf(pombo, id);
    await pombo.app.receive(bounce(id, "5.2.1", "550 5.2.1 Mailbox disabled"));
    expect(await recordOf(pombo, id)).toEqual(before);
    expect(before.status).toBe(status);
    expect(typesOf(await timelineOf(pombo, id))).toContain("report.bounce");
  }
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "hard_bounce" });
  expectTotals(pombo);
});

test("a report that has a sender, an automatic answer and what nobody understands are taken and do nothing", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive({ ...bounce(id), envelopeFrom: "mallory@evil.test" });
  const absent = { headers: ["Auto-Submitted: auto-replied"], subject: "Out of office", text: "I am away." };
  await pombo.app.receive(toEmail(id, mail({ ...absent, from: "Maria <maria@example.com>" })));
  await pombo.app.receive(toEmail(id, mail({ from: "a@b.test", subject: "Hello", text: "How are you?" })));
  expect((await recordOf(pombo, id)).status).toBe("delivered");
  expect([rowsOf(pombo, "email_report"), rowsOf(pombo, "inbound_mail"), told(pombo, "report.ignored")]).toEqual([
    0, 0, 3,
  ]);
});

test("of a message to two emails' return paths each is judged by its own recipient, all or nothing", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [one, two] = [await attempted(pombo), await attempted(pombo, { to: "ana@example.com" })];
  const both = {
    ...bounce(one),
    destinations: [one, two].map((emailUid) => ({ kind: "bounce", emailUid }) as const),
  };
  await pombo.app.receive(both);
  for (const id of [one, two]) expect((await recordOf(pombo, id)).status).toBe("bounced");
});

test("webhooks are called with email.bounced and suppression.created, once each", async () => {
  await using receiver = startReceiver();
  await using held = await startHeld(NOON, {
    configure(config) {
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
    },
  });
  const { pombo } = held;
  const id = await attempted(pombo);
  const events = ["email.bounced", "suppression.created"];
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events } });
  await pombo.app.receive(bounce(id));
  await pombo.app.receive(bounce(id));
  await receiver.until(() => receiver.calls.length === 2);
  await pombo.app.webhooks.worker.idle();
  const [bounced, suppressed] = receiver.calls.map(({ event }) => event).toSorted((a, b) => (a.type < b.type ? -1 : 1));
  expect([bounced.type, bounced.data.id, bounced.data.status]).toEqual(["email.bounced", id, "bounced"]);
  expect(bounced.data.bounce.category).toBe("invalid_recipient");
  expect([suppressed.type, suppressed.data.address]).toEqual(["suppression.created", "maria@example.com"]);
  expect(receiver.calls).toHaveLength(2);
});

test("hard bounces in masses from one domain end the emails, and whom to suppress waits for the operator", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const ids: string[] = [];
  for (let n = 0; n < 25; n++) ids.push(await attempted(pombo, { to: `user${n}@example.com` }));
  for (const id of ids) await pombo.app.receive(bounce(id));
  expect([rowsOf(pombo, "suppression"), rowsOf(pombo, "suppression_held")]).toEqual([0, 25]);
  const { body } = await pombo.operator.call("GET", "/api/v1/operator/held-suppressions");
  expect(body.data[0]).toMatchObject({ site: "dsn:example.com", reason: "hard_bounce" });
  for (const id of ids) expect((await recordOf(pombo, id)).status).toBe("bounced");
  expect(ratesOf(pombo)).toEqual({ answered: 25, hard_bounces: 5, capped_hard_bounces: 20 });
});

test("bounces of a small part of what a domain took are no mass, however many", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const ids: string[] = [];
  for (let n = 0; n < 50; n++) ids.push(await attempted(pombo, { to: `user${n}@example.com` }));
  for (const id of ids.slice(0, 24)) await pombo.app.receive(bounce(id));
  expect([rowsOf(pombo, "suppression"), rowsOf(pombo, "suppression_held")]).toEqual([24, 0]);
});

test("hard bounces by mail of several domains block sending: counted on the day of the mail they are about, which is not answered twice", async () => {
  await using held = await startAtNoon();
  const { pombo, clock } = held;
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) {
    pombo.dns.zone[`loja${n % 6}.test`] = { MX: [[10, "mx.example.com"]] };
    ids.push(await attempted(pombo, { to: `user${n}@loja${n % 6}.test` }));
  }
  clock.advance(13 * HOUR);
  const send = async () => {
    const answer = await pombo.workspace.call("POST", "/api/v1/emails", {
      body: pombo.email({ to: "eva@example.com" }),
    });
    return [answer.status, answer.body.errors?.[0]?.message];
  };
  for (const id of ids.slice(0, 19)) await pombo.app.receive(bounce(id));
  expect((await send())[0]).toBe(202);
  await pombo.app.worker.idle();
  await pombo.app.receive(bounce(ids[19] ?? ""));
  const [status, message] = await send();
  expect([status, message]).toEqual([403, expect.stringContaining("20 of 31 emails answered")]);
  const days = pombo.app.db.sqlite.query(
    "SELECT day, name, count FROM usage WHERE name NOT IN ('emails', 'stored_bytes') ORDER BY day, name",
  );
  expect(days.all()).toEqual([
    { day: "2026-11-21", name: "answered", count: 30 },
    { day: "2026-11-21", name: "hard_bounces", count: 20 },
    { day: "2026-11-22", name: "answered", count: 1 },
  ]);
});

test("a message about an email whose workspace was deleted is taken and does nothing", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
  await pombo.app.receive(bounce(id));
  expect([rowsOf(pombo, "suppression"), ratesOf(pombo), told(pombo, "email.bounced")]).toEqual([0, { answered: 1 }, 0]);
  await held.advance(HOUR);
  await pombo.app.receive(bounce(id));
  expect(pombo.bugs).toEqual([]);
});

test("an email of a deleted domain bounces as any other", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  const { body } = await pombo.workspace.call("GET", "/api/v1/domains");
  await pombo.workspace.call("DELETE", `/api/v1/domains/${body.data[0].id}`);
  await pombo.app.receive(bounce(id));
  expect((await recordOf(pombo, id)).status).toBe("bounced");
  expectTotals(pombo);
});

test("when the storage fails nothing is half done and the message is put off; the same again is taken once", async () => {
  await using held = await startAtNoon();
  const { pombo, clock } = held;
  const id = await attempted(pombo);
  const { sqlite } = pombo.app.db;
  sqlite.run("PRAGMA query_only = ON");
  await expect(pombo.app.receive(bounce(id))).rejects.toThrow();
  expect([(await recordOf(pombo, id)).status, told(pombo, "email.bounced")]).toEqual(["delivered", 0]);
  // While the guard is closed it is not even tried.
  sqlite.run("PRAGMA query_only = OFF");
  await expect(pombo.app.receive(bounce(id))).rejects.toThrow();
  clock.advance(1_000);
  await new Promise<void>((resolve) => pombo.app.guard.whenOpen(() => resolve()));
  await pombo.app.receive(bounce(id));
  expect([(await recordOf(pombo, id)).status, told(pombo, "email.bounced")]).toEqual(["bounced", 1]);
  expect([ratesOf(pombo), await inboxOf(pombo)]).toEqual([{ answered: 1, hard_bounces: 1 }, []]);
  expectTotals(pombo);
  expect(pombo.bugs).toEqual([]);
});

test("a key of one domain sees the reports about its emails, and no other's", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(bounce(id));
  const keyOf = async (domainId: string) =>
    (await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x", domainId } })).body.data.key;
  const { body } = await pombo.workspace.call("GET", "/api/v1/domains");
  const other = await pombo.addDomain(pombo.workspace, "outra.test");
  const see = async (key: string) => pombo.workspace.call("GET", `/api/v1/emails/${id}/events`, { key });
  expect(typesOf((await see(await keyOf(body.data[0].id))).body.data)).toContain("report.bounce");
  expect((await see(await keyOf(other))).status).toBe(404);
});

test("words of a report are cleaned before anybody sees them", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive({
    ...bounce(id, "5.1.1", "550 5.1.1 No \u001B[31msuch user \u0007"),
    helo: "mx\u001B[2J\u0000",
  });
  const [, , entry] = await timelineOf(pombo, id);
  expect(JSON.stringify(entry)).not.toContain("\\u001b");
  expect(entry).toMatchObject({ reply: "550 5.1.1 No such user", reporter: "mx" });
});

test("messages are counted by what became of them", async () => {
  await using held = await startHeld(NOON, {
    configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
  });
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(bounce(id, "4.4.1", null, "delayed"));
  await pombo.app.receive(bounce(id));
  await pombo.app.receive(bounce(id));
  await pombo.app.receive(inboundMessage(mail({ text: "x" })));
  const text = await (await fetch(pombo.app.metricsUrl ?? "")).text();
  const counted = [...text.matchAll(/^pombo_inbound_results_total\{result="(\w+)"\} ([1-9])/gm)];
  expect(counted.map(([, result, count]) => `${result} ${count}`).toSorted()).toEqual([
    "bounced 1",
    "kept 1",
    "noted 1",
    "repeated 1",
  ]);
});

test("a message for nobody that can be found is taken", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  await pombo.app.receive(bounce("0198a5a0-0000-7000-8000-000000000000"));
  await pombo.app.receive(inboundMessage(new Uint8Array(), { destinations: [{ kind: "bounce", emailUid: "x" }] }));
  expect(told(pombo, "report.ignored")).toBe(2);
});
