import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { expectErrors, startHeld, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";
import { rows, send, startWithSms, text, TO, usageOf } from "./texts.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;

const ledger = async (pombo: Instance): Promise<[string, number, number | null][]> => {
  const { body } = await pombo.operator.call("GET", `/api/v1/operator/workspaces/${pombo.workspace.id}/credits`);
  return body.data.map((each: Json) => [each.kind, each.amount, each.segments]);
};

test("a text is queued, encoded and paid for, and its record has exactly the interface's members and ours", async () => {
  await using pombo = await startWithSms();
  const sent = await send(pombo, text({ from: "Loja" }));
  expect([sent.status, sent.body]).toEqual([202, { data: { id: expect.stringMatching(UUID_V7), status: "queued" } }]);
  const { id } = sent.body.data;
  const { status, body } = await pombo.workspace.call("GET", `/api/v1/sms/${id.toUpperCase()}`);
  expect([status, body.data]).toEqual([
    200,
    {
      id,
      to: TO,
      from: "Loja",
      body: "Olá",
      status: "queued",
      deliveryState: null,
      failureCategory: null,
      providerStatus: null,
      providerErrorCode: null,
      providerId: null,
      failedReason: null,
      createdAt: expect.stringMatching(TIMESTAMP),
      sentAt: null,
      deliveredAt: null,
      lastEventAt: null,
      segments: 1,
      encoding: "ucs2",
      credits: 1,
      possibleDuplicate: false,
      sentBy: { kind: "api_key", id: expect.stringMatching(UUID_V7), name: expect.stringContaining("default") },
    },
  ]);
  expect(
    rows(pombo, "SELECT seq, parts, state, route, priority, reference, hex(payload) AS payload FROM sms_segment"),
  ).toEqual([
    {
      seq: 1,
      parts: 1,
      state: "ready",
      route: "test",
      priority: "transactional",
      reference: null,
      payload: "004F006C00E1",
    },
  ]);
  expect(await usageOf(pombo.workspace)).toEqual({ smsThisMonth: 1, smsCreditsBalance: 99 });
  expect(await ledger(pombo)).toEqual([
    ["reservation", -1, 1],
    ["grant", 100, null],
  ]);
});

test("a long text is cut once, at acceptance, and every part is paid for; parts to one number have references of their own", async () => {
  await using pombo = await startWithSms();
  for (const body of ["x".repeat(161), "€".repeat(1_600)]) await send(pombo, text({ body }));
  await send(pombo, text({ to: "+258841234568", body: "y".repeat(161) }));
  const parts = rows(
    pombo,
    "SELECT message_id AS id, COUNT(*) AS parts, MIN(reference) AS least, MAX(reference) AS most FROM sms_segment GROUP BY 1",
  );
  expect(parts).toEqual([
    { id: 1, parts: 2, least: 0, most: 0 },
    { id: 2, parts: 22, least: 1, most: 1 },
    { id: 3, parts: 2, least: 0, most: 0 },
  ]);
  const umrs = rows<{ umr: number }>(pombo, "SELECT umr FROM sms_segment");
  expect(new Set(umrs.map(({ umr }) => umr)).size).toBe(26);
  const { body } = await pombo.workspace.call("GET", "/api/v1/sms");
  expect(body.data.map((each: Json) => [each.segments, each.credits, each.encoding])).toEqual([
    [2, 2, "gsm7"],
    [22, 22, "gsm7"],
    [2, 2, "gsm7"],
  ]);
  expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(74);
});

test("what a preview says is what a send takes, folded or not", async () => {
  await using pombo = await startWithSms(100);
  const bodies = [
    "Não partilhe este código com ninguém. ".repeat(3),
    "Olá",
    "“Olá” — até já… ".repeat(8),
    "x".repeat(306),
    "😀".repeat(71),
  ];
  for (const smsFolding of ["none", "punctuation", "portuguese"]) {
    await pombo.operator.call("PATCH", `/api/v1/operator/workspaces/${pombo.workspace.id}`, { body: { smsFolding } });
    for (const body of bodies) {
      const preview = await pombo.workspace.call("POST", "/api/v1/sms/preview", { body: text({ body }) });
      const sent = await send(pombo, text({ body }));
      const record = (await pombo.workspace.call("GET", `/api/v1/sms/${sent.body.data.id}`)).body.data;
      const { encoding, segments, credits } = preview.body.data;
      expect([body, record.encoding, record.segments, record.credits]).toEqual([body, encoding, segments, credits]);
      // The body is shown as it was given, whatever is sent.
      expect(record.body).toBe(body);
    }
  }
});

test("a preview shows what forces UCS-2 and what folding would save, and takes nothing", async () => {
  await using pombo = await startWithSms();
  const body = "O seu código de verificação é 482913. Não partilhe este código com ninguém.";
  const preview = await pombo.workspace.call("POST", "/api/v1/sms/preview", { body: { body } });
  expect([preview.status, preview.body.data]).toEqual([
    200,
    {
      encoding: "ucs2",
      segments: 2,
      credits: 2,
      offending: ["ó", "ç", "ã"],
      doubled: [],
      without: { encoding: "gsm7", segments: 1, credits: 1 },
      folded: {
        body: "O seu codigo de verificacao é 482913. Nao partilhe este codigo com ninguém.",
        encoding: "gsm7",
        segments: 1,
        credits: 1,
      },
      sentText: body,
      unitsUsed: 75,
      unitsLeft: 59,
    },
  ]);
  expect(rows(pombo, "SELECT id FROM sms_message")).toEqual([]);
  expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(100);
});

// Each row: the members that are wrong, and the field and words of the fault.
const FAULTS: [changes: Record<string, unknown>, field: string, message: string][] = [
  [{ to: undefined }, "to", "required"],
  [{ to: "841234567" }, "to", "E.164"],
  [{ to: "+258 84 123 4567" }, "to", "E.164"],
  [{ to: "+258811234567" }, "to", "Mozambican"],
  [{ to: "+258881234567" }, "to", "Mozambican"],
  [{ to: "+25884123456" }, "to", "E.164"],
  [{ to: "+2588412345678" }, "to", "E.164"],
  [{ to: "+351912345678" }, "to", "Mozambican"],
  [{ to: "+258841234567\n" }, "to", "E.164"],
  [{ to: 258841234567 }, "to", "must be a string"],
  [{ to: [TO] }, "to", "must be a string"],
  [{ body: "" }, "body", "must not be empty"],
  [{ body: "x".repeat(1_601) }, "body", "at most 1,600"],
  [{ body: "a\u0000b" }, "body", "control characters"],
  [{ body: "a\u001bb" }, "body", "control characters"],
  [{ body: "a\ud800b" }, "body", "surrogate"],
  [{ body: null }, "body", "must be a string"],
  [{ from: "" }, "from", "must not be empty"],
  [{ from: "x".repeat(21) }, "from", "at most 20"],
  [{ subject: "x" }, "subject", "not a member"],
];

test("each fault of a field is 422 and names the field and what it must be", async () => {
  await using pombo = await startWithSms();
  for (const [changes, field, message] of FAULTS) {
    const answer = await send(pombo, text(changes));
    const seen = answer.body.errors?.map((each: Json) => [each.field, each.message]);
    expect([changes, answer.status, seen]).toEqual([changes, 422, [[field, expect.stringContaining(message)]]]);
  }
  const [local] = (await send(pombo, text({ to: "841234567" }))).body.errors as Json[];
  expect(local?.hint).toBe("Write + and the country code at its beginning: +258841234567.");
  expectErrors(await send(pombo, { to: "x", from: "", extra: 1 }), 422, [
    { field: "to" },
    { field: "body" },
    { field: "from" },
    { field: "extra" },
  ]);
});

test("1,600 characters outside the plane of sixteen bits are taken, in 49 segments", async () => {
  await using pombo = await startWithSms();
  const { status, body } = await send(pombo, text({ body: "😀".repeat(1_600) }));
  expect(status).toBe(202);
  expect((await pombo.workspace.call("GET", `/api/v1/sms/${body.data.id}`)).body.data.segments).toBe(49);
});

test("other prefixes than the interface's are the operator's to allow, and the document says which", async () => {
  await using pombo = await startWithSms(100, (config) => {
    config.sms.prefixes = ["25884", "25888"];
  });
  expect((await send(pombo, text({ to: "+258881234567" }))).status).toBe(202);
  expectErrors(await send(pombo, text({ to: "+258821234567" })), 422, [{ field: "to" }]);
  const { body } = await pombo.workspace.call("GET", "/api/v1/openapi.json");
  expect(JSON.stringify(body)).toContain(String.raw`^\\+(?:25884\\d{7}|25888\\d{7})$`);
});

test("the sender id is one of the workspace's, to the letter, or its default", async () => {
  await using pombo = await startWithSms();
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}/sender-ids`;
  await pombo.operator.call("POST", path, { body: { name: "Promo" } });
  const fromOf = async (from?: string) => {
    const { body } = await send(pombo, text(from === undefined ? {} : { from }));
    return (await pombo.workspace.call("GET", `/api/v1/sms/${body.data.id}`)).body.data.from;
  };
  expect([await fromOf(), await fromOf("Promo"), await fromOf("Loja")]).toEqual(["Loja", "Promo", "Loja"]);
  for (const from of ["loja", "Loja ", "Bank"])
    expectErrors(await send(pombo, text({ from })), 422, [{ code: "SENDER_NOT_ALLOWED", field: "from" }]);
  const { body } = await send(pombo, text({ from: "Bank" }));
  expect(body.errors[0].hint).toContain('"Loja", "Promo"');
  for (const name of ["Loja", "Promo"]) await pombo.operator.call("DELETE", `${path}/${name}`);
  expectErrors(await send(pombo, text()), 422, [
    { code: "SENDER_NOT_ALLOWED", field: "from", message: "no sender id" },
  ]);
});

test("its priority comes from the sender id, else the workspace, and says how long it may wait", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  await pombo.enableSms(pombo.workspace);
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}`;
  await pombo.operator.call("POST", `${path}/sender-ids`, { body: { name: "Código", priority: "otp" } });
  await pombo.operator.call("POST", `${path}/sender-ids`, { body: { name: "Codigo", priority: "otp" } });
  await send(pombo, text());
  await send(pombo, text({ from: "Codigo" }));
  await pombo.operator.call("PATCH", path, { body: { smsPriority: "bulk" } });
  await send(pombo, text());
  const found = rows<{ priority: string; wait: number }>(
    pombo,
    "SELECT priority, expires_at - created_at AS wait FROM sms_segment s JOIN sms_message m ON m.id = s.message_id ORDER BY m.id",
  );
  expect(found).toEqual([
    { priority: "transactional", wait: DAY_MS },
    { priority: "otp", wait: 600_000 },
    { priority: "bulk", wait: DAY_MS },
  ]);
});

