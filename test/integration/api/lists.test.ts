import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const DOMAINS = "/api/v1/domains";
const LIST_MEMBERS = ["id", "from", "to", "subject", "providerId", "createdAt", "sentAt", "deliveredAt"];

async function sendSome(pombo: Instance, count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_, index) => pombo.email({ subject: `number ${index}` }));
  const { body } = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  return body.data.map(({ id }: { id: string }) => id);
}

test("an email in the list has the interface's eight members and no others", async () => {
  await using pombo = await startInstance();
  await sendSome(pombo, 1);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const { status, body } = await pombo.workspace.call("GET", EMAILS);
  expect(status).toBe(200);
  expect(Object.keys(body).toSorted()).toEqual(["data", "meta"]);
  expect(Object.keys(body.data[0])).toEqual(LIST_MEMBERS);
  expect(body.data[0]).toEqual({
    ...{
      id: expect.stringMatching(UUID_V7),
      from: "Loja <loja@loja.test>",
      to: "maria@example.com",
      subject: "number 0",
    },
    ...{ providerId: `${body.data[0].id}@loja.test`, createdAt: expect.stringMatching(TIMESTAMP) },
    ...{ sentAt: expect.stringMatching(TIMESTAMP), deliveredAt: expect.stringMatching(TIMESTAMP) },
  });
});

test("before the first attempt an email's providerId, sentAt and deliveredAt are null in the list too", async () => {
  // One session, so that most of the batch waits for the first ones, whose DNS does not answer yet.
  await using pombo = await startInstance({ configure: (config) => void (config.email.sessionsPerDestination = 1) });
  pombo.dns.faults["example.com"] = "slow";
  await sendSome(pombo, 10);
  const { body } = await pombo.workspace.call("GET", EMAILS);
  const [newest] = body.data;
  expect(Object.keys(newest)).toEqual(LIST_MEMBERS);
  expect(newest).toMatchObject({ providerId: null, sentAt: null, deliveredAt: null });
  delete pombo.dns.faults["example.com"];
  pombo.dns.release();
  await pombo.mx.until(() => pombo.mx.messages.length === 10);
});

test("emails are listed newest first in pages of twenty, and meta counts them", async () => {
  await using pombo = await startInstance();
  const ids = (await sendSome(pombo, 45)).toReversed();
  const page = async (query: string) => {
    const { status, body } = await pombo.workspace.call("GET", `${EMAILS}${query}`);
    expect([query, status]).toEqual([query, 200]);
    return { ids: body.data.map(({ id }: { id: string }) => id), meta: body.meta };
  };
  const total = 45;
  expect(await page("")).toEqual({ ids: ids.slice(0, 20), meta: { total, perPage: 20, page: 1, lastPage: 3 } });
  expect(await page("?page=2")).toEqual({ ids: ids.slice(20, 40), meta: { total, perPage: 20, page: 2, lastPage: 3 } });
  expect(await page("?page=3")).toEqual({ ids: ids.slice(40), meta: { total, perPage: 20, page: 3, lastPage: 3 } });
  expect(await page("?page=4")).toEqual({ ids: [], meta: { total, perPage: 20, page: 4, lastPage: 3 } });
  expect(await page("?page=1000000000&limit=100")).toEqual({
    ids: [],
    meta: { total, perPage: 100, page: 1_000_000_000, lastPage: 1 },
  });
  expect(await page("?limit=1&page=45")).toEqual({
    ids: ids.slice(44),
    meta: { total, perPage: 1, page: 45, lastPage: 45 },
  });
  expect(await page("?limit=100")).toEqual({ ids, meta: { total, perPage: 100, page: 1, lastPage: 1 } });
  expect(await page("?limit=45")).toEqual({ ids, meta: { total, perPage: 45, page: 1, lastPage: 1 } });
});

test("an empty list has the last page 1", async () => {
  await using pombo = await startInstance();
  const { body } = await pombo.workspace.call("GET", EMAILS);
  expect(body).toEqual({ data: [], meta: { total: 0, perPage: 20, page: 1, lastPage: 1 } });
});

