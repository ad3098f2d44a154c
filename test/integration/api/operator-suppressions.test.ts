import { expect, test } from "bun:test";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";
import { attempted, startAtNoon } from "../../support/api/one-email.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const HELD = "/api/v1/operator/held-suppressions";
const NOON = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;

const listPath = (workspace: { id: string }) => `/api/v1/operator/workspaces/${workspace.id}/suppressions`;
const importPath = (workspace: { id: string }) => `${listPath(workspace)}/import`;
const takeOver = (pombo: Instance, suppressions: unknown, workspace = pombo.workspace) =>
  pombo.operator.call("POST", importPath(workspace), { body: { suppressions } });

async function listOf(pombo: Instance, workspace = pombo.workspace): Promise<Json[]> {
  return (await workspace.call("GET", `${SUPPRESSIONS}?limit=100`)).body.data;
}

/** Puts rows where a mass of refusals would. */
function hold(
  pombo: Instance,
  rows: { workspace?: { id: string }; address: string; site?: string; at?: number }[],
): void {
  const insert = pombo.app.db.sqlite.query(
    `INSERT INTO suppression_held (workspace_id, channel, address, reason, site, created_at)
     SELECT id, 'email', $address, 'hard_bounce', $site, $at FROM workspace WHERE uid = $workspace`,
  );
  for (const { workspace = pombo.workspace, address, site = "mx.example.com", at = NOON } of rows)
    insert.run({ address, site, at, workspace: workspace.id });
}

const many = (count: number, name = "user") =>
  Array.from({ length: count }, (_, number) => ({ address: `${name}${number}@example.com` }));

const heldCount = ({ app }: Instance) =>
  app.db.sqlite.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM suppression_held").get()?.count;

test("a workspace's key is refused on every route of the operator's, whatever it asks for", async () => {
  await using pombo = await startInstance();
  const requests: [string, string, object][] = [
    ["GET", listPath(pombo.workspace), {}],
    ["POST", importPath(pombo.workspace), { body: { suppressions: [{ address: "a@example.com" }] } }],
    ["GET", HELD, {}],
    ["POST", `${HELD}/apply`, { body: { all: true } }],
    ["POST", `${HELD}/drop`, { body: { all: true } }],
  ];
  hold(pombo, many(1));
  for (const [method, path, options] of requests)
    expectErrors(await pombo.workspace.call(method, path, options), 403, [{ code: "API_KEY_RESTRICTED" }]);
  expect([await listOf(pombo), heldCount(pombo)]).toEqual([[], 1]);
});

test("what one instance lists another takes over, times and reasons included", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const items = [
    { address: "maria@example.com", channel: "email", reason: "hard_bounce", suppressedAt: "2026-01-02T03:04:05.678Z" },
    { address: "joão@bücher.test", channel: "email", reason: "complaint", suppressedAt: "2025-06-01T00:00:00+02:00" },
    { address: "+258841234567", channel: "sms", reason: "opt_out", suppressedAt: "2026-11-21T11:00:00Z" },
    { address: "Rui+Loja@Example.com" },
  ];
  const answer = await takeOver(pombo, items);
  expect([answer.status, answer.body]).toEqual([200, { data: { imported: 4, alreadyThere: 0 } }]);
  const expected = [
    {
      address: "rui+loja@example.com",
      reason: "manual",
      channel: "email",
      list: null,
      suppressedAt: "2026-11-21T12:00:00.000Z",
    },
    {
      address: "+258841234567",
      reason: "opt_out",
      channel: "sms",
      list: null,
      suppressedAt: "2026-11-21T11:00:00.000Z",
    },
    {
      address: "maria@example.com",
      reason: "hard_bounce",
      channel: "email",
      list: null,
      suppressedAt: "2026-01-02T03:04:05.678Z",
    },
    {
      ...{ address: "joão@xn--bcher-kva.test", reason: "complaint", channel: "email", list: null },
      suppressedAt: "2025-05-31T22:00:00.000Z",
    },
  ];
  expect(await listOf(pombo)).toEqual(expected);
  const other = await pombo.newWorkspace();
  const exported: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const position = cursor === "" ? "" : `&cursor=${cursor}`;
    const { body } = await pombo.operator.call("GET", `${listPath(pombo.workspace)}?limit=3${position}`);
    exported.push(...body.data);
    cursor = body.meta.next_cursor;
  }
  expect(exported).toEqual(expected);
  expect((await takeOver(pombo, exported, other)).body.data).toEqual({ imported: 4, alreadyThere: 0 });
  expect(await listOf(pombo, other)).toEqual(expected);
  const sms = await pombo.operator.call("GET", `${listPath(other)}?channel=sms`);
  expect(sms.body.data.map(({ address }: Json) => address)).toEqual(["+258841234567"]);
});

