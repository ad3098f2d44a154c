// Complaints by mail: what stands in a report is a stranger's word, and only a token that was made here, for
// the email's own recipient, tells which email it is about.

import { expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../../src/platform/clock.ts";
import { returnPath } from "../../../src/protocols/dsn/return-path.ts";
import { complaintSamples, isCorpusHere } from "../../support/dsn/corpus.ts";
import { bytes, group, mail, report } from "../../support/dsn/mails.ts";
import { attempted, HOUR, NOON, recordOf, startAtNoon, timelineOf, totalsOf } from "../../support/api/one-email.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { startHeld } from "../../support/api/kit.ts";
import {
  bounce,
  complaint,
  complaintAbout,
  GONE,
  inboxOf,
  ratesOf,
  rowsOf,
  suppressedIn,
  toEmail,
  toLoop,
  tokenOf,
  traceOf,
} from "../../support/inbound/messages.ts";

setDefaultTimeout(30_000);

const DAY = 24 * HOUR;
const typesOf = async (pombo: Instance, id: string) => (await timelineOf(pombo, id)).map(({ type }) => type);

test("a complaint about a delivered email suppresses its recipient and counts on the day of the email", async () => {
  await using held = await startAtNoon();
  const { pombo, clock } = held;
  const id = await attempted(pombo);
  clock.advance(13 * HOUR);
  await pombo.app.receive(complaintAbout(pombo, id));
  expect(await recordOf(pombo, id)).toMatchObject({
    ...{ status: "complained", failedReason: null, bounce: null },
    deliveredAt: new Date(NOON).toISOString(),
  });
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "complaint" });
  const days = pombo.app.db.sqlite
    .query("SELECT day, name, count FROM usage WHERE name NOT IN ('emails', 'stored_bytes') ORDER BY name")
    .all();
  expect(days).toEqual([
    { day: "2026-11-21", name: "answered", count: 1 },
    { day: "2026-11-21", name: "complaints", count: 1 },
  ]);
  const [, , told, ended] = await timelineOf(pombo, id);
  expect(told).toMatchObject({ type: "report.complaint", feedbackType: "abuse", permanent: null, category: null });
  expect(ended).toMatchObject({ type: "email.complained", reason: null });
  const { kept, counted } = totalsOf(pombo);
  expect([kept, await inboxOf(pombo), pombo.bugs]).toEqual([counted, [], []]);
});

test("the return path in a hidden recipient's report tells the email too, wherever a server put it", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const fields = ["Original-Rcpt-To: redacted@provider.test"];
  const placed = [
    (token: string) => complaint({ fields: [...fields, `Original-Mail-From: <${token}@mail.pombo.test>`] }),
    (token: string) => complaint({ fields, copy: [`Return-Path: <${token.toUpperCase()}@mail.pombo.test>`] }),
  ];
  for (const [n, place] of placed.entries()) {
    const id = await attempted(pombo, { to: `user${n}@example.com` });
    await pombo.app.receive(toLoop(place(tokenOf(pombo, id))));
    expect((await recordOf(pombo, id)).status).toBe("complained");
  }
  expect(await suppressedIn(pombo)).toEqual({ "user0@example.com": "complaint", "user1@example.com": "complaint" });
});

test("a complaint to the email's own return path needs nothing inside, and has a sender", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  await pombo.app.receive(toEmail(id, complaint({}), { envelopeFrom: "fbl@provider.test" }));
  expect((await recordOf(pombo, id)).status).toBe("complained");
});

test("what is no complaint does nothing: not-spam, auth-failure, an automatic answer, a delay", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  const copy = [traceOf(pombo, id)];
  for (const type of ["not-spam", "auth-failure"]) {
    await pombo.app.receive(toLoop(complaint({ type, copy })));
    await pombo.app.receive(toEmail(id, complaint({ type, copy })));
  }
  await pombo.app.receive(toLoop(mail({ from: "a@b.test", headers: ["Auto-Submitted: auto-replied"], text: "Away" })));
  await pombo.app.receive(toLoop(report({ groups: [group("4.4.1", null, "delayed")], copy: copy.join("\n") })));
  expect((await recordOf(pombo, id)).status).toBe("delivered");
  expect([await suppressedIn(pombo), ratesOf(pombo), await inboxOf(pombo)]).toEqual([{}, { answered: 1 }, []]);
  expect(await typesOf(pombo, id)).toEqual(["email.queued", "email.delivered"]);
});