test("the total stays right while emails are delivered, bounce and fail", async () => {
  await using pombo = await startInstance({
    mx: { rcpt: (command) => (command.includes("gone") ? "550 5.1.1 No" : "250 Ok") },
  });
  for (const to of ["a@example.com", "gone@example.com", "b@nowhere.invalid", "c@example.com"]) {
    await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ to }) });
  }
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  expect((await pombo.workspace.call("GET", EMAILS)).body.meta.total).toBe(4);
});

test("a page or limit out of range is 422 with its field", async () => {
  await using pombo = await startInstance();
  const wrong = ["0", "-1", "1.5", "1e1", "x", "", "%20", "+1", "0x1", "NaN", "99999999999999999999", "%E0%A4%A"];
  for (const value of wrong) {
    const query = `?page=${value}`;
    expectErrors(await pombo.workspace.call("GET", EMAILS + query), 422, [
      { field: "page", message: /^page must be a whole number from 1/ },
    ]);
  }
  for (const value of [...wrong, "101"]) {
    for (const list of [EMAILS, DOMAINS]) {
      const answer = await pombo.workspace.call("GET", `${list}?limit=${value}`);
      expectErrors(answer, 422, [{ field: "limit", message: "limit must be a whole number from 1 to 100" }]);
    }
  }
  const twice = await pombo.workspace.call("GET", `${EMAILS}?page=1&page=2&limit=0`);
  expectErrors(twice, 422, [{ field: "page", message: "page must be given once" }, { field: "limit" }]);
});

test("a parameter that a list does not know is 422 with its name", async () => {
  await using pombo = await startInstance();
  expectErrors(await pombo.workspace.call("GET", `${EMAILS}?pgae=2`), 422, [
    { field: "pgae", message: "pgae is not a member" },
  ]);
  expectErrors(await pombo.workspace.call("GET", `${DOMAINS}?page=2`), 422, [{ field: "page" }]);
  expectErrors(await pombo.workspace.call("GET", `${DOMAINS}?__proto__=2&constructor=1`), 422, [
    { field: "__proto__" },
    { field: "constructor" },
  ]);
});

/** All pages of the domain list, by following the cursors. */
async function walk(client: Client, limit: number): Promise<{ names: string[]; sizes: number[] }> {
  const names: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await client.call("GET", `${DOMAINS}?limit=${limit}${query}`);
    expect(status).toBe(200);
    expect(Object.keys(body.meta).toSorted()).toEqual(["has_more", "next_cursor"]);
    expect(body.meta.has_more).toBe(body.meta.next_cursor !== null);
    names.push(...body.data.map(({ domain }: { domain: string }) => domain));
    sizes.push(body.data.length);
    cursor = body.meta.next_cursor;
  } while (cursor !== null);
  return { names, sizes };
}

/** Domains without keys, all registered in the same millisecond or three of them. */
function plant(pombo: Instance, names: string[]): void {
  const { sqlite } = pombo.app.db;
  const owner = sqlite
    .query<{ id: number }, [string]>("SELECT id FROM workspace WHERE uid = ?")
    .get(pombo.workspace.id);
  const insert = sqlite.query(
    "INSERT INTO domain (uid, workspace_id, name, status, created_at) VALUES (?, ?, ?, 'pending', ?)",
  );
  const now = Date.now() + 1_000;
  for (const [index, name] of names.entries())
    insert.run(crypto.randomUUID(), owner?.id ?? 0, name, now + Math.floor(index / 8));
}

