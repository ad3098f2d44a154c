// What a webhook's calls say: one webhook, its calls by status, and one call with what was sent and answered.

import { expect, setDefaultTimeout, test } from "bun:test";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { expectErrors, omit, UNKNOWN_ID } from "../../support/api/kit.ts";
import { DAY, HOUR, SECOND, startCalled } from "../../support/api/webhook-kit.ts";
import { addPerson } from "../../support/people/member.ts";

setDefaultTimeout(20_000);

const BROKEN = () => new Response("first\r\n\u001b[31msecond\u0000 \u202Eend", { status: 503 });

/** An event whose first call failed and whose second one succeeded. */
async function startAnswered() {
  const receiver = startReceiver();
  receiver.answer = BROKEN;
  const on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.idle();
  receiver.answer = () => new Response("thanks");
  await on.advance(6 * SECOND);
  await receiver.until(() => receiver.calls.length === 2);
  await on.idle();
  const { workspace } = on.pombo;
  return {
    ...on,
    receiver,
    list: async (query = "") => (await workspace.call("GET", `${on.path}/deliveries${query}`)).body,
    record: async (id: string): Promise<Json> => (await workspace.call("GET", `${on.path}/deliveries/${id}`)).body.data,
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

test("one webhook is shown as in the list", async () => {
  await using on = await startAnswered();
  const { body, text } = await on.pombo.workspace.call("GET", on.path);
  expect(body.data).toEqual(await on.shown());
  expect(text).not.toContain("whsec");
});

test("a call is shown with what was sent, the beginning of the answer and the event's other calls", async () => {
  await using on = await startAnswered();
  const [second, first] = (await on.list()).data;
  const [failed, delivered] = [await on.record(first.id), await on.record(second.id)];
  expect(failed).toMatchObject({ ...first, responseBody: "first\n\uFFFD[31msecond\uFFFD \uFFFDend" });
  expect(delivered).toMatchObject({ ...second, responseBody: "thanks" });
  // What was signed, byte for byte.
  expect([failed.payload, delivered.payload]).toEqual(on.receiver.calls.map(({ body }) => body));
  expect(failed.attempts).toEqual([second, first]);
  expect(omit(failed, "payload", "responseBody", "attempts")).toEqual(first);
});

test("the calls of one status are listed and counted by themselves, newest first", async () => {
  await using on = await startAnswered();
  await on.test();
  await on.receiver.until(() => on.receiver.calls.length === 3);
  await on.idle();
  const all = await on.list();
  expect(all.data.map(({ responseStatus }: Json) => responseStatus)).toEqual([200, 200, 503]);
  const [newest, second, first] = all.data;
  const delivered = await on.list("?status=delivered");
  expect(delivered).toEqual({ data: [newest, second], meta: { total: 2, perPage: 20, page: 1, lastPage: 1 } });
  expect((await on.list("?status=delivered&limit=1&page=2")).data).toEqual([second]);
  expect(await on.list("?status=failed")).toMatchObject({ data: [first], meta: { total: 1 } });
  expect((await on.list("?status=failed&page=2")).data).toEqual([]);
  const unknown = await on.pombo.workspace.call("GET", `${on.path}/deliveries?status=late`);
  expectErrors(unknown, 422, [{ field: "status" }]);
});

test("a list by status ends where counting does, and says so", async () => {
  await using on = await startAnswered();
  on.pombo.app.db.sqlite.run(
    `INSERT INTO webhook_delivery (uid, webhook_id, event_id, event_uid, event_type, attempt, created_at, failed_at, duration_ms)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
     SELECT 'n' || i, webhook_id, event_id, event_uid, event_type, 1, i, i, 0 FROM n, webhook_delivery WHERE failed_at IS NOT NULL`,
  );
  const { data, meta } = await on.list("?status=failed&limit=100&page=100");
  expect([data.length, meta]).toEqual([
    100,
    { total: 10_000, perPage: 100, page: 100, lastPage: 100, totalIsMinimum: true },
  ]);
  expect((await on.list("?status=failed&limit=100&page=101")).data).toEqual([]);
  expect((await on.list("?status=delivered")).meta).toEqual({ total: 1, perPage: 20, page: 1, lastPage: 1 });
});

test("a call that got no answer has no body, and one whose event has expired no payload", async () => {
  await using on = await startAnswered();
  await on.receiver[Symbol.asyncDispose]();
  await on.test();
  await on.idle();
  const [refused] = (await on.list("?status=failed")).data;
  expect(await on.record(refused.id)).toMatchObject({ responseStatus: null, responseBody: null });
  on.pombo.app.db.sqlite.run("DELETE FROM event");
  expect(await on.record(refused.id)).toMatchObject({ payload: null, attempts: [{ id: refused.id }] });
});

test("retention removes a call with its answer", async () => {
  await using on = await startAnswered();
  const [{ id }] = (await on.list()).data;
  await on.advance(31 * DAY + HOUR);
  const answer = await on.pombo.workspace.call("GET", `${on.path}/deliveries/${id}`);
  expect(answer.status).toBe(404);
  expect(on.pombo.app.db.sqlite.query("SELECT response_body FROM webhook_delivery").all()).toEqual([]);
});

test("another workspace's webhook and call do not exist, nor does a call of another webhook", async () => {
  await using on = await startAnswered();
  const { pombo } = on;
  const [{ id }] = (await on.list()).data;
  const stranger = await pombo.newWorkspace();
  const body = { url: on.receiver.url, events: ["*"] };
  const other = (await pombo.workspace.call("POST", "/api/v1/webhooks", { body })).body.data.id;
  const asked: [typeof stranger, string][] = [
    [stranger, on.path],
    [stranger, `${on.path}/deliveries?status=failed`],
    [stranger, `${on.path}/deliveries/${id}`],
    [pombo.workspace, `/api/v1/webhooks/${other}/deliveries/${id}`],
    [pombo.workspace, `${on.path}/deliveries/${UNKNOWN_ID}`],
    [pombo.workspace, `/api/v1/webhooks/${UNKNOWN_ID}`],
  ];
  for (const [client, path] of asked) expect([path, (await client.call("GET", path)).status]).toEqual([path, 404]);
});

test("a viewer reads bodies only where an owner lets viewers see what messages say; an operator is noted", async () => {
  await using on = await startAnswered();
  const { pombo } = on;
  const [{ id }] = (await on.list()).data;
  const now = Date.now();
  const owner = addPerson(pombo, { role: "owner", now });
  const viewer = addPerson(pombo, { role: "viewer", now });
  const operator = addPerson(pombo, { role: null, isOperator: true, now });
  const record = `${on.path}/deliveries/${id}`;
  const read = async (person: typeof viewer) => {
    const { status, body } = await person.act("GET", record);
    expect(status).toBe(200);
    return [body.data.payload, body.data.responseBody];
  };
  const { body } = on.receiver.calls[1]!;
  expect(await read(owner)).toEqual([body, "thanks"]);
  for (const person of [viewer, operator]) expect(await read(person)).toEqual([null, null]);
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: true, operatorsSeeContent: true } });
  for (const person of [viewer, operator]) expect(await read(person)).toEqual([body, "thanks"]);
  const audit = (await owner.act("GET", "/api/v1/workspace/audit")).body.data;
  expect(audit.filter(({ action }: Json) => action === "content.read")).toMatchObject([
    { target: record.replace("/api/v1/", "") },
  ]);
  for (const path of [`${on.path}/test`, `${record}/replay`])
    expect((await viewer.act("POST", path)).body.errors[0].code).toBe("ROLE_REQUIRED");
});

test("a key of one domain reads no webhook", async () => {
  await using pombo = await startInstance();
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const body = { name: "one", domainId: domains.body.data[0].id };
  const { key } = (await pombo.workspace.call("POST", "/api/v1/auth/keys", { body })).body.data;
  for (const rest of ["", `/deliveries`, `/deliveries/${UNKNOWN_ID}`]) {
    const answer = await pombo.workspace.call("GET", `/api/v1/webhooks/${UNKNOWN_ID}${rest}`, {
      headers: { "x-api-key": key },
    });
    expect([rest, answer.status, answer.body.errors[0].code]).toEqual([rest, 403, "API_KEY_RESTRICTED"]);
  }
});
