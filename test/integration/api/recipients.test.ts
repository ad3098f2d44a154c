import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import {
  erase,
  ERASED,
  exported,
  findLeft,
  NOTHING,
  NUMBER,
  NUMBER_PATH,
  PATH,
  PERSON,
  readAll,
  startTold,
  toPerson,
  WORDS,
} from "../../support/api/erased.ts";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { attempted, HOUR, NOON, recordOf, restrictedKey, timelineOf, totalsOf } from "../../support/api/one-email.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { text } from "./texts.ts";

const reply = (line: string) => {
  if (line.includes("other@")) return "250 Ok";
  if (line.includes("bounce")) return "550 5.7.1 <Zq.Person@Example.com>: SubjectOfZq is refused";
  return "450 4.2.0 <Zq.Person@Example.com> is busy with SubjectOfZq";
};

test("nothing of a person is left: records, replies, events, webhook calls, and no byte in the files", async () => {
  await using receiver = startReceiver();
  // A receiver that gives back what it got, also where it took it.
  receiver.answer = ({ event: { type, data } }) =>
    new Response(`${data.to ?? data.address} ${data.subject}`, { status: type === "email.delivered" ? 200 : 500 });
  let script = "450";
  await using held = await startTold(receiver, {
    rcpt: (line: string) => (script === "250" || line.includes("other@") ? "250 Ok" : reply(script + line)),
  });
  const { pombo } = held;
  script = "250";
  const delivered = await attempted(pombo, toPerson());
  script = "450";
  const delayed = await attempted(pombo, toPerson());
  script = "bounce";
  const bounced = await attempted(pombo, toPerson({ html: `<p>ContentOfZq</p>${"x".repeat(9_000)}` }));
  const other = await attempted(pombo, { to: "other@example.com" });
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: PERSON } });
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "suppression.created"));
  await pombo.app.webhooks.worker.idle();
  const ids = [delivered, delayed, bounced];
  // The test can see it.
  const before = await readAll(pombo, ids);
  for (const word of ["Zq.Person", "SubjectOfZq", "ContentOfZq"]) expect(before).toContain(word);
  const items = await exported(pombo);
  expect(items.map(({ kind }) => kind).toSorted()).toEqual(["email", "email", "email", "suppression"]);
  const usage = await pombo.workspace.call("GET", "/api/v1/workspace/usage");

  const receipt = await erase(pombo);
  expect(receipt).toMatchObject({ complete: true, emails: 3, canceledEmails: 1, inFlight: 0, suppressions: 1 });
  expect(receipt.events).toBeGreaterThanOrEqual(8);
  expect(receipt.webhookCalls).toBeGreaterThanOrEqual(7);
  const after = await readAll(pombo, ids);
  expect(WORDS.filter((word) => after.includes(word))).toEqual([]);
  expect(await recordOf(pombo, delivered)).toMatchObject({
    ...{ to: ERASED, subject: "[erased]", html: null, text: null, status: "delivered", attempts: 1 },
  });
  expect(await recordOf(pombo, delayed)).toMatchObject({ to: ERASED, status: "canceled", lastReply: null });
  expect(await recordOf(pombo, bounced)).toMatchObject({ to: ERASED, status: "bounced", failedReason: "[erased]" });
  expect((await timelineOf(pombo, bounced)).map(({ type, reply: said = null }) => [type, said])).toEqual([
    ["email.queued", null],
    ["email.bounced", "[erased]"],
  ]);
  expect(await recordOf(pombo, other)).toMatchObject({ to: "other@example.com", subject: "Olá", text: "Bom dia" });
  // Counted as before.
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  const { usage: now } = (await pombo.workspace.call("GET", "/api/v1/workspace/usage")).body.data;
  // The contents of the three are gone.
  expect(now).toEqual({ ...usage.body.data.usage, storageBytes: "Bom dia".length });
  // What is delivered from now on has the placeholder.
  const calls = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await held.advance(HOUR);
  await receiver.until(() => receiver.calls.slice(calls).some(({ event }) => event.type === "email.canceled"));
  await pombo.app.webhooks.worker.idle();
  const later = receiver.calls.slice(calls).map(({ body }) => body);
  expect(WORDS.filter((word) => later.some((body) => body.includes(word)))).toEqual([]);
  expect(await findLeft(held)).toEqual([]);
  expect(await exported(pombo)).toMatchObject([{ kind: "suppression", suppression: { address: PERSON } }]);
  expect(await erase(pombo)).toMatchObject(NOTHING);
  expect(pombo.bugs).toEqual([]);
});