test("a token that was not made here, or for another recipient, or too long ago, touches nobody: the operator gets the message", async () => {
  let aheadMs = 0;
  await using pombo = await startInstance({ clock: { ...systemClock, now: () => systemClock.now() + aheadMs } });
  const stranger = await pombo.newWorkspace();
  await pombo.addDomain(stranger, "outra.test");
  const sent = await stranger.call("POST", "/api/v1/emails", { body: pombo.email({ from: "a@outra.test" }) });
  const own = await attempted(pombo, { to: "ana@example.com" });
  const genuine = tokenOf(pombo, own).slice(2);
  // 26 of the 42 characters, less a bit, are the id.
  const ofOther = tokenOf(pombo, sent.body.data.id).slice(2);
  const swapped = genuine.slice(0, 27) + ofOther.slice(27);
  const key = new Uint8Array(32).fill(7);
  const forged = returnPath({ id: own, recipient: "ana@example.com" }, "x", key).slice(2, 44);
  for (const token of [forged, swapped, "a".repeat(42)])
    await pombo.app.receive(toLoop(complaint({ copy: [`X-Pombo-Trace: ${token}`] })));
  // Ids, addresses and Message-IDs prove nothing.
  await pombo.app.receive(
    toLoop(complaint({ fields: ["Original-Rcpt-To: ana@example.com"], copy: [`Message-ID: <${own}@loja.test>`] })),
  );
  aheadMs = 30 * DAY;
  await pombo.app.receive(complaintAbout(pombo, own));
  expect(await inboxOf(pombo)).toEqual(Array.from({ length: 5 }, () => "fbl"));
  expect([rowsOf(pombo, "suppression"), rowsOf(pombo, "email_report"), ratesOf(pombo)]).toEqual([
    0,
    0,
    { answered: 2 },
  ]);
});

test("a message with another workspace's genuine token touches that workspace's email alone, and the first genuine one counts", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const stranger = await pombo.newWorkspace();
  await pombo.addDomain(stranger, "outra.test");
  const sent = await stranger.call("POST", "/api/v1/emails", { body: pombo.email({ from: "a@outra.test" }) });
  await pombo.app.worker.idle();
  const own = await attempted(pombo);
  const copy = [`X-Pombo-Trace: ${"b".repeat(42)}`, traceOf(pombo, sent.body.data.id), traceOf(pombo, own)];
  await pombo.app.receive(toLoop(complaint({ copy })));
  expect((await recordOf(pombo, own)).status).toBe("delivered");
  expect(await suppressedIn(pombo)).toEqual({});
  const theirs = await stranger.call("GET", "/api/v1/suppressions");
  expect(theirs.body.data).toMatchObject([{ address: "maria@example.com", reason: "complaint" }]);
});

test("a bounce after a complaint and a complaint after a bounce are noted; who complains is suppressed", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [one, two] = [await attempted(pombo), await attempted(pombo, { to: "ana@example.com" })];
  await pombo.app.receive(complaintAbout(pombo, one));
  await pombo.app.receive(bounce(one));
  await pombo.app.receive(bounce(two, "5.7.1", "550 5.7.1 Refused"));
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "complaint" });
  await pombo.app.receive(complaintAbout(pombo, two));
  expect([(await recordOf(pombo, one)).status, (await recordOf(pombo, two)).status]).toEqual(["complained", "bounced"]);
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "complaint", "ana@example.com": "complaint" });
  expect(ratesOf(pombo)).toEqual({ answered: 2, complaints: 2 });
  const rest = async (id: string) => (await typesOf(pombo, id)).slice(2).toSorted();
  expect(await rest(one)).toEqual(["email.complained", "report.bounce", "report.complaint"]);
  expect(await rest(two)).toEqual(["email.bounced", "report.bounce", "report.complaint"]);
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
});