test("domains are listed newest first, and cursors lead through all of them exactly once", async () => {
  await using pombo = await startInstance();
  const planted = Array.from({ length: 22 }, (_, index) => `d${index}.test`);
  plant(pombo, planted);
  const all = [...planted.toReversed(), "loja.test"];
  expect(await walk(pombo.workspace, 100)).toEqual({ names: all, sizes: [23] });
  expect(await walk(pombo.workspace, 23)).toEqual({ names: all, sizes: [23] });
  expect(await walk(pombo.workspace, 22)).toEqual({ names: all, sizes: [22, 1] });
  expect(await walk(pombo.workspace, 5)).toEqual({ names: all, sizes: [5, 5, 5, 5, 3] });
  expect((await walk(pombo.workspace, 1)).names).toEqual(all);
  const { body } = await pombo.workspace.call("GET", DOMAINS);
  expect(body.data).toHaveLength(20);
  expect(body.data[0]).toEqual({
    ...{
      id: expect.any(String),
      domain: "d21.test",
      status: "pending",
      createdAt: expect.stringMatching(TIMESTAMP),
      verifiedAt: null,
      recordsFound: null,
    },
  });
});

test("a cursor stays where it was while domains arrive and others go", async () => {
  await using pombo = await startInstance();
  const planted = Array.from({ length: 10 }, (_, index) => `d${index}.test`);
  plant(pombo, planted);
  const first = (await pombo.workspace.call("GET", `${DOMAINS}?limit=4`)).body;
  plant(pombo, ["new0.test", "new1.test"]);
  const [last] = first.data.slice(-1);
  pombo.app.db.sqlite.run("DELETE FROM domain WHERE uid = ?", [last.id]);
  const cursor = encodeURIComponent(first.meta.next_cursor);
  const second = (await pombo.workspace.call("GET", `${DOMAINS}?limit=4&cursor=${cursor}`)).body;
  const names = [...first.data, ...second.data].map(({ domain }: { domain: string }) => domain);
  expect(names).toEqual(planted.toReversed().slice(0, 8));
});

test("a cursor of another list is 422 with the field cursor", async () => {
  await using pombo = await startInstance();
  const { workspace, operator } = pombo;
  const theirs = `/api/v1/operator/workspaces/${workspace.id}`;
  plant(pombo, ["d1.test"]);
  await pombo.newWorkspace();
  for (const name of ["one", "two"]) {
    await workspace.call("POST", "/api/v1/auth/keys", { body: { name } });
    await workspace.call("POST", "/api/v1/suppressions", { body: { address: `${name}@example.com` } });
    await workspace.call("POST", "/api/v1/webhooks", {
      body: { url: `https://example.com/${name}`, events: ["email.*"] },
    });
    await operator.call("POST", `${theirs}/credits`, { body: { amount: 5 } });
  }
  const lists = [
    ...["domains", "auth/keys", "suppressions", "webhooks"].map((name) => [workspace, `/api/v1/${name}`] as const),
    ...["domains", "workspaces"].map((name) => [operator, `/api/v1/operator/${name}`] as const),
    ...["credits", "suppressions"].map((name) => [operator, `${theirs}/${name}`] as const),
  ];
  const cursors: string[] = [];
  for (const [caller, path] of lists) {
    const { body } = await caller.call("GET", `${path}?limit=1`);
    expect([path, body.meta]).toEqual([path, { has_more: true, next_cursor: expect.any(String) }]);
    cursors.push(body.meta.next_cursor);
  }
  for (const [nth, [caller, path]] of lists.entries()) {
    for (const [from, cursor] of cursors.entries()) {
      const answer = await caller.call("GET", `${path}?cursor=${encodeURIComponent(cursor)}`);
      if (from === nth) expect([path, answer.status]).toEqual([path, 200]);
      else expectErrors(answer, 422, [{ field: "cursor", message: /not a cursor of this list/ }]);
    }
  }
});

test("a malformed cursor is 422 with the field cursor", async () => {
  await using pombo = await startInstance();
  const forged = ["1", "1.", ".1", "1.2.3", "-1.2", "1e3.1", "a.b", "1.2\n", "99999999999999999.1"].map((text) =>
    btoa(text),
  );
  for (const cursor of ["", "x", "!!", "%00", "x".repeat(513), "%F0%9F%98%80", ...forged]) {
    const answer = await pombo.workspace.call(
      "GET",
      `${DOMAINS}?cursor=${cursor.includes("%") ? cursor : encodeURIComponent(cursor)}`,
    );
    expectErrors(answer, 422, [{ field: "cursor", message: /^cursor / }]);
  }
});