test("a suppression blocks by its hash, after a restart too, is not made twice, and is lifted by naming the address", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const { workspace } = pombo;
  await workspace.call("POST", "/api/v1/suppressions", {
    body: { address: "Zq.Person@example.com", reason: "complaint" },
  });
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: NUMBER } });
  await pombo.enableSms(workspace);
  expect((await erase(pombo)).suppressions).toBe(1);
  expect((await erase(pombo, NUMBER_PATH)).suppressions).toBe(1);
  expect(await findLeft(held)).toEqual([]);
  const refused = await workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "ZQ.Person@Example.COM" }),
  });
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: /complaint/ }]);
  const sms = await workspace.call("POST", "/api/v1/sms", { body: text({ to: NUMBER }) });
  expectErrors(sms, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to" }]);
  const list = (await workspace.call("GET", "/api/v1/suppressions")).body.data as Json[];
  expect(list.map(({ address, reason }) => `${address} ${reason}`).toSorted()).toEqual([
    "+99900000000 manual",
    "erased@erased.invalid complaint",
  ]);
  // The first reason stays, and the address is not stored again.
  const again = await workspace.call("POST", "/api/v1/suppressions", { body: { address: PERSON } });
  expect([again.status, again.body.data.reason]).toEqual([200, "complaint"]);
  expect(await findLeft(held)).toEqual([]);
  // Of another workspace nothing is known.
  const other = await pombo.newWorkspace();
  expect((await other.call("DELETE", "/api/v1/suppressions/zq.person%40example.com")).status).toBe(404);
  expect((await workspace.call("DELETE", "/api/v1/suppressions/zq.person%40example.com")).status).toBe(200);
  expect((await workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to: PERSON }) })).status).toBe(202);
});

