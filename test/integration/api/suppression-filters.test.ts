// What a list of suppressions is narrowed to, its cursor with each filter, the file of it, and the import of one.

import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors } from "../../support/api/kit.ts";
import { addPerson } from "../../support/people/member.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const FILE = "/api/v1/suppressions.csv";
const IMPORT = "/api/v1/suppressions/import";

const ROWS = [
  { address: "maria@example.com", reason: "complaint" },
  { address: "maria@example.com", list: "news", reason: "unsubscribe" },
  { address: "mariana@example.com", reason: "hard_bounce" },
  { address: "rui@example.com", reason: "manual" },
  { address: "zé@exämple.com", reason: "manual" },
  { address: "+258841234567", reason: "manual" },
  { address: "+258841234568", reason: "opt_out" },
];

async function importRows(client: Client, suppressions: unknown[]): Promise<void> {
  const { status, body } = await client.call("POST", IMPORT, { body: { suppressions } });
  expect([status, body]).toEqual([200, { data: { imported: suppressions.length, alreadyThere: 0 } }]);
}

async function startWithRows(): Promise<Instance> {
  const pombo = await startInstance();
  await importRows(
    pombo.workspace,
    ROWS.map((row) => (row.address.startsWith("+") ? { ...row, channel: "sms" } : row)),
  );
  return pombo;
}

/** All pages, with this many rows on each. */
async function listAll(client: Client, query: Record<string, string>, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = null; ;) {
    const search = new URLSearchParams({ ...query, limit: String(limit), ...(cursor === null ? {} : { cursor }) });
    const { status, body } = await client.call("GET", `${SUPPRESSIONS}?${search.toString()}`);
    expect([search.toString(), status]).toEqual([search.toString(), 200]);
    found.push(...body.data.map(({ address }: { address: string }) => address));
    cursor = body.meta.next_cursor;
    if (cursor === null) return found;
  }
}

const fetchText = ({ workspace }: Instance, path: string) => workspace.call("GET", path);

test("each filter narrows the list, and its pages follow each other with the filter", async () => {
  await using pombo = await startWithRows();
  const [maria, mariana] = ["maria@example.com", "mariana@example.com"];
  const cases: [query: Record<string, string>, addresses: string[]][] = [
    [{ address: "MARIA@Example.com" }, [maria, maria]],
    [{ address: maria, reason: "complaint" }, [maria]],
    [{ address: "zé@EXÄMPLE.com" }, ["zé@xn--exmple-cua.com"]],
    [{ address: "nobody@example.com" }, []],
    [{ reason: "manual" }, ["+258841234567", "zé@xn--exmple-cua.com", "rui@example.com"]],
    [{ reason: "manual", channel: "sms" }, ["+258841234567"]],
    [{ reason: "opt_out", channel: "email" }, []],
    [{ channel: "email" }, ["zé@xn--exmple-cua.com", "rui@example.com", mariana, maria, maria]],
    [{ q: "Maria" }, [mariana, maria, maria]],
    [{ q: "maria@" }, [maria, maria]],
    [{ q: "+2588412345" }, ["+258841234568", "+258841234567"]],
    [{ q: "maria", reason: "hard_bounce" }, [mariana]],
    [{ q: "maria", address: "rui@example.com" }, []],
    [{ q: "maria", address: mariana }, [mariana]],
    [{ q: "%" }, []],
    [{ q: "mari_" }, []],
  ];
  for (const [query, addresses] of cases) {
    expect([query, await listAll(pombo.workspace, query, 100)]).toEqual([query, addresses]);
    expect([query, await listAll(pombo.workspace, query, 1)]).toEqual([query, addresses]);
  }
  const theirs = await pombo.operator.call(
    "GET",
    `/api/v1/operator/workspaces/${pombo.workspace.id}/suppressions?q=rui`,
  );
  expect(theirs.body.data).toMatchObject([{ address: "rui@example.com" }]);
});

test("a filter that cannot be is refused", async () => {
  await using pombo = await startInstance();
  const cases: [query: string, field: string, message: string][] = [
    ["address=maria", "address", "neither an email address nor a phone number"],
    ["reason=boredom", "reason", "must be"],
    ["q=", "q", "must not be empty"],
  ];
  for (const path of [SUPPRESSIONS, FILE])
    for (const [query, field, message] of cases)
      expectErrors(await pombo.workspace.call("GET", `${path}?${query}`), 422, [{ field, message }]);
});

test("a beginning that more than 2,000 addresses have is refused, and one character more is answered", async () => {
  await using pombo = await startInstance();
  pombo.app.db.sqlite.run(
    `INSERT INTO suppression (workspace_id, channel, address, reason, created_at)
     SELECT (SELECT id FROM workspace WHERE uid = ?), 'email', printf('a%05d@example.com', i), 'manual', i
     FROM (WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n)`,
    [pombo.workspace.id],
  );
  expectErrors(await pombo.workspace.call("GET", `${SUPPRESSIONS}?q=a`), 422, [
    { field: "q", message: "is too short: more than 2,000 suppressed addresses begin so" },
  ]);
  expect(await listAll(pombo.workspace, { q: "a0000" }, 100)).toHaveLength(10);
  const { body } = await pombo.workspace.call("GET", `${SUPPRESSIONS}?q=a01&limit=1`);
  expect(body.data).toMatchObject([{ address: "a01999@example.com" }]);
});