test("what is there already, or twice in the import, is counted and keeps its first reason", async () => {
  await using pombo = await startInstance();
  await pombo.workspace.call("POST", SUPPRESSIONS, { body: { address: "maria@example.com", reason: "complaint" } });
  const items = ["Maria@example.com", "joao@example.com", "JOAO@example.com"].map((address) => ({
    address,
    reason: "hard_bounce",
  }));
  expect((await takeOver(pombo, items)).body.data).toEqual({ imported: 1, alreadyThere: 2 });
  expect((await takeOver(pombo, items)).body.data).toEqual({ imported: 0, alreadyThere: 3 });
  expect((await listOf(pombo)).map(({ address, reason }) => [address, reason])).toEqual([
    ["joao@example.com", "hard_bounce"],
    ["maria@example.com", "complaint"],
  ]);
});

test("one faulty item leaves nothing of an import behind, and every fault of all is named by its path", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const faulty: [item: unknown, ...fields: [field: string, message: string][]][] = [
    [{}, ["address", "is required"]],
    [{ address: "maria" }, ["address", "neither an email address nor a phone number"]],
    [{ address: "maria@example.com." }, ["address", "ends with a dot"]],
    // The channel is email unless it is given.
    [{ address: "+258841234567" }, ["address", "is a phone number, and the channel is email"]],
    [{ address: "a@example.com", channel: "sms" }, ["address", "is an email address, and the channel is sms"]],
    [{ address: "a@example.com", reason: "opt_out" }, ["reason", "must be hard_bounce or complaint or manual"]],
    [{ address: "+258841234567", channel: "sms", reason: "complaint" }, ["reason", "must be opt_out or"]],
    [{ address: "a@example.com", suppressedAt: "yesterday" }, ["suppressedAt", "ISO 8601"]],
    [{ address: "a@example.com", suppressedAt: "2026-11-21" }, ["suppressedAt", "ISO 8601"]],
    [{ address: "a@example.com", suppressedAt: "2026-11-21T12:00:00" }, ["suppressedAt", "ISO 8601"]],
    [{ address: "a@example.com", suppressedAt: "2026-13-21T12:00:00Z" }, ["suppressedAt", "ISO 8601"]],
    [{ address: "a@example.com", suppressedAt: "1969-12-31T23:59:59Z" }, ["suppressedAt", "since 1970"]],
    [{ address: "a@example.com", suppressedAt: "2026-11-23T12:00:00Z" }, ["suppressedAt", "must not be in the future"]],
    [{ address: 1, note: "x" }, ["address", "must be a string"], ["note", "is not a member"]],
  ];
  for (const [item, ...fields] of faulty) {
    const answer = await takeOver(pombo, [...many(37), item, ...many(5, "more")]);
    expectErrors(
      answer,
      422,
      fields.map(([field, message]) => ({ field, path: `suppressions[37].${field}`, message })),
    );
    expect([item, await listOf(pombo)]).toEqual([item, []]);
  }
  const all = await takeOver(
    pombo,
    faulty.map(([item]) => item),
  );
  expect(errorItems(all)).toHaveLength(faulty.length + 1);
  expect((await takeOver(pombo, [{ address: "a@example.com", suppressedAt: "2026-11-22T11:59:00Z" }])).status).toBe(
    200,
  );
});