test("SMS: what waits is not sent and its credits come back; what is in flight ends, and its receipt still counts", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo, clock } = held;
  const { workspace } = pombo;
  await pombo.enableSms(workspace, 10);
  const sendSms = async (): Promise<string> =>
    (await workspace.call("POST", "/api/v1/sms", { body: text({ to: NUMBER, body: "TextOfZq" }) })).body.data.id;
  const { segments, inbound, messages } = pombo.app.smsStores;
  const { commit } = pombo.app.committer;
  const claim = async () => {
    const [work] = segments.readyWork();
    if (work === undefined) throw new Error("nothing waits");
    const lease = { link: "a", leaseEpoch: 1, now: clock.now(), limit: 10 };
    return (await commit(() => segments.claim({ ...work, ...lease })))[0];
  };
  const accepted = await sendSms();
  const first = await claim();
  const throttled = await sendSms();
  const second = await claim();
  const waiting = await sendSms();
  if (first === undefined || second === undefined) throw new Error("nothing was claimed");
  const workspaceId = first.workspaceId;
  await commit(() =>
    inbound.insert({
      ...{ uid: "0198a5a0-0000-7000-8000-000000000001", workspaceId, route: "test", sender: NUMBER },
      ...{ recipient: "84000", body: "TextOfZq", isWhole: true, raw: null, receivedAt: clock.now() },
    }),
  );
  const items = await exported(pombo, NUMBER_PATH);
  expect(items.map(({ kind }) => kind).toSorted()).toEqual(["inbound_sms", "sms", "sms", "sms"]);
  const receipt = await erase(pombo, NUMBER_PATH);
  expect(receipt).toMatchObject({ sms: 3, canceledSms: 1, inFlight: 2, inboundSms: 1 });
  const read = async (id: string) => (await workspace.call("GET", `/api/v1/sms/${id}`)).body.data;
  expect(await read(waiting)).toMatchObject({ to: "+99900000000", body: "[erased]", status: "failed", credits: 0 });
  const said = { providerStatus: "ESME_ROK", providerCode: "0x00000000", category: null, reason: null };
  const taken = { smscId: "A1", smscIdKey: "a1", expectsReceipt: true, now: clock.now() };
  await commit(() => segments.accept(first, taken, said));
  const busy = { now: clock.now(), nextAt: clock.now() + 1_000, isCounted: true, isResend: false };
  await commit(() => segments.retry(second, busy, { ...said, providerStatus: "ESME_RTHROTTLED" }));
  expect(await read(accepted)).toMatchObject({ to: "+99900000000", status: "sent", credits: 1 });
  expect(await read(throttled)).toMatchObject({ to: "+99900000000", status: "failed", credits: 0 });
  expect(segments.readyWork()).toEqual([]);
  const [found] = segments.bySmscId("test", "a1");
  expect(found?.message.isErased).toBe(true);
  expect(messages.byId(first.messageId)?.recipient).toBe("+99900000000");
  expect((await workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage).toMatchObject({
    ...{ smsThisMonth: 3, smsCreditsBalance: 9 },
  });
  const after = await readAll(pombo, [accepted, throttled, waiting]);
  expect(WORDS.filter((word) => after.includes(word))).toEqual([]);
  await pombo.app.webhooks.worker.idle();
  expect(await findLeft(held)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("an erasure is a workspace's own; the operator's is in all of them, or in one", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const own = await attempted(pombo, toPerson());
  const body = { ...pombo.email(toPerson()), from: "a@other.test" };
  const theirs = (await other.call("POST", "/api/v1/emails", { body })).body.data.id;
  await pombo.app.worker.idle();
  const readTo = async () => [
    (await recordOf(pombo, own)).to,
    (await other.call("GET", `/api/v1/emails/${theirs}`)).body.data.to,
  ];
  expect((await other.call("GET", PATH)).body.data).toHaveLength(1);
  expect(await erase(pombo)).toMatchObject({ emails: 1 });
  expect(await readTo()).toEqual([ERASED, "Zq.Person@Example.com"]);
  const operators = `/api/v1/operator${PATH.slice("/api/v1".length)}`;
  const inOne = await pombo.operator.call("DELETE", `${operators}?workspace=${pombo.workspace.id}`);
  expect(inOne.body.data).toMatchObject(NOTHING);
  const everywhere = await pombo.operator.call("DELETE", operators);
  expect(everywhere.body.data).toMatchObject({ ...NOTHING, emails: 1 });
  expect(await readTo()).toEqual([ERASED, ERASED]);
  // Neither says whom.
  expect(pombo.events.filter(({ name }) => name === "recipient.erased")).toHaveLength(3);
  expect(JSON.stringify(pombo.events.filter(({ name }) => name === "recipient.erased"))).not.toMatch(/zq/i);
  const unknown = `${operators}?workspace=0198a5a0-0000-7000-8000-000000000000`;
  expectErrors(await pombo.operator.call("DELETE", unknown), 404, [{ code: "NOT_FOUND" }]);
});

test("a key of one domain may do neither; what is no address is 422; what nobody knows is nothing", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const key = await restrictedKey(held, "narrow.test");
  for (const method of ["GET", "DELETE"]) {
    expectErrors(await pombo.workspace.call(method, PATH, { key }), 403, [{ code: "API_KEY_RESTRICTED" }]);
    const wrong = await pombo.workspace.call(method, "/api/v1/recipients/84%20765");
    expectErrors(wrong, 422, [{ code: "VALIDATION_ERROR", field: "address" }]);
  }
  expect(await erase(pombo)).toMatchObject(NOTHING);
  expect(await exported(pombo)).toEqual([]);
});

