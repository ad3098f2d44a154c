import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";
import { rows, send, startWithSms, text, TO, usageOf } from "./texts.ts";

const NOON = Date.UTC(2026, 10, 21, 12);

test("the same Idempotency-Key gives the first answer byte for byte, and takes nothing again", async () => {
  await using pombo = await startWithSms(1);
  const key = { "Idempotency-Key": " order 7 " };
  const first = await send(pombo, text(), key);
  // Whatever has happened since: no check is run again.
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: TO } });
  await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/block`, { body: {} });
  const again = await send(pombo, text(), { "X-Idempotency-Key": "order 7" });
  expect([again.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([202, first.text, "true"]);
  const other = await send(pombo, text({ body: "x" }), key);
  expect([other.text, other.headers.get("idempotency-mismatch")]).toEqual([first.text, "true"]);
  expectErrors(await send(pombo, text({ body: "x" }), { ...key, "Idempotency-Strict": "true" }), 409, [
    { code: "IDEMPOTENCY_KEY_REUSED" },
  ]);
  expect(rows(pombo, "SELECT id FROM sms_message")).toHaveLength(1);
  // An email's key is another.
  await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/unblock`);
  const email = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email(), headers: key });
  expect([email.status, email.headers.get("idempotent-replayed")]).toEqual([202, null]);
});

test("concurrent twins under one key are one text", async () => {
  await using pombo = await startWithSms();
  const headers = { "Idempotency-Key": "twin" };
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(pombo, text(), headers)));
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  expect(rows(pombo, "SELECT id FROM sms_message")).toHaveLength(1);
  expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(99);
});

test("a refusal leaves the key free, and nothing of the text behind", async () => {
  await using pombo = await startWithSms(1);
  const headers = { "Idempotency-Key": "again" };
  expect((await send(pombo, text({ body: "x".repeat(161) }), headers)).status).toBe(402);
  const second = await send(pombo, text(), headers);
  expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([202, null]);
  expect(rows(pombo, "SELECT COUNT(*) AS count FROM sms_segment")).toEqual([{ count: 1 }]);
});

test("checks come in the order of the decisions: fields, block, sender, suppression, plan, route, credits", async () => {
  await using pombo = await startInstance({
    configure: (config) => {
      config.sms.routes = [{ ...defaultSmsRoute("vodacom"), prefixes: ["25884"] }];
    },
  });
  const workspace = await pombo.newWorkspace("launch");
  const path = `/api/v1/operator/workspaces/${workspace.id}`;
  const to = "+258861234567";
  const codeOf = async (body: unknown) => {
    const { status, body: answer } = await workspace.call("POST", "/api/v1/sms", { body });
    return [status, answer.errors[0].code, answer.errors[0].field];
  };
  await pombo.operator.call("POST", `${path}/block`, { body: { reason: "unpaid" } });
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: to } });
  expect(await codeOf({ to: "x", body: "x" })).toEqual([422, "VALIDATION_ERROR", "to"]);
  expect(await codeOf({ to, body: "x" })).toEqual([403, "SENDING_BLOCKED", undefined]);
  await pombo.operator.call("POST", `${path}/unblock`);
  expect(await codeOf({ to, body: "x" })).toEqual([402, "PLAN_UPGRADE_REQUIRED", undefined]);
  await pombo.operator.call("PATCH", path, { body: { plan: "scale" } });
  expect(await codeOf({ to, body: "x" })).toEqual([422, "SENDER_NOT_ALLOWED", "from"]);
  await pombo.operator.call("POST", `${path}/sender-ids`, { body: { name: "Loja" } });
  expect(await codeOf({ to, body: "x" })).toEqual([422, "RECIPIENT_SUPPRESSED", "to"]);
  await workspace.call("DELETE", `/api/v1/suppressions/${encodeURIComponent(to)}`);
  expect(await codeOf({ to, body: "x" })).toEqual([422, "VALIDATION_ERROR", "to"]);
  expect(await codeOf({ to: TO, body: "x" })).toEqual([402, "INSUFFICIENT_SMS_CREDITS", undefined]);
});

test("bounces and complaints of its email block no text, the operator does", async () => {
  await using pombo = await startWithSms();
  pombo.app.db.sqlite.run("UPDATE workspace SET rate_blocked_at = 1, rate_block_reason = 'x'");
  await pombo.restart();
  expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).status).toBe(403);
  expect((await send(pombo, text())).status).toBe(202);
});

test("a key of one domain neither sends nor reads texts", async () => {
  await using pombo = await startWithSms();
  const { id } = (await send(pombo, text())).body.data;
  const domainId = (await pombo.workspace.call("GET", "/api/v1/domains")).body.data[0].id;
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x", domainId } });
  const { key } = made.body.data;
  for (const [method, path, body] of [
    ["POST", "/api/v1/sms", text()],
    ["POST", "/api/v1/sms/preview", text()],
    ["GET", "/api/v1/sms"],
    ["GET", `/api/v1/sms/${id}`],
    ["GET", "/api/v1/sms/inbound"],
  ] as const) {
    const answer = await pombo.workspace.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    expectErrors(answer, 403, [{ code: "API_KEY_RESTRICTED" }]);
  }
});

