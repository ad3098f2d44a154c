import { expect, test } from "bun:test";
import { bounce, complaint, toLoop } from "../../support/inbound/messages.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, UUID_V7 } from "../../support/api/kit.ts";
import { HOUR, NOON, recordOf, timelineOf, totalsOf } from "../../support/api/one-email.ts";
import { startTold } from "../../support/api/erased.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";

const EMAILS = "/api/v1/emails";

const PEOPLE = {
  to: ["Maria Silva <maria@example.com>", "joao@example.com"],
  cc: '"Contas, Lda" <contas@example.com>',
  bcc: ["arquivo@example.com"],
};

/** Sends to several people; the answer's data. */
async function sendGroup(pombo: Instance, changes: Record<string, unknown> = {}): Promise<Json> {
  const { status, text, body } = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({ ...PEOPLE, ...changes }),
  });
  expect([status, text]).toEqual([202, expect.any(String)]);
  return body.data;
}

/** A field of a message as it came, unfolded. */
function field(content: Buffer, name: string): string | null {
  const head = content.toString().split("\r\n\r\n")[0] ?? "";
  const unfolded = head.replaceAll(/\r\n(?=[ \t])/g, "");
  return new RegExp(`^${name}: (.*)$`, "mi").exec(unfolded)?.[1] ?? null;
}

const countRows = ({ app }: Instance, table: string) =>
  app.db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count;

test("each recipient gets an email of its own: one content, one Message-ID, the same To and Cc, and no bcc in any", async () => {
  await using pombo = await startInstance();
  const sent = await sendGroup(pombo);
  expect(Object.keys(sent)).toEqual(["id", "status", "recipients"]);
  expect(sent).toMatchObject({ id: sent.recipients[0].id, status: "queued" });
  expect(sent.recipients).toEqual(
    [
      ["maria@example.com", "to"],
      ["joao@example.com", "to"],
      ["contas@example.com", "cc"],
      ["arquivo@example.com", "bcc"],
    ].map(([address, kind]) => ({ id: expect.stringMatching(UUID_V7), address, kind, status: "queued" })),
  );
  const ids: string[] = sent.recipients.map(({ id }: Json) => id);
  expect(new Set(ids).size).toBe(4);
  await pombo.mx.until(() => pombo.mx.messages.length === 4);
  await pombo.app.worker.idle();

  const { messages } = pombo.mx;
  expect(messages.map(({ to }) => to).toSorted()).toEqual(
    ["arquivo@example.com", "contas@example.com", "joao@example.com", "maria@example.com"].map((one) => [one]),
  );
  const shown = messages.map(({ content }) => ["To", "Cc", "Bcc", "Message-ID"].map((name) => field(content, name)));
  const expected = [
    "Maria Silva <maria@example.com>, joao@example.com",
    '"Contas, Lda" <contas@example.com>',
    null,
    `<${ids[0]}@loja.test>`,
  ];
  expect(shown).toEqual([expected, expected, expected, expected]);
  expect(messages.some(({ content }) => content.includes("arquivo"))).toBe(false);
  // Reports come back to each copy.
  expect(new Set(messages.map(({ from }) => from)).size).toBe(4);
  expect([countRows(pombo, "email_body"), countRows(pombo, "email_extra")]).toEqual([1, 1]);

  const recipients = sent.recipients.map((one: Json) => ({ ...one, status: "delivered" }));
  for (const [index, id] of ids.entries()) {
    const { to, toName, kind, text, providerId, ...record } = await recordOf(pombo, id);
    expect([to, toName, kind]).toEqual([
      recipients[index].address,
      ["Maria Silva", null, "Contas, Lda", null][index],
      recipients[index].kind,
    ]);
    expect({ text, providerId, ...record }).toMatchObject({
      ...{ status: "delivered", attempts: 1, groupId: ids[0], recipients, text: "Bom dia" },
      providerId: `${ids[0]}@loja.test`,
    });
  }
  const listed = (await pombo.workspace.call("GET", EMAILS)).body.data as Json[];
  expect(listed.map(({ id, providerId }) => [id, providerId])).toEqual(
    ids.toReversed().map((id) => [id, `${ids[0]}@loja.test`]),
  );
  expect(Object.keys(listed[0]).length).toBe(8);
  expect(pombo.bugs).toEqual([]);
});