test("an erased address is found by the whole of it, and its hash by nothing", async () => {
  await using pombo = await startWithRows();
  const { workspace } = pombo;
  await workspace.call("DELETE", "/api/v1/recipients/rui%40example.com");
  const erased = ["erased@erased.invalid"];
  expect(await listAll(workspace, { address: "rui@example.com" }, 20)).toEqual(erased);
  expect(await listAll(workspace, { q: "rui@example.com" }, 20)).toEqual(erased);
  expect(await listAll(workspace, { q: "rui@example" }, 20)).toEqual([]);
  const hash = pombo.app.db.sqlite.query("SELECT address FROM suppression WHERE is_erased = 1").get() as {
    address: string;
  };
  for (const length of [1, 2, 10, hash.address.length])
    expect(await listAll(workspace, { q: hash.address.slice(0, length) }, 20)).not.toContain(erased[0]);
});

test("the file holds the list with its filters; hostile cells are no formulas", async () => {
  await using pombo = await startInstance();
  const { workspace } = pombo;
  const hostile = ["=cmd|calc@example.com", "+1@example.com", "-2+3@example.com", "'=x@example.com"];
  await importRows(
    workspace,
    hostile.map((address) => ({ address, suppressedAt: "2026-11-20T10:00:00Z" })),
  );
  await importRows(workspace, [
    { address: "+258841234567", channel: "sms" },
    { address: "a@example.com", list: "news" },
  ]);
  const { status, headers, text } = await fetchText(pombo, FILE);
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
  expect(headers.get("content-disposition")).toMatch(/^attachment; filename="suppressions-\d{4}-\d\d-\d\d\.csv"$/);
  expect(headers.get("cache-control")).toBe("no-store");
  const [header, ...lines] = text.split("\r\n");
  expect(header).toBe("address,channel,reason,suppressedAt,list");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => line.split(",")[0])).toEqual([
    "a@example.com",
    "+258841234567",
    "''=x@example.com",
    "'-2+3@example.com",
    "'+1@example.com",
    "'=cmd|calc@example.com",
  ]);
  expect(lines[0]).toEndWith(",news");
  const narrowed = await fetchText(pombo, `${FILE}?channel=sms`);
  expect(narrowed.text.split("\r\n").slice(1, -1)).toEqual([lines[1] ?? ""]);
});

test("a file of more than one piece holds every row once, and none of another workspace", async () => {
  await using pombo = await startInstance();
  const addresses = Array.from({ length: 1203 }, (_, i) => `a${String(i).padStart(4, "0")}@example.com`);
  for (let at = 0; at < addresses.length; at += 500)
    await importRows(
      pombo.workspace,
      addresses.slice(at, at + 500).map((address) => ({ address })),
    );
  const other = await pombo.newWorkspace();
  await importRows(other, [{ address: "theirs@example.com" }]);
  const { text } = await fetchText(pombo, FILE);
  const found = text.split("\r\n").slice(1, -1);
  expect(found.map((line) => line.split(",")[0])).toEqual(addresses.toReversed());
  expect((await fetchText(pombo, `${FILE}?q=a00`)).text.split("\r\n")).toHaveLength(102);
});

test("an import is all or none, and keeps the first reason", async () => {
  await using pombo = await startWithRows();
  const { workspace } = pombo;
  const again = await workspace.call("POST", IMPORT, {
    body: { suppressions: [{ address: "rui@example.com", reason: "complaint" }, { address: "new@example.com" }] },
  });
  expect(again.body).toEqual({ data: { imported: 1, alreadyThere: 1 } });
  expect(await listAll(workspace, { address: "rui@example.com", reason: "manual" }, 20)).toHaveLength(1);
  const faulty = await workspace.call("POST", IMPORT, {
    body: { suppressions: [{ address: "newer@example.com" }, { address: "x" }] },
  });
  expectErrors(faulty, 422, [{ field: "address", path: "suppressions[1].address" }]);
  expect(await listAll(workspace, { address: "newer@example.com" }, 20)).toEqual([]);
});

test("viewers read the list and the file, members import, a key of one domain does none of it", async () => {
  await using pombo = await startWithRows();
  const body = { suppressions: [{ address: "new@example.com" }] };
  const [viewer, member] = [addPerson(pombo, { role: "viewer" }), addPerson(pombo, { role: "member" })];
  expect((await viewer.act("GET", `${SUPPRESSIONS}?q=maria`)).status).toBe(200);
  expect((await viewer.act("GET", FILE)).status).toBe(200);
  expectErrors(await viewer.act("POST", IMPORT, { body }), 403, [{ code: "ROLE_REQUIRED" }]);
  expect((await member.act("POST", IMPORT, { body })).status).toBe(200);

  const id = await pombo.addDomain(pombo.workspace, "other.test");
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one", domainId: id } });
  const { key } = made.body.data;
  for (const [method, path] of [
    ["GET", SUPPRESSIONS],
    ["GET", FILE],
    ["POST", IMPORT],
  ] as const)
    expectErrors(await pombo.workspace.call(method, path, { key, ...(method === "POST" ? { body } : {}) }), 403, [
      { code: "API_KEY_RESTRICTED" },
    ]);
});