test("while the disk is full nothing is accepted, and reading and previews go on", async () => {
  let freeBytes = 10 ** 10;
  const clock = NOON;
  await using held = await startHeld(clock, {
    readFree: () => ({ freeBytes, freeInodesPercent: 50 }),
    configure: (config) => void (config.disk.minFreeBytes = 10 ** 9),
  });
  const { pombo } = held;
  await pombo.enableSms(pombo.workspace);
  freeBytes = 10 ** 8;
  await held.advance(5_000);
  const refused = await send(pombo, text());
  expectErrors(refused, 503, [{ code: "UNAVAILABLE" }]);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await pombo.workspace.call("GET", "/api/v1/sms")).status).toBe(200);
  expect((await pombo.workspace.call("POST", "/api/v1/sms/preview", { body: text() })).status).toBe(200);
  expect(rows(pombo, "SELECT id FROM sms_message")).toEqual([]);
});

test("the list is newest first, goes on while rows arrive, and takes status and number", async () => {
  await using pombo = await startWithSms();
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const to = index % 2 === 0 ? TO : "+258841234568";
    ids.push((await send(pombo, text({ to }))).body.data.id);
  }
  const read = async (query: string) => (await pombo.workspace.call("GET", `/api/v1/sms${query}`)).body;
  const shown = (body: Json) => body.data.map((each: Json) => ids.indexOf(each.id));
  const first = await read("?limit=2");
  expect([shown(first), first.meta.has_more]).toEqual([[4, 3], true]);
  await send(pombo, text());
  const second = await read(`?limit=2&cursor=${first.meta.next_cursor}`);
  const third = await read(`?limit=2&cursor=${second.meta.next_cursor}`);
  expect([...shown(second), ...shown(third)]).toEqual([2, 1, 0]);
  expect(third.meta).toEqual({ has_more: false, next_cursor: null });
  expect(shown(await read(`?to=${encodeURIComponent("+258841234568")}`))).toEqual([3, 1]);
  pombo.app.db.sqlite.run(`UPDATE sms_message SET status = 'failed' WHERE uid = '${ids[1]}'`);
  expect(shown(await read("?status=failed"))).toEqual([1]);
  expect(shown(await read(`?status=failed&to=${encodeURIComponent(TO)}`))).toEqual([]);
  expectErrors(await pombo.workspace.call("GET", "/api/v1/sms?status=lost"), 422, [{ field: "status" }]);
  expectErrors(await pombo.workspace.call("GET", "/api/v1/sms?cursor=x"), 422, [{ field: "cursor" }]);
  expectErrors(await pombo.workspace.call("GET", `/api/v1/sms/inbound?cursor=${first.meta.next_cursor}`), 422, [
    { field: "cursor" },
  ]);
});

test("many texts of one millisecond are all listed, each once", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  await pombo.enableSms(pombo.workspace);
  for (let index = 0; index < 7; index++) await send(pombo, text());
  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body } = await pombo.workspace.call(
      "GET",
      `/api/v1/sms?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    seen.push(...body.data.map((each: Json) => each.id));
    cursor = body.meta.next_cursor;
  }
  expect([seen.length, new Set(seen).size]).toEqual([7, 7]);
});

test("what came in is listed, newest first, for the workspace whose it is", async () => {
  await using pombo = await startWithSms();
  const { sqlite } = pombo.app.db;
  for (const [uid, owner, at] of [
    ["0198a5a0-0000-7000-8000-000000000001", 1, 1_000],
    ["0198a5a0-0000-7000-8000-000000000002", "NULL", 2_000],
    ["0198a5a0-0000-7000-8000-000000000003", 1, 3_000],
  ])
    sqlite.run(
      `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
       VALUES ('${uid}', ${owner}, 'test', '${TO}', '84000', 'Sim', 1, ${at})`,
    );
  const { body } = await pombo.workspace.call("GET", "/api/v1/sms/inbound?limit=1");
  expect(body.data).toEqual([
    {
      id: "0198a5a0-0000-7000-8000-000000000003",
      from: TO,
      to: "84000",
      body: "Sim",
      receivedAt: "1970-01-01T00:00:03.000Z",
    },
  ]);
  const rest = await pombo.workspace.call("GET", `/api/v1/sms/inbound?cursor=${body.meta.next_cursor}`);
  expect(rest.body.data.map((each: Json) => each.id)).toEqual(["0198a5a0-0000-7000-8000-000000000001"]);
});

test("an unknown id is 404, a malformed one 422", async () => {
  await using pombo = await startWithSms();
  expectErrors(await pombo.workspace.call("GET", `/api/v1/sms/${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.workspace.call("GET", "/api/v1/sms/x"), 422, [{ field: "id" }]);
});

test("an accepted text outlasts the process, and waits as it did", async () => {
  await using pombo = await startWithSms();
  const { id } = (await send(pombo, text())).body.data;
  const before = rows(pombo, "SELECT * FROM sms_segment");
  await pombo.restart();
  expect((await pombo.workspace.call("GET", `/api/v1/sms/${id}`)).body.data.status).toBe("queued");
  expect(rows(pombo, "SELECT * FROM sms_segment")).toEqual(before);
  expect(pombo.bugs).toEqual([]);
});