test("the operator's inbox: mail from an address, or that quotes it, also encoded", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const encoded = Buffer.from("Please stop writing to ZQ.Person@example.com, ContentOfZq").toString("base64");
  const mails = [
    "From: Zq <zq.person@example.com>\r\nSubject: SubjectOfZq\r\n\r\nHello\r\n",
    `From: a@example.net\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded}\r\n`,
    "From: someone@example.net\r\nSubject: Another\r\n\r\nContentOfOthers\r\n",
  ];
  for (const mail of mails)
    await pombo.app.receive({
      bytes: Buffer.from(mail),
      receivedAt: NOON,
      envelopeFrom: "someone@example.net",
      helo: "mx.example.net",
      clientAddress: "192.0.2.1",
      isTls: false,
      destinations: [{ kind: "person", mailbox: "postmaster" }],
    });
  // It is the operator's mail, and no workspace's.
  expect(await erase(pombo)).toMatchObject(NOTHING);
  const { body } = await pombo.operator.call("DELETE", `/api/v1/operator${PATH.slice("/api/v1".length)}`);
  expect(body.data).toMatchObject({ ...NOTHING, inboxMails: 2 });
  const list = (await pombo.operator.call("GET", "/api/v1/operator/inbox")).body.data as Json[];
  expect(list.map(({ subject }) => subject)).toEqual(["Another", "[erased]", "[erased]"]);
  const read = await Promise.all(list.map(({ id }) => pombo.operator.call("GET", `/api/v1/operator/inbox/${id}`)));
  const contents = read.map(({ body: mail }) => Buffer.from(mail.data.content, "base64").toString());
  expect(contents).toEqual([mails[2] ?? "", "[erased]", "[erased]"]);
});

test("a number: the operator's erasure takes what belongs to no workspace, and of nobody else's number", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const { sqlite } = pombo.app.db;
  // The last seven digits, by which they are found, are those of both.
  for (const number of ["258847654321", "351917654321"]) {
    sqlite.run("INSERT INTO sms_reference VALUES (?, 3)", [`+${number}`]);
    sqlite.run(
      `INSERT INTO sms_receipt_orphan (route, smsc_id, smsc_id_key, number_key, receipt_state, receipt, raw, received_at)
       VALUES ('test', 'a', 'a', '7654321', 'delivered', ?, ?, 0)`,
      [JSON.stringify({ subscriber: number, sender: "Loja" }), Buffer.from(number)],
    );
    sqlite.run("INSERT INTO sms_inbound_part VALUES ('test', ?, '84000', 'udh8', 1, 2, 1, 0, 'gsm', ?, ?)", [
      ...[number, Buffer.from(`${number} TextOfZq`), NOON],
    ]);
    sqlite.run(
      `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
       VALUES (?, NULL, 'test', ?, '84000', 'TextOfZq', 1, 0)`,
      [`of ${number.slice(0, 3)}`, `+${number}`],
    );
  }
  const left = () =>
    ["sms_reference", "sms_receipt_orphan", "sms_inbound_part"].map(
      (table) => sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n,
    );
  expect(await erase(pombo, NUMBER_PATH)).toMatchObject(NOTHING);
  expect(left()).toEqual([1, 2, 2]);
  const path = `/api/v1/operator${NUMBER_PATH.slice("/api/v1".length)}`;
  expect((await pombo.operator.call("DELETE", path)).body.data).toMatchObject({ ...NOTHING, inboundSms: 1 });
  expect(left()).toEqual([1, 1, 1]);
  expect(sqlite.query("SELECT sender, body FROM sms_inbound ORDER BY id").all()).toEqual([
    { sender: "+99900000000", body: "[erased]" },
    { sender: "+351917654321", body: "TextOfZq" },
  ]);
  expect((await findLeft(held)).includes("847654321")).toBe(false);
});