test("one recipient in an array is answered as one address is, with its name in To", async () => {
  await using pombo = await startInstance();
  const { body } = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({ to: ['"Silva, Maria" <Maria@example.com>'] }),
  });
  expect(body).toEqual({ data: { id: expect.stringMatching(UUID_V7), status: "queued" } });
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect(field(pombo.mx.messages[0]?.content ?? Buffer.of(), "To")).toBe('"Silva, Maria" <Maria@example.com>');
  expect(await recordOf(pombo, body.data.id)).toMatchObject({
    ...{ to: "Maria@example.com", toName: "Silva, Maria", kind: "to", groupId: null, recipients: null },
  });
  expect(countRows(pombo, "email_extra")).toBe(0);
});

test("a plain email writes the rows of before and no others", async () => {
  await using pombo = await startInstance();
  await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ replyTo: "ana@example.com" }) });
  await pombo.app.worker.idle();
  const row = pombo.app.db.sqlite.query("SELECT kind, group_id, recipient_name, tag, send_at FROM email").get();
  expect(row).toEqual({ kind: "to", group_id: null, recipient_name: null, tag: null, send_at: null });
  for (const table of ["email_extra", "attachment", "email_attachment"]) expect(countRows(pombo, table)).toBe(0);
});

test("groupId, tag and to find the emails of a group, and nothing of another workspace", async () => {
  await using pombo = await startInstance();
  const { id, recipients } = await sendGroup(pombo, { tag: "receipt:2026" });
  await sendGroup(pombo, { tag: "other" });
  const { body: alone } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ tag: "receipt:2026" }) });
  const found = async (query: string, client = pombo.workspace) => {
    const { status, body } = await client.call("GET", `${EMAILS}?limit=100&${query}`);
    expect([query, status]).toEqual([query, 200]);
    expect(body.meta.total).toBe(body.data.length);
    return body.data.map((email: Json) => email.id);
  };
  const ids = recipients.map((one: Json) => one.id).toReversed();
  expect(await found(`groupId=${id}`)).toEqual(ids);
  expect(await found(`groupId=${id.toUpperCase()}`)).toEqual(ids);
  expect(await found(`groupId=${id}&to=contas@example.com`)).toEqual([ids[1]]);
  expect(await found(`groupId=${id}&status=canceled`)).toEqual([]);
  // Only the first one's id is the group's.
  expect(await found(`groupId=${recipients[1].id}`)).toEqual([]);
  expect(await found(`groupId=${alone.data.id}`)).toEqual([]);
  expect(await found("tag=receipt:2026")).toEqual([alone.data.id, ...ids]);
  expect(await found("tag=receipt:2026&to=joao@example.com")).toEqual([ids[2]]);
  expect(await found("tag=receipt")).toEqual([]);
  const other = await pombo.newWorkspace();
  expect(await found(`groupId=${id}`, other)).toEqual([]);
  expect(await found("tag=receipt:2026", other)).toEqual([]);
  expectErrors(await pombo.workspace.call("GET", `${EMAILS}?tag=a%20b`), 422, [{ field: "tag" }]);
  expectErrors(await pombo.workspace.call("GET", `${EMAILS}?groupId=x`), 422, [{ field: "groupId" }]);
});