test("the same complaint again counts nothing twice, and does not bring back a suppression that was lifted", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  for (let time = 0; time < 3; time++) {
    await pombo.app.receive(complaintAbout(pombo, id));
    await pombo.workspace.call("DELETE", "/api/v1/suppressions/maria%40example.com");
  }
  await pombo.app.receive(toLoop(complaint({ type: "fraud", copy: [traceOf(pombo, id)] })));
  expect([await suppressedIn(pombo), ratesOf(pombo)]).toEqual([{}, { answered: 1, complaints: 1 }]);
});

test("five complaints by mail of three domains block sending, and webhooks are told of them, of the way there and of the block", async () => {
  await using receiver = startReceiver();
  await using held = await startHeld(NOON, {
    configure(config) {
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
    },
  });
  const { pombo } = held;
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    pombo.dns.zone[`loja${n % 3}.test`] = { MX: [[10, "mx.example.com"]] };
    ids.push(await attempted(pombo, { to: `user@loja${n % 3}.test` }));
  }
  const events = ["email.complained", "workspace.*"];
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events } });
  for (const id of ids) await pombo.app.receive(complaintAbout(pombo, id));
  const answer = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect([answer.status, answer.body.errors[0].code]).toEqual([403, "SENDING_BLOCKED"]);
  await receiver.until(() => receiver.calls.length === 7);
  const types = receiver.calls.map(({ event }) => event.type).toSorted();
  const told = ["workspace.sending_blocked", "workspace.sending_warning"];
  expect(types).toEqual([...Array.from({ length: 5 }, () => "email.complained"), ...told]);
});

test("a bounce at fbl@ ends nothing, whoever sent it and whatever token it holds: those that are meant come to the return path", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo);
  const token = `${tokenOf(pombo, id)}@mail.pombo.test`;
  const notification = {
    notificationType: "Bounce",
    bounce: {
      bouncedRecipients: [
        { emailAddress: "maria@example.com", action: "failed", status: "5.1.1", diagnosticCode: `smtp; ${GONE}` },
      ],
    },
    mail: { source: token },
  };
  const notified = mail({ from: "no-reply@sns.example", subject: "Notification", text: JSON.stringify(notification) });
  // Somebody forwards a bounce, to ask about it.
  const forwarded = report({ groups: [group("5.1.1", GONE)], copy: `Return-Path: <${token}>` });
  await pombo.app.receive(toLoop(notified));
  await pombo.app.receive(toLoop(forwarded, { envelopeFrom: "joe@example.com" }));
  await pombo.app.receive(toLoop(forwarded, { envelopeFrom: "" }));
  expect([(await recordOf(pombo, id)).status, await inboxOf(pombo)]).toEqual(["delivered", ["fbl", "fbl", "fbl"]]);
  expect(await suppressedIn(pombo)).toEqual({});
});

test("other mail to fbl@ is for the operator: a provider asks whether the loop is ours", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  await pombo.app.receive(toLoop(mail({ from: "loop@provider.test", subject: "Please confirm", text: "Click here" })));
  expect(await inboxOf(pombo)).toEqual(["fbl"]);
});

test.skipIf(!isCorpusHere)(
  "real complaints, with a token of ours where the copy has its header, are about that email",
  async () => {
    await using held = await startAtNoon();
    const { pombo } = held;
    let matched = 0;
    for (const [n, { name, bytes: sample }] of complaintSamples().entries()) {
      const id = await attempted(pombo, { to: `user${n}@example.com` });
      const text = Buffer.from(sample).toString("latin1").replaceAll(/\r?\n/g, "\n");
      await pombo.app.receive(toLoop(bytes(text)));
      expect([name, (await recordOf(pombo, id)).status]).toEqual([name, "delivered"]);
      // The copy's Message-ID is the last that there is.
      const at = text.toLowerCase().lastIndexOf("\nmessage-id:");
      if (at < 0) continue;
      matched += 1;
      await pombo.app.receive(toLoop(bytes(`${text.slice(0, at)}\n${traceOf(pombo, id)}${text.slice(at)}`)));
      expect([name, (await recordOf(pombo, id)).status]).toEqual([name, "complained"]);
    }
    expect(matched).toBeGreaterThan(2);
    expect(pombo.bugs).toEqual([]);
  },
);