test("an import holds 1 to 500 items, and five hundred of the longest addresses are not too large", async () => {
  await using pombo = await startInstance();
  for (const [items, message] of [
    [[], "at least 1"],
    [many(501), "at most 500"],
    ["maria@example.com", "must be an array"],
  ] as const)
    expectErrors(await takeOver(pombo, items), 422, [{ field: "suppressions", message }]);
  const host = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(50)}.example.com`;
  const longest = Array.from({ length: 500 }, (_, number) => ({
    ...{ address: `${`${number}`.padStart(64, "x")}@${host}`, channel: "email", reason: "hard_bounce" },
    suppressedAt: "2026-01-02T03:04:05.678+00:00",
  }));
  expect(JSON.stringify(longest).length).toBeGreaterThan(128 * 1024);
  expect((await takeOver(pombo, longest)).body).toEqual({ data: { imported: 500, alreadyThere: 0 } });
});

test("a workspace that does not exist is 404, and a malformed id 422", async () => {
  await using pombo = await startInstance();
  const body = { suppressions: [{ address: "a@example.com" }] };
  expectErrors(await pombo.operator.call("GET", listPath({ id: UNKNOWN_ID })), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.operator.call("POST", importPath({ id: UNKNOWN_ID }), { body }), 404, [
    { code: "NOT_FOUND" },
  ]);
  expectErrors(await pombo.operator.call("GET", listPath({ id: "x" })), 422, [{ field: "id" }]);
  expectErrors(await pombo.operator.call("GET", `${HELD}?workspaceId=${UNKNOWN_ID}`), 404, [
    { code: "NOT_FOUND", field: "workspaceId" },
  ]);
  for (const verb of ["apply", "drop"]) {
    const answer = await pombo.operator.call("POST", `${HELD}/${verb}`, { body: { workspaceId: UNKNOWN_ID } });
    expectErrors(answer, 404, [{ code: "NOT_FOUND", field: "workspaceId" }]);
  }
  // Upper case is the same id.
  const upper = { id: pombo.workspace.id.toUpperCase() };
  expect((await pombo.operator.call("GET", listPath(upper))).status).toBe(200);
});

test("a mass of refusals is listed for the operator, applied it suppresses, and the next send is 422", async () => {
  await using held = await startAtNoon({ rcpt: "550 5.1.1 No such user" });
  const { pombo } = held;
  // The twenty-first would not be accepted any more.
  for (let number = 0; number < 20; number++) await attempted(pombo, { to: `user${number}@example.com` });
  expect(await listOf(pombo)).toEqual([]);
  const listed = await pombo.operator.call("GET", `${HELD}?limit=100`);
  expect(listed.body.data).toHaveLength(20);
  expect(listed.body.data[0]).toEqual({
    ...{ workspaceId: pombo.workspace.id, address: "user19@example.com", channel: "email", reason: "hard_bounce" },
    ...{ site: "mx.example.com", heldAt: new Date(NOON).toISOString() },
  });
  // A mass of hard bounces is a rate as well.
  expect((await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/unblock`)).status).toBe(
    200,
  );
  await held.advance(DAY);
  const applied = await pombo.operator.call("POST", `${HELD}/apply`, { body: { site: "mx.example.com" } });
  expect([applied.status, applied.body]).toEqual([200, { data: { applied: 20 } }]);
  expect((await pombo.operator.call("GET", HELD)).body).toEqual({
    data: [],
    meta: { has_more: false, next_cursor: null },
  });
  const rows = await listOf(pombo);
  expect(rows).toHaveLength(20);
  // Mail went out to them until now.
  for (const { reason, suppressedAt } of rows)
    expect([reason, suppressedAt]).toEqual(["hard_bounce", new Date(NOON + DAY).toISOString()]);
  const refused = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "user3@example.com" }),
  });
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: "hard_bounce" }]);
  const again = await pombo.operator.call("POST", `${HELD}/apply`, { body: { site: "mx.example.com" } });
  expect(again.body).toEqual({ data: { applied: 0 } });
  expect(pombo.events.filter(({ name }) => name === "suppressions.applied").map(({ fields }) => fields)).toEqual([
    { count: 20, site: "mx.example.com" },
    { count: 0, site: "mx.example.com" },
  ]);
});

