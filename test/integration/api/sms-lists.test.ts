// What people look for among SMS: by number, status and time, sent and received, and the ledger of credits.

import { describe, expect, test } from "bun:test";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { expectErrors } from "../../support/api/kit.ts";
import { browserHeaders, openStream } from "../../support/people/live-stream.ts";
import { signUpOperator } from "../../support/people/browser.ts";
import { addPerson } from "../../support/people/member.ts";
import { send, startWithSms, text, TO, usageOf } from "./texts.ts";

const OTHER = "+258841234568";
const CREDITS = "/api/v1/workspace/credits";

/** Gives the messages of a number times a minute apart, in the order of their ids, and half of them another status. */
function spread({ app }: Instance): void {
  app.db.sqlite.run("UPDATE sms_message SET created_at = id * 60000, status = iif(id % 2 = 0, 'delivered', 'failed')");
}

const at = (minutes: number) => new Date(minutes * 60_000).toISOString();

async function list({ workspace }: Instance, query: string): Promise<{ ids: string[]; meta: Json }> {
  const { status, body } = await workspace.call("GET", `/api/v1/sms${query}`);
  expect([status, body.errors]).toEqual([200, undefined]);
  return { ids: body.data.map((each: Json) => each.createdAt.slice(14, 16)), meta: body.meta };
}

describe("sent SMS", () => {
  test("are found by time, from `since` on and before `until`, beside number and status", async () => {
    await using pombo = await startWithSms();
    for (let n = 0; n < 6; n += 1) await send(pombo, text({ to: n < 4 ? TO : OTHER }));
    spread(pombo);
    const to = encodeURIComponent(TO);
    const found = async (query: string) => (await list(pombo, query)).ids;
    expect(await found(`?since=${at(2)}&until=${at(5)}`)).toEqual(["04", "03", "02"]);
    expect(await found(`?since=${at(5)}`)).toEqual(["06", "05"]);
    expect(await found(`?until=1970-01-01T02:03:00%2B02:00`)).toEqual(["02", "01"]);
    expect(await found(`?since=${at(2)}&to=${to}`)).toEqual(["04", "03", "02"]);
    expect(await found(`?since=${at(2)}&status=failed`)).toEqual(["05", "03"]);
    expect(await found(`?since=${at(2)}&status=failed&to=${to}`)).toEqual(["03"]);
    const first = await list(pombo, `?until=${at(6)}&limit=2`);
    expect([first.ids, first.meta.has_more]).toEqual([["05", "04"], true]);
    const second = await list(pombo, `?until=${at(6)}&limit=2&cursor=${first.meta.next_cursor}`);
    expect(second.ids).toEqual(["03", "02"]);
  });

  test("of a number with very many, those with a status come page by page, and no page looks at all of them", async () => {
    await using pombo = await startWithSms();
    await send(pombo, text());
    const columns =
      "workspace_id, recipient, sender, body, encoding, alphabet, segments, credits, expires_at, is_final";
    pombo.app.db.sqlite.run(
      `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 12001)
       INSERT INTO sms_message (uid, created_at, status, ${columns})
       SELECT 'u' || i, i, 'delivered', workspace_id, recipient, sender, body, encoding, alphabet, segments, credits, expires_at, 1
       FROM n, sms_message WHERE id = 1`,
    );
    spread(pombo);
    pombo.app.db.sqlite.run("UPDATE sms_message SET status = iif(id = 1, 'failed', 'delivered')");
    const query = `?status=failed&to=${encodeURIComponent(TO)}`;
    const pages: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Json = await list(pombo, cursor === null ? query : `${query}&cursor=${cursor}`);
      pages.push(page.ids.length);
      cursor = page.meta.next_cursor;
    } while (cursor !== null);
    expect(pages).toEqual([0, 0, 1]);
    const delivered = await list(pombo, `?status=delivered&limit=2&to=${encodeURIComponent(TO)}`);
    expect([delivered.ids.length, delivered.meta.has_more]).toEqual([2, true]);
  });

  test("a time that is none is refused at its field", async () => {
    await using pombo = await startWithSms();
    const answer = await pombo.workspace.call("GET", "/api/v1/sms?since=yesterday");
    expectErrors(answer, 422, [{ code: "VALIDATION_ERROR", field: "since" }]);
  });
});

