import { expect, test } from "bun:test";
import { UNKNOWN_ID } from "../../support/api/kit.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { type Client, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { addPerson } from "../../support/people/member.ts";

const LOG = "/api/v1/workspace/requests";

/** An instance, and a way to let the second pass after which requests are in the log. */
async function startLogged() {
  const clock = fakeClock(Date.now());
  const pombo = await startInstance({ clock, steady: systemClock });
  const settle = async () => {
    // What comes while the last second is written waits for one more.
    for (let seconds = 0; seconds < 2; seconds += 1) {
      clock.advance(1_000);
      await pombo.app.committer.flush();
      await new Promise<void>((next) => setImmediate(next));
    }
  };
  await settle();
  return { pombo, clock, settle, [Symbol.asyncDispose]: () => pombo[Symbol.asyncDispose]() };
}

/** Without what the start of the instance asked, and the log's own reads. */
async function list(client: Client, query: string, since: number): Promise<Json[]> {
  const answer = await client.call("GET", `${LOG}?since=${new Date(since).toISOString()}&${query}`);
  expect(answer.status).toBe(200);
  return answer.body.data.filter(({ path }: Json) => !path.startsWith(LOG));
}

test("what programs ask is listed with key, status and the error's words, and by any filter", async () => {
  await using scene = await startLogged();
  const { pombo, clock, settle } = scene;
  const { workspace } = pombo;
  clock.advance(60_000);
  // A request counts from when it came, and the machine took its own time for it.
  const since = clock.now() - 30_000;
  const shop = (await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } })).body.data;
  clock.advance(60_000);
  const sent = await workspace.call("POST", "/api/v1/emails", { body: pombo.email(), key: shop.key });
  expect(sent.status).toBe(202);
  clock.advance(60_000);
  const faulty = pombo.email({ subject: 7 });
  const refused = await workspace.call("POST", "/api/v1/emails", { body: faulty, key: shop.key });
  clock.advance(60_000);
  await workspace.call("GET", `/api/v1/emails/${UNKNOWN_ID}`);
  await settle();

  const all = await list(workspace, "", since);
  expect(all.map(({ method, path, status }) => [method, path, status])).toEqual([
    ["GET", `/api/v1/emails/${UNKNOWN_ID}`, 404],
    ["POST", "/api/v1/emails", 422],
    ["POST", "/api/v1/emails", 202],
    ["POST", "/api/v1/auth/keys", 201],
  ]);
  expect(all[1]).toEqual({
    id: refused.headers.get("x-request-id"),
    at: expect.stringMatching(/Z$/),
    key: { id: shop.id, name: "shop", prefix: shop.key.slice(4, 12) },
    method: "POST",
    path: "/api/v1/emails",
    status: 422,
    ms: expect.any(Number),
    error: {
      code: "VALIDATION_ERROR",
      message: refused.body.errors[0].message,
      field: "subject",
      hint: refused.body.errors[0].hint ?? null,
    },
  });
  expect(all[2].error).toBeNull();
  const statuses = async (query: string) => (await list(workspace, query, since)).map(({ status }) => status);
  expect(await statuses("status=failed")).toEqual([404, 422]);
  expect(await statuses("status=5xx")).toEqual([]);
  expect(await statuses("status=2xx")).toEqual([202, 201]);
  expect(await statuses(`keyId=${shop.id}`)).toEqual([422, 202]);
  expect(await statuses(`keyId=${UNKNOWN_ID}`)).toEqual([]);
  expect(await statuses("method=GET")).toEqual([404]);
  expect(await statuses("path=/api/v1/auth")).toEqual([201]);
  expect(await statuses(`id=${refused.headers.get("x-request-id")}`)).toEqual([422]);
  expect(await statuses(`until=${new Date(since + 60_000).toISOString()}`)).toEqual([201]);
  const first = await workspace.call("GET", `${LOG}?limit=1&status=failed`);
  const second = await workspace.call("GET", `${LOG}?limit=1&status=failed&cursor=${first.body.meta.next_cursor}`);
  expect([first.body.data[0].status, second.body.data[0].status]).toEqual([404, 422]);

  // Of a deleted key the requests stay.
  await workspace.call("DELETE", `/api/v1/auth/keys/${shop.id}`);
  expect((await list(workspace, "", since))[2].key).toBeNull();
});

test("neither addresses nor contents are in it, nor what people and strangers ask", async () => {
  await using scene = await startLogged();
  const { pombo, clock, settle } = scene;
  const { workspace } = pombo;
  clock.advance(60_000);
  // A request counts from when it came, and the machine took its own time for it.
  const since = clock.now() - 30_000;
  const secret = "maria.secreta@example.com";
  await pombo.enableSms(workspace);
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: secret } });
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: "+258841234567" } });
  await workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "Olá" } });
  await workspace.call("GET", `/api/v1/recipients/${encodeURIComponent(secret)}`);
  await workspace.call("GET", `/api/v1/emails?to=${secret}&limit=1`);
  await workspace.call("GET", `/api/v1/emails/${secret}`);
  await workspace.call("DELETE", `/api/v1/suppressions/${secret}`);
  await workspace.call("POST", "/api/v1/emails", { body: pombo.email({ [secret]: secret, to: secret }) });
  const owner = addPerson(pombo, { role: "owner" });
  await owner.act("GET", "/api/v1/emails");
  await workspace.call("GET", "/api/v1/emails", { key: null });
  await workspace.call("GET", "/api/v1/emails", { key: "svc_wrong" });
  await pombo.operator.call("GET", "/api/v1/operator/status");
  await settle();
  const rows = await list(workspace, "limit=100", since);
  expect(rows).toHaveLength(8);
  const { sqlite } = pombo.app.db;
  const kept = JSON.stringify([rows, sqlite.query("SELECT * FROM api_request").all()]);
  expect(kept).not.toContain("secreta");
  expect(kept).not.toContain("841234567");
  expect(rows.map(({ path }) => path)).toContain("/api/v1/emails?to&limit");
});

test("a workspace sees its own only, and so do its viewers", async () => {
  await using scene = await startLogged();
  const { pombo, settle } = scene;
  const other = await pombo.newWorkspace();
  await other.call("GET", "/api/v1/emails");
  await settle();
  const [only, ...more] = (await other.call("GET", LOG)).body.data;
  expect([only.path, more]).toEqual(["/api/v1/emails", []]);
  expect((await pombo.workspace.call("GET", `${LOG}?id=${only.id}`)).body.data).toEqual([]);
  const viewer = addPerson(pombo, { role: "viewer", workspace: other.id });
  expect((await viewer.act("GET", LOG)).body.data).toMatchObject([{ id: only.id }]);
});

test("a restart keeps what was asked just before it", async () => {
  await using pombo = await startInstance();
  const asked = await pombo.workspace.call("GET", "/api/v1/domains");
  await pombo.restart();
  const { body } = await pombo.workspace.call("GET", `${LOG}?id=${asked.headers.get("x-request-id")}`);
  expect(body.data).toHaveLength(1);
});

test("a filter that is none is refused with its field", async () => {
  await using pombo: Instance = await startInstance();
  for (const [query, field] of [
    ["status=3", "status"],
    ["keyId=x", "keyId"],
    ["path=api", "path"],
    ["method=TRACE", "method"],
    ["since=yesterday", "since"],
    ["cursor=x", "cursor"],
  ] as const) {
    const answer = await pombo.workspace.call("GET", `${LOG}?${query}`);
    expect([query, answer.status, answer.body.errors[0].field]).toEqual([query, 422, field]);
  }
});