test("of several the suppressed get nothing and cost nothing; when all are, nothing is accepted", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  const suppress = (address: string) =>
    pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address, reason: "complaint" } });
  await suppress("maria@example.com");
  const sent = await sendGroup(pombo);
  expect(sent.recipients.map(({ status }: Json) => status)).toEqual(["suppressed", "queued", "queued", "queued"]);
  expect(sent).toMatchObject({ id: sent.recipients[0].id, status: "queued" });
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.length).toBe(3);
  // It stays in To: all copies show the same.
  for (const { content } of pombo.mx.messages)
    expect(field(content, "To")).toBe("Maria Silva <maria@example.com>, joao@example.com");
  expect(await recordOf(pombo, sent.id)).toMatchObject({
    ...{ status: "suppressed", attempts: 0, failedReason: "The recipient is suppressed (complaint)", providerId: null },
  });
  expect((await timelineOf(pombo, sent.id)).map(({ type }) => type)).toEqual(["email.queued", "email.suppressed"]);
  const used = pombo.app.db.sqlite.query("SELECT count FROM usage WHERE name = 'emails'").all();
  expect(used).toEqual([{ count: 3 }]);
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  await receiver.until(() => receiver.calls.filter(({ event }) => event.type === "email.delivered").length === 3);
  await pombo.app.webhooks.worker.idle();
  const told = receiver.calls.filter(({ event }) => event.data.id === sent.id).map(({ event }) => event.type);
  expect(told).toEqual(["email.suppressed"]);

  for (const address of ["joao@example.com", "contas@example.com", "arquivo@example.com"]) await suppress(address);
  const refused = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(PEOPLE) });
  const code = "RECIPIENT_SUPPRESSED";
  expectErrors(refused, 422, [
    { code, field: "to", path: "to[0]", message: "suppressed (complaint)" },
    { code, field: "to", path: "to[1]" },
    { code, field: "cc" },
    { code, field: "bcc", path: "bcc[0]" },
  ]);
  const batch = { emails: [pombo.email({ to: "z@example.com" }), pombo.email({ to: "joao@example.com" })] };
  expectErrors(await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: batch }), 422, [
    { code, field: "to", path: "emails[1].to" },
  ]);
});

test("the quota counts recipients, and a batch may have as many of them as emails, and always fifty", async () => {
  await using held = await startHeld(NOON, {
    configure: (config) => void Object.assign(config.plans["launch"] ?? {}, { emailsPerDay: 60, batch: 10 }),
  });
  const { pombo } = held;
  const workspace = await held.pombo.newWorkspace("launch");
  await pombo.addDomain(workspace, "small.test");
  const email = (count: number) =>
    pombo.email({ from: "a@small.test", to: Array.from({ length: count }, (_, index) => `r${index}@example.com`) });
  const batch = (...counts: number[]) =>
    workspace.call("POST", `${EMAILS}/batch`, { body: { emails: counts.map(email) } });
  const refused = await batch(49, 2);
  expectErrors(refused, 422, [{ code: "BATCH_LIMIT_EXCEEDED", field: "emails", message: /50 recipients.*has 51/ }]);
  expect((await batch(49, 1)).body.data.map(({ recipients }: Json) => recipients?.length ?? null)).toEqual([49, null]);
  expectErrors(await workspace.call("POST", EMAILS, { body: email(11) }), 402, [{ code: "DAILY_QUOTA_EXCEEDED" }]);
  expect((await workspace.call("POST", EMAILS, { body: email(10) })).status).toBe(202);
});

test("a bounce of one copy ends that one and suppresses its recipient; a repeated request changes nothing", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const headers = { "idempotency-key": "once" };
  const body = pombo.email(PEOPLE);
  const first = await pombo.workspace.call("POST", EMAILS, { body, headers });
  await pombo.app.worker.idle();
  const [, joao] = first.body.data.recipients;
  await pombo.app.receive(bounce(joao.id));
  const statuses = (await recordOf(pombo, first.body.data.id)).recipients.map(({ status }: Json) => status);
  expect(statuses).toEqual(["delivered", "bounced", "delivered", "delivered"]);
  const { body: list } = await pombo.workspace.call("GET", "/api/v1/suppressions");
  expect(list.data.map(({ address }: Json) => address)).toEqual(["joao@example.com"]);
  const again = await pombo.workspace.call("POST", EMAILS, { body, headers });
  expect([again.status, again.text]).toEqual([202, first.text]);
  expect(countRows(pombo, "email")).toBe(4);
  expect(
    errorItems(await pombo.workspace.call("POST", EMAILS, { body: { ...body, to: joao.address, cc: [] } })),
  ).toEqual([expect.objectContaining({ field: "cc", message: "cc must hold at least 1 item" })]);
});

