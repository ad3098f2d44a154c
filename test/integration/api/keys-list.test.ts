import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, TIMESTAMP, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

const KEYS = "/api/v1/auth/keys";
const EMAILS = "/api/v1/emails";

interface Made {
  id: string;
  key: string;
}

async function make(client: Client, body: Record<string, unknown> = {}): Promise<Made> {
  return (await client.call("POST", KEYS, { body: { name: "x", ...body } })).body.data;
}

const list = async (client: Client, query = "") => (await client.call("GET", `${KEYS}${query}`)).body;
const remove = (client: Client, id: string, key = client.key) => client.call("DELETE", `${KEYS}/${id}`, { key });
const statusWith = async (pombo: Instance, key: string) => (await pombo.workspace.call("GET", EMAILS, { key })).status;

test("the list shows every key newest first, with its prefix and never the key or its hash", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 9));
  const { pombo, clock } = held;
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const domainId = domains.body.data[0].id;
  clock.advance(1_000);
  const shop = await make(pombo.workspace, { name: "shop" });
  const restricted = await make(pombo.workspace, { name: "one domain", domainId });
  clock.advance(60_000);
  expect(await statusWith(pombo, shop.key)).toBe(200);
  // Its use is noted in passing: once another write is durable, it is too.
  const latest = await make(pombo.workspace, { name: "latest" });

  const answer = await pombo.workspace.call("GET", KEYS);
  expect(answer.status).toBe(200);
  expect(answer.body.data.map(({ name }: { name: string }) => name)).toEqual([
    "latest",
    "one domain",
    "shop",
    "default",
  ]);
  const at = (ms: number) => new Date(Date.UTC(2026, 10, 21, 9) + ms).toISOString();
  expect(answer.body.data.slice(0, 3)).toEqual([
    {
      id: latest.id,
      name: "latest",
      domainId: null,
      prefix: latest.key.slice(4, 12),
      createdAt: at(61_000),
      lastUsedAt: null,
    },
    {
      id: restricted.id,
      name: "one domain",
      domainId,
      prefix: restricted.key.slice(4, 12),
      createdAt: at(1_000),
      lastUsedAt: null,
    },
    {
      id: shop.id,
      name: "shop",
      domainId: null,
      prefix: shop.key.slice(4, 12),
      createdAt: at(1_000),
      lastUsedAt: at(61_000),
    },
  ]);
  expect(answer.body.data[3]).toEqual({
    ...{
      id: expect.stringMatching(UUID_V7),
      name: "default",
      domainId: null,
      prefix: pombo.workspace.key.slice(4, 12),
    },
    ...{ createdAt: expect.stringMatching(TIMESTAMP), lastUsedAt: expect.stringMatching(TIMESTAMP) },
  });
  expect(answer.body.meta).toEqual({ has_more: false, next_cursor: null });
  for (const { key } of [shop, restricted, latest, pombo.workspace]) {
    expect(answer.text).not.toContain(key);
    expect(answer.text).not.toContain(new Bun.CryptoHasher("sha256").update(key).digest("hex"));
  }
});

test("the cursor leads through every key once, also while keys come and go", async () => {
  await using pombo = await startInstance();
  const made: string[] = [];
  for (let count = 0; count < 7; count++) made.push((await make(pombo.workspace, { name: `k${count}` })).id);
  const seen: string[] = [];
  let query = "?limit=3";
  for (let page = 0; page < 10; page++) {
    const { data, meta } = await list(pombo.workspace, query);
    seen.push(...data.map(({ id }: { id: string }) => id));
    if (page === 0) {
      await make(pombo.workspace, { name: "meanwhile" });
      await remove(pombo.workspace, made[0] ?? "");
    }
    expect([page, meta.has_more]).toEqual([page, meta.next_cursor !== null]);
    if (!meta.has_more) break;
    query = `?limit=3&cursor=${meta.next_cursor}`;
  }
  expect(seen.slice(0, 6)).toEqual(made.slice(1).toReversed());
  expect(seen).toHaveLength(7);
});

test("the list takes a cursor and a limit within bounds and nothing else", async () => {
  await using pombo = await startInstance();
  for (const [query, field] of [
    ["?limit=0", "limit"],
    ["?limit=101", "limit"],
    ["?cursor=x", "cursor"],
    ["?page=1", "page"],
  ] as const)
    expectErrors(await pombo.workspace.call("GET", `${KEYS}${query}`), 422, [{ field }]);
});