test("held suppressions are listed newest first by workspace and site, in pages", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  hold(pombo, [
    ...many(5).map((row) => ({ ...row, at: NOON })),
    ...many(4, "other").map((row) => ({ ...row, workspace: other, at: NOON })),
    // The clock was set back meanwhile: what came later is newer all the same.
    ...many(3, "dns").map((row) => ({ ...row, site: "dns", at: NOON - DAY })),
  ]);
  const walk = async (query: string) => {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const position = cursor === "" ? "" : `&cursor=${cursor}`;
      const { body } = await pombo.operator.call("GET", `${HELD}?limit=2${query}${position}`);
      seen.push(...body.data.map(({ address }: Json) => address.replace("@example.com", "")));
      cursor = body.meta.next_cursor;
    }
    return seen.join(" ");
  };
  expect(await walk("")).toBe("dns2 dns1 dns0 other3 other2 other1 other0 user4 user3 user2 user1 user0");
  expect(await walk(`&workspaceId=${other.id}`)).toBe("other3 other2 other1 other0");
  expect(await walk(`&workspaceId=${pombo.workspace.id}&site=mx.example.com`)).toBe("user4 user3 user2 user1 user0");
  expect(await walk("&site=dns")).toBe("dns2 dns1 dns0");
  expect(await walk("&site=mx.example.net")).toBe("");
  await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${other.id}`);
  expect(await walk("&site=mx.example.com")).toBe("user4 user3 user2 user1 user0");
  for (const [query, field] of [
    ["?limit=0", "limit"],
    ["?cursor=x", "cursor"],
    ["?workspaceId=x", "workspaceId"],
    ["?site=", "site"],
    ["?channel=email", "channel"],
  ] as const)
    expectErrors(await pombo.operator.call("GET", HELD + query), 422, [{ field }]);
});

test("what is held for more than 30 days is kept, and the list says what to do about it", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  hold(pombo, [
    { address: "ancient@example.com", at: NOON - 400 * DAY },
    { address: "older@example.com", at: NOON - 30 * DAY - 1 },
    { address: "old@example.com", at: NOON - 30 * DAY },
  ]);
  const { data } = (await pombo.operator.call("GET", HELD)).body;
  const hint = "Held for more than 30 days: apply it or drop it.";
  expect(data.map((row: Json) => row.hint ?? null)).toEqual([null, hint, hint]);
});

test("apply and drop take what is named and no more, and must be told what", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  const { workspace } = pombo;
  hold(pombo, [
    ...many(3),
    ...many(2, "dns").map((row) => ({ ...row, site: "dns" })),
    ...many(4).map((row) => ({ ...row, workspace: other })),
  ]);
  const call = async (verb: string, body: object) =>
    (await pombo.operator.call("POST", `${HELD}/${verb}`, { body })).body;
  expect(await call("apply", { workspaceId: workspace.id, site: "dns" })).toEqual({ data: { applied: 2 } });
  expect((await listOf(pombo)).map(({ address }) => address)).toEqual(["dns1@example.com", "dns0@example.com"]);
  expect(await call("drop", { workspaceId: workspace.id.toUpperCase() })).toEqual({ data: { dropped: 3 } });
  expect(await listOf(pombo, other)).toEqual([]);
  expect(await call("apply", { all: true })).toEqual({ data: { applied: 4 } });
  expect([(await listOf(pombo)).length, (await listOf(pombo, other)).length, heldCount(pombo)]).toEqual([2, 4, 0]);
  expect(await call("drop", { all: true })).toEqual({ data: { dropped: 0 } });

  const wrong: [body: object, field: string, message: string][] = [
    [{}, "all", "or workspaceId or site is required"],
    [{ all: false }, "all", "or workspaceId or site is required"],
    [{ all: true, site: "dns" }, "all", "cannot be combined with workspaceId or site"],
    [{ all: "yes" }, "all", "must be true or false"],
    [{ site: "" }, "site", "must not be empty"],
    [{ workspaceId: "x" }, "workspaceId", "must be a UUID"],
    [{ all: true, everything: true }, "everything", "is not a member"],
  ];
  for (const verb of ["apply", "drop"]) {
    for (const [body, field, message] of wrong)
      expectErrors(await pombo.operator.call("POST", `${HELD}/${verb}`, { body }), 422, [{ field, message }]);
  }
});

test("applying leaves a reason that is there, and takes the row all the same", async () => {
  await using pombo = await startInstance();
  await pombo.workspace.call("POST", SUPPRESSIONS, { body: { address: "user0@example.com" } });
  hold(pombo, many(2));
  const { body } = await pombo.operator.call("POST", `${HELD}/apply`, { body: { all: true } });
  expect(body).toEqual({ data: { applied: 2 } });
  expect((await listOf(pombo)).map(({ address, reason }) => [address, reason])).toEqual([
    ["user1@example.com", "hard_bounce"],
    ["user0@example.com", "manual"],
  ]);
});