test("a complaint about a blind copy is that copy's, whatever the report repeats of it", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const sent = await sendGroup(pombo);
  await pombo.app.worker.idle();
  const [first, , , bcc] = sent.recipients;
  const copy = pombo.mx.messages.find(({ to }) => to[0] === bcc.address)?.content ?? Buffer.of();
  const names = ["To", "Cc", "Message-ID", "X-Pombo-Trace"];
  const lines = names.map((name) => `${name}: ${field(copy, name)}`);
  expect(lines[2]).toBe(`Message-ID: <${first.id}@loja.test>`);
  await pombo.app.receive(toLoop(complaint({ copy: lines })));
  const statuses = (await recordOf(pombo, first.id)).recipients.map(({ status }: Json) => status);
  expect(statuses).toEqual(["delivered", "delivered", "delivered", "complained"]);
  const { body: list } = await pombo.workspace.call("GET", "/api/v1/suppressions");
  expect(list.data).toMatchObject([{ address: bcc.address, reason: "complaint", list: null }]);
  expect(list.data.length).toBe(1);
  // All copies have that Message-ID: without the token it is nobody's.
  await pombo.app.receive(toLoop(complaint({ copy: lines.slice(0, 3) })));
  expect((await pombo.workspace.call("GET", "/api/v1/suppressions")).body.data.length).toBe(1);
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
});

test("a scheduled group gets another time and is canceled as one, and each copy leaves at its own", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  const in2h = new Date(NOON + 2 * HOUR).toISOString();
  const in3h = new Date(NOON + 3 * HOUR).toISOString();
  const sent = await sendGroup(pombo, { sendAt: in2h });
  const dropped = await sendGroup(pombo, { sendAt: in2h });
  expect(sent).toMatchObject({ id: sent.recipients[0].id, status: "scheduled" });
  expect(sent.recipients.map(({ status }: Json) => status)).toEqual(Array(4).fill("scheduled"));
  const ids: string[] = sent.recipients.map(({ id }: Json) => id);
  const [first = "", second = "", third = "", bcc = ""] = ids;
  const change = (id: string, sendAt: string, query = "") =>
    pombo.workspace.call("PATCH", `${EMAILS}/${id}${query}`, { body: { sendAt } });
  const times = async () => (await Promise.all(ids.map((id) => recordOf(pombo, id)))).map(({ sendAt }) => sendAt);
  // Asked by a blind copy, it is all of them; without the word only one.
  expect((await change(bcc, in3h, "?group=true")).body.data).toMatchObject({ id: bcc, sendAt: in3h });
  expect(await times()).toEqual([in3h, in3h, in3h, in3h]);
  expect((await change(second, in2h)).status).toBe(200);
  expect(await times()).toEqual([in3h, in2h, in3h, in3h]);
  const canceled = await pombo.workspace.call("POST", `${EMAILS}/${dropped.recipients[2].id}/cancel?group=true`);
  expect(canceled.body.data.recipients.map(({ status }: Json) => status)).toEqual(Array(4).fill("canceled"));
  expect((await pombo.workspace.call("POST", `${EMAILS}/${third}/cancel`)).status).toBe(200);

  await held.advance(2 * HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.map(({ to }) => to)).toEqual([["joao@example.com"]]);
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.map(({ to }) => to[0]).toSorted()).toEqual([
    ...["arquivo@example.com", "joao@example.com", "maria@example.com"],
  ]);
  // The canceled one stays in Cc: all copies show the same.
  for (const { content } of pombo.mx.messages) {
    expect(field(content, "Cc")).toBe('"Contas, Lda" <contas@example.com>');
    expect(field(content, "Message-ID")).toBe(`<${first}@loja.test>`);
  }
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  expect(pombo.bugs).toEqual([]);
});

const SAID = "mailbox over quota";

test.each<[where: string, changes: Record<string, unknown>, category: string, said: string]>([
  ["nowhere", {}, "mailbox_full", SAID],
  ["nowhere, with hyphens", {}, "mailbox_full", "Mailbox-over-quota"],
  ["a header field", { headers: { "X-Note": SAID } }, "unknown", SAID],
  ["a header field's name", { headers: { "Mailbox-over-quota": "x" } }, "unknown", "Mailbox-over-quota"],
  ["the recipient's name", { to: `${SAID} <maria@example.com>` }, "unknown", SAID],
  ["a name in Reply-To", { replyTo: ["a@loja.test", `${SAID} <b@loja.test>`] }, "unknown", SAID],
  ["another recipient's name", { cc: `${SAID} <joao@example.com>` }, "unknown", SAID],
])("words that a server repeats from %s are not its own", async (_, changes, category, said) => {
  await using held = await startHeld(NOON, { mx: { dot: `550 Rejected: ${said}` } });
  const { pombo } = held;
  const { body } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, body.data.id)).bounce.category).toBe(category);
});