test("a deleted key is not valid from its answer on, also where it had just been used", async () => {
  await using pombo = await startInstance();
  const { id, key } = await make(pombo.workspace);
  expect(await statusWith(pombo, key)).toBe(200);
  const answer = await remove(pombo.workspace, id.toUpperCase());
  expect([answer.status, answer.body]).toEqual([200, { data: { id, deleted: true } }]);
  expectErrors(await pombo.workspace.call("GET", EMAILS, { key }), 401, [{ code: "INVALID_API_KEY" }]);
  expect((await list(pombo.workspace)).data.map((one: Made) => one.id)).not.toContain(id);
  expectErrors(await remove(pombo.workspace, id), 404, [{ code: "NOT_FOUND" }]);
  await pombo.restart();
  expect(await statusWith(pombo, key)).toBe(401);
});

test("a key may delete itself", async () => {
  await using pombo = await startInstance();
  const { id, key } = await make(pombo.workspace);
  expect((await remove(pombo.workspace, id, key)).status).toBe(200);
  expectErrors(await remove(pombo.workspace, id, key), 401, [{ code: "INVALID_API_KEY" }]);
});

test("an id that is unknown, another workspace's or no UUID deletes nothing", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  const { id, key } = await make(other);
  for (const unknown of [UNKNOWN_ID, id])
    expectErrors(await remove(pombo.workspace, unknown), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await remove(pombo.workspace, "x"), 422, [{ field: "id", message: "must be a UUID" }]);
  expect(await statusWith(pombo, key)).toBe(200);
});

test("the last key for the whole workspace stays, whatever restricted keys there are, and can be replaced", async () => {
  await using pombo = await startInstance();
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const restricted = await make(pombo.workspace, { domainId: domains.body.data[0].id });
  const first = (await list(pombo.workspace)).data.find(({ name }: { name: string }) => name === "default").id;
  const refused = await remove(pombo.workspace, first);
  expectErrors(refused, 409, [{ code: "LAST_KEY" }]);
  expect(errorItems(refused)[0]?.hint).toContain("POST /api/v1/auth/keys");
  expect(await statusWith(pombo, pombo.workspace.key)).toBe(200);
  const second = await make(pombo.workspace);
  expect((await remove(pombo.workspace, first)).status).toBe(200);
  expectErrors(await remove(pombo.workspace, second.id, second.key), 409, [{ code: "LAST_KEY" }]);
  expect((await remove(pombo.workspace, restricted.id, second.key)).status).toBe(200);
});

test("of two deletes of the last two keys at once one is refused", async () => {
  await using pombo = await startInstance();
  for (let round = 0; round < 10; round++) {
    const workspace = await pombo.newWorkspace();
    const [second, first] = [await make(workspace), (await list(workspace)).data.at(-1)];
    const answers = await Promise.all([remove(workspace, first.id), remove(workspace, second.id, second.key)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const key = answers[0].status === 200 ? second.key : workspace.key;
    expect((await workspace.call("GET", KEYS, { key })).body.data).toHaveLength(1);
  }
});

test("while nothing can be written a key is not deleted and stays valid", async () => {
  await using pombo = await startInstance();
  const { id, key } = await make(pombo.workspace);
  expect(await statusWith(pombo, key)).toBe(200);
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  expectErrors(await remove(pombo.workspace, id), 503, [{ code: "UNAVAILABLE" }]);
  expect(await statusWith(pombo, key)).toBe(200);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  expect(await statusWith(pombo, key)).toBe(200);
});

test("a deleted key makes room under the plan's limit", async () => {
  await using pombo = await startInstance({
    configure: (config) => void ((config.plans["scale"] ?? { apiKeys: 0 }).apiKeys = 2),
  });
  const { id } = await make(pombo.workspace);
  const over = () => pombo.workspace.call("POST", KEYS, { body: { name: "x" } });
  expectErrors(await over(), 402, [{ code: "PLAN_LIMIT_REACHED" }]);
  expect((await remove(pombo.workspace, id)).status).toBe(200);
  expect((await over()).status).toBe(201);
});