test("a suppressed number is refused until that is lifted; the same address on the other channel is another", async () => {
  await using pombo = await startWithSms();
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: TO, reason: "opt_out" } });
  const refused = await send(pombo, text());
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: "opt_out" }]);
  expect((await send(pombo, text({ to: "+258841234568" }))).status).toBe(202);
  await pombo.workspace.call("DELETE", `/api/v1/suppressions/${encodeURIComponent(TO)}?channel=sms`);
  expect((await send(pombo, text())).status).toBe(202);
});

test("the free plan has no SMS, and too few credits are told with both numbers", async () => {
  await using pombo = await startWithSms(2);
  expectErrors(await send(pombo, text({ body: "x".repeat(307) })), 402, [
    { code: "INSUFFICIENT_SMS_CREDITS", message: "needs 3 SMS credits and the balance is 2" },
  ]);
  expect((await send(pombo, text({ body: "x".repeat(306) }))).status).toBe(202);
  expectErrors(await send(pombo, text()), 402, [{ code: "INSUFFICIENT_SMS_CREDITS" }]);
  expect(rows(pombo, "SELECT id FROM sms_message")).toHaveLength(1);
  expect(await usageOf(pombo.workspace)).toEqual({ smsThisMonth: 1, smsCreditsBalance: 0 });
  const free = await pombo.newWorkspace("launch");
  await pombo.enableSms(free);
  expectErrors(await free.call("POST", "/api/v1/sms", { body: text() }), 402, [{ code: "PLAN_UPGRADE_REQUIRED" }]);
});