test("received SMS are found by sender and time", async () => {
  await using pombo = await startWithSms();
  for (const [n, sender] of [TO, OTHER, TO].entries())
    pombo.app.db.sqlite.run(
      `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
       VALUES (?, 1, 'test', ?, '84000', 'SIM', 1, ?)`,
      [`uid-${n + 1}`, sender, (n + 1) * 60_000],
    );
  const found = async (query: string) =>
    (await pombo.workspace.call("GET", `/api/v1/sms/inbound${query}`)).body.data.map(({ id }: Json) => id);
  expect(await found(`?from=${encodeURIComponent(TO)}`)).toEqual(["uid-3", "uid-1"]);
  expect(await found(`?since=${at(2)}`)).toEqual(["uid-3", "uid-2"]);
  expect(await found(`?from=${encodeURIComponent(TO)}&until=${at(3)}`)).toEqual(["uid-1"]);
});

test("a browser hears the status of the SMS on its screen", async () => {
  await using pombo = await startWithSms();
  const { cookies } = await signUpOperator(pombo);
  const { id } = (await send(pombo, text())).body.data;
  const live = `${pombo.app.url}/api/v1/workspace/live?ids=${id.toUpperCase()}`;
  const stream = await openStream(live, browserHeaders(pombo, cookies));
  expect(await stream.next(({ type }) => type === "sms")).toEqual({ type: "sms", data: { id, status: "queued" } });
  await stream.cancel();
});

describe("the ledger of credits", () => {
  test("has the balance after each change, page by page, for everybody in the workspace, and no note", async () => {
    await using pombo = await startWithSms(10);
    const { id } = (await send(pombo, text({ body: "x".repeat(161) }))).body.data;
    const grant = { body: { amount: -3, note: "owes us 12 MT" } };
    await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/credits`, grant);
    const { body } = await pombo.workspace.call("GET", CREDITS);
    const createdAt = expect.any(String);
    expect(body.data).toEqual([
      { kind: "grant", amount: -3, balance: 5, smsId: null, segments: null, createdAt },
      { kind: "reservation", amount: -2, balance: 8, smsId: id, segments: 2, createdAt },
      { kind: "grant", amount: 10, balance: 10, smsId: null, segments: null, createdAt },
    ]);
    expect((await usageOf(pombo.workspace)).smsCreditsBalance).toBe(5);
    const first = await pombo.workspace.call("GET", `${CREDITS}?limit=2`);
    const rest = await pombo.workspace.call("GET", `${CREDITS}?limit=2&cursor=${first.body.meta.next_cursor}`);
    expect([...first.body.data, ...rest.body.data]).toEqual(body.data);
    const viewer = addPerson(pombo, { role: "viewer" });
    expect((await viewer.act("GET", CREDITS)).status).toBe(200);
  });

  test("is not for a key of one domain", async () => {
    await using pombo = await startWithSms();
    const domainId = await pombo.addDomain(pombo.workspace, "outra.test");
    const created = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x", domainId } });
    const answer = await fetch(`${pombo.app.url}${CREDITS}`, { headers: { "x-api-key": created.body.data.key } });
    expect(answer.status).toBe(403);
  });
});

test("the workspace says whether it can text at all, and from whom", async () => {
  await using pombo = await startWithSms();
  const { body } = await pombo.workspace.call("GET", "/api/v1/workspace");
  expect(body.data.sms).toEqual({ isInPlan: true, isConnected: true, example: "+258841234567" });
  expect(body.data.senderIds.length).toBeGreaterThan(0);
});