test("of many that come at once no more are taken than there are credits", async () => {
  await using pombo = await startWithSms(10);
  const answers = await Promise.all(Array.from({ length: 30 }, () => send(pombo, text({ body: "x".repeat(161) }))));
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(202), count(402)]).toEqual([5, 25]);
  expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(0);
});

test("a number that no route leads to is refused, and the longest prefix decides the others", async () => {
  await using pombo = await startWithSms(100, (config) => {
    config.sms.routes = [
      { ...defaultSmsRoute("vodacom"), prefixes: ["25884", "25885"] },
      { ...defaultSmsRoute("one"), prefixes: ["258841234567"] },
      { ...defaultSmsRoute("tmcel"), prefixes: ["25882"], segmentation: "udh16" },
    ];
  });
  for (const [to, route] of [
    ["+258841234567", "one"],
    ["+258841234568", "vodacom"],
    ["+258851234567", "vodacom"],
    ["+258821234567", "tmcel"],
  ]) {
    const { body } = await send(pombo, text({ to }));
    const found = rows(
      pombo,
      `SELECT route FROM sms_segment JOIN sms_message ON id = message_id WHERE uid = '${body.data.id}'`,
    );
    expect([to, found]).toEqual([to, [{ route }]]);
  }
  expectErrors(await send(pombo, text({ to: "+258861234567" })), 422, [{ field: "to", message: "no route" }]);
  const preview = (to: string) =>
    pombo.workspace.call("POST", "/api/v1/sms/preview", { body: { to, body: "x".repeat(305) } });
  expectErrors(await preview("+258861234567"), 422, [{ field: "to", message: "no route" }]);
  // 152 septets beside a reference of 16 bits, 153 beside one of 8.
  expect((await preview("+258821234567")).body.data.segments).toBe(3);
  expect((await preview("+258841234567")).body.data.segments).toBe(2);
  expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(96);
});
