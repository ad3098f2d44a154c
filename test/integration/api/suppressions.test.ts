import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, startHeld, TIMESTAMP } from "../../support/api/kit.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const NOON = Date.UTC(2026, 10, 21, 12);

const add = (client: Client, body: unknown) => client.call("POST", SUPPRESSIONS, { body });
const lift = (client: Client, address: string, query = "") =>
  client.call("DELETE", `${SUPPRESSIONS}/${encodeURIComponent(address)}${query}`);

async function addressesOf(client: Client, query = ""): Promise<string[]> {
  const { status, body } = await client.call("GET", `${SUPPRESSIONS}${query}`);
  expect([query, status]).toEqual([query, 200]);
  return body.data.map(({ address }: { address: string }) => address);
}

test("a suppression has the interface's five members and no others, in every answer", async () => {
  await using pombo = await startInstance();
  const made = await add(pombo.workspace, { address: "Maria@Example.com" });
  expect(made.status).toBe(201);
  const suppression = {
    ...{ address: "maria@example.com", reason: "manual", channel: "email", list: null },
    suppressedAt: expect.stringMatching(TIMESTAMP),
  };
  expect(made.body).toEqual({ data: suppression });
  const listed = await pombo.workspace.call("GET", SUPPRESSIONS);
  expect(listed.body).toEqual({ data: [suppression], meta: { has_more: false, next_cursor: null } });
});

test("the channel follows from the address, and each channel has its reasons", async () => {
  await using pombo = await startInstance();
  const cases: [body: Record<string, string>, channel: string, reason: string][] = [
    [{ address: "a@example.com" }, "email", "manual"],
    [{ address: "b@example.com", channel: "email", reason: "hard_bounce" }, "email", "hard_bounce"],
    [{ address: "c@example.com", reason: "complaint" }, "email", "complaint"],
    [{ address: "+258841234567" }, "sms", "manual"],
    [{ address: "+258841234568", channel: "sms", reason: "opt_out" }, "sms", "opt_out"],
    [{ address: "+258841234569", reason: "invalid_number" }, "sms", "invalid_number"],
    // A local part may be made of digits.
    [{ address: "+258841234567@example.com" }, "email", "manual"],
  ];
  for (const [body, channel, reason] of cases) {
    const made = await add(pombo.workspace, body);
    expect([made.status, made.body.data]).toMatchObject([201, { address: body["address"], channel, reason }]);
  }
  expect(await addressesOf(pombo.workspace, "?channel=sms")).toEqual([
    "+258841234569",
    "+258841234568",
    "+258841234567",
  ]);
  expect(await addressesOf(pombo.workspace, "?channel=email")).toHaveLength(4);
  expect(await addressesOf(pombo.workspace)).toHaveLength(7);
});

test("what is suppressed already is answered with 200 as it is: the first reason and time stay", async () => {
  await using held = await startHeld(NOON);
  const { workspace } = held.pombo;
  const first = await add(workspace, { address: "maria@example.com", reason: "complaint" });
  await held.advance(1_000);
  const again = await add(workspace, { address: "MARIA@example.com", reason: "manual" });
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
  expect(again.body.data.suppressedAt).toBe(new Date(NOON).toISOString());
  expect(await addressesOf(workspace)).toEqual(["maria@example.com"]);
});

test("every fault of a suppression is named at once", async () => {
  await using pombo = await startInstance();
  const wrong: [unknown, ...{ field: string; message: string }[]][] = [
    [{}, { field: "address", message: "address is required" }],
    [{ address: "" }, { field: "address", message: "address must not be empty" }],
    [{ address: "maria" }, { field: "address", message: "neither an email address nor a phone number" }],
    [{ address: "maria@example.com." }, { field: "address", message: "the domain ends with a dot" }],
    [{ address: "Maria <maria@example.com>" }, { field: "address", message: "is not a usable address" }],
    [{ address: "+258 84 123 4567" }, { field: "address", message: "is not a phone number" }],
    [{ address: `${"x".repeat(250)}@example.com` }, { field: "address", message: "at most 255 characters" }],
    [
      { address: "maria@example.com", reason: "opt_out" },
      { field: "reason", message: "must be hard_bounce or complaint or manual or unsubscribe on the channel email" },
    ],
    [
      { address: "+258841234567", reason: "hard_bounce" },
      { field: "reason", message: "must be opt_out or invalid_number or manual on the channel sms" },
    ],
    [
      { address: "+258841234567", channel: "email" },
      { field: "address", message: "is a phone number, and the channel is email" },
    ],
    [
      { address: "maria@example.com", channel: "sms", reason: "complaint" },
      { field: "address", message: "is an email address, and the channel is sms" },
      { field: "reason", message: "on the channel sms" },
    ],
    [
      { address: "maria", channel: "fax", reason: "rage", note: 1 },
      { field: "address", message: "neither" },
      { field: "channel", message: "must be email or sms" },
      { field: "reason", message: "must be hard_bounce or" },
      { field: "note", message: "is not a member of this request" },
    ],
    [
      { address: 1, channel: 2, reason: null },
      ...["address", "channel", "reason"].map((field) => ({ field, message: field })),
    ],
  ];
  for (const [body, ...faults] of wrong) expectErrors(await add(pombo.workspace, body), 422, faults);
  expect(await addressesOf(pombo.workspace)).toEqual([]);
});

/** What stands in the path, and the address that is meant by it. */
const PATHS: [path: string, address: string][] = [
  ["maria@example.com", "maria@example.com"],
  ["maria%40example.com", "maria@example.com"],
  ["MARIA%40EXAMPLE.COM", "maria@example.com"],
  ["%6Daria%40example%2Ecom", "maria@example.com"],
  // In a path a plus is a plus.
  ["maria+loja@example.com", "maria+loja@example.com"],
  ["maria%2Bloja%40example.com", "maria+loja@example.com"],
  ["+258841234567", "+258841234567"],
  ["%2B258841234567", "+258841234567"],
  ["a%2Fb@example.com", "a/b@example.com"],
  ["a%2fb@example.com", "a/b@example.com"],
  // Decoded once: what comes out is not decoded again.
  ["a%25b@example.com", "a%b@example.com"],
  ["a%2540b@example.com", "a%40b@example.com"],
  ["a%252Fb@example.com", "a%2fb@example.com"],
  ["a%23b%3Fc@example.com", "a#b?c@example.com"],
  ["a&b=c'd@example.com", "a&b=c'd@example.com"],
  ["%22a%20b%22@example.com", '"a b"@example.com'],
  ["%22a%5C%22b%22@example.com", '"a\\"b"@example.com'],
  ["maria@b%C3%BCcher.de", "maria@xn--bcher-kva.de"],
  ["maria@B%C3%9CCHER.de", "maria@xn--bcher-kva.de"],
  ["maria@xn--BCHER-kva.de", "maria@xn--bcher-kva.de"],
  ["jo%C3%A3o@example.com", "joão@example.com"],
  ["joa%CC%83o@example.com", "joão@example.com"],
  ["%F0%A0%AE%B7@example.com", "𠮷@example.com"],
];

test("a suppression is lifted by its address however that is written and encoded", async () => {
  await using pombo = await startInstance();
  for (const [path, address] of PATHS) {
    expect([path, (await add(pombo.workspace, { address })).status]).toEqual([path, 201]);
    const lifted = await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/${path}`);
    expect([path, lifted.status, lifted.body]).toEqual([path, 200, { data: { address, deleted: true } }]);
    const again = await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/${path}`);
    expect([path, again.status]).toEqual([path, 404]);
    // What the server took it for.
    expect(errorItems(again)[0]?.hint).toContain(`understood as ${address};`);
  }
  expect(await addressesOf(pombo.workspace)).toEqual([]);
});

test("an address that comes as bare bytes is understood too", async () => {
  await using pombo = await startInstance();
  await add(pombo.workspace, { address: "joão@bücher.de" });
  const line = Buffer.concat([
    Buffer.from(`DELETE ${SUPPRESSIONS}/`),
    Buffer.from("João@BÜCHER.de", "utf8"),
    Buffer.from(head("", { "X-API-Key": pombo.workspace.key })),
  ]);
  const answer = await exchange(pombo.app.url, line);
  expect([answer.status, answer.body]).toEqual([200, { data: { address: "joão@xn--bcher-kva.de", deleted: true } }]);
});

test("a path that is encoded wrongly, or holds no address, is 422 and never a failure inside", async () => {
  await using pombo = await startInstance();
  const encoded = ["%", "%4", "%zz", "maria%@example.com", "maria%4g@example.com", "%C3@example.com", "%E0%A4%A"];
  for (const path of [...encoded, "%ED%A0%80@example.com", "%FF%FE", "%C0%AF@example.com"]) {
    const answer = await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/${path}`);
    expectErrors(answer, 422, [{ field: "address", message: "is not URL-encoded UTF-8" }]);
    expect(errorItems(answer)[0]?.hint).toContain("encodeURIComponent");
  }
  const others: [string, string][] = [
    ["%00", "neither"],
    ["maria", "neither"],
    ["258841234567", "is not a phone number"],
    ["maria%40example.com.", "ends with a dot"],
    ["maria%40example.com%0D%0A", "invisible"],
    ["%20maria%40example.com", "space"],
    ["Maria%20%3Cmaria%40example.com%3E", "is not a usable address"],
    [`${"x".repeat(8_000)}%40example.com`, "too long"],
  ];
  for (const [path, message] of others) {
    const answer = await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/${path}`);
    expectErrors(answer, 422, [{ field: "address", message }]);
  }
  // Not encoded, a slash ends the segment: that path does not exist.
  expect((await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/a/b@example.com`)).status).toBe(404);
  expect((await pombo.workspace.call("DELETE", `${SUPPRESSIONS}/`)).status).toBe(405);
  expect(pombo.bugs).toEqual([]);
});

test("a channel in the query lifts on that one alone, and another is 404", async () => {
  await using pombo = await startInstance();
  await add(pombo.workspace, { address: "maria@example.com" });
  await add(pombo.workspace, { address: "+258841234567" });
  const elsewhere = await lift(pombo.workspace, "maria@example.com", "?channel=sms");
  expectErrors(elsewhere, 404, [{ code: "NOT_FOUND", message: "on the channel sms" }]);
  expect((await lift(pombo.workspace, "maria@example.com", "?channel=email")).status).toBe(200);
  expect((await lift(pombo.workspace, "+258841234567", "?channel=sms")).status).toBe(200);
  expect(await addressesOf(pombo.workspace)).toEqual([]);
  for (const [query, field] of [
    ["?channel=fax", "channel"],
    ["?channel=", "channel"],
    ["?Channel=sms", "Channel"],
  ] as const)
    expectErrors(await lift(pombo.workspace, "maria@example.com", query), 422, [{ field }]);
});

test("without a channel an address goes from every channel that has it", async () => {
  await using pombo = await startInstance();
  await add(pombo.workspace, { address: "+258841234567" });
  // No route makes such a row; a later channel may.
  pombo.app.db.sqlite.run(
    "INSERT INTO suppression (workspace_id, channel, address, reason, created_at) SELECT workspace_id, 'email', address, 'manual', 0 FROM suppression",
  );
  expect(await addressesOf(pombo.workspace)).toHaveLength(2);
  expect((await lift(pombo.workspace, "+258841234567")).body).toEqual({
    data: { address: "+258841234567", deleted: true },
  });
  expect(await addressesOf(pombo.workspace)).toEqual([]);
});

test("whatever the list shows can be lifted as it stands there, even where lower case made it too long", async () => {
  await using pombo = await startInstance();
  // 64 octets in capitals, 96 in small letters.
  const address = `${"Ⱥ".repeat(32)}@example.com`;
  expect((await add(pombo.workspace, { address })).status).toBe(201);
  const [listed = ""] = await addressesOf(pombo.workspace);
  expect(listed).toBe(`${"ⱥ".repeat(32)}@example.com`);
  expect((await lift(pombo.workspace, listed)).body).toEqual({ data: { address: listed, deleted: true } });
  expectErrors(await lift(pombo.workspace, listed), 422, [{ field: "address", message: "longer than 64" }]);
});

test("only the workspace's own whole keys come to its list", async () => {
  await using pombo = await startInstance();
  await add(pombo.workspace, { address: "maria@example.com" });
  const refusedAll = async (key: string | null, status: number, code: string) => {
    const requests: [string, string, object][] = [
      ["GET", SUPPRESSIONS, {}],
      ["POST", SUPPRESSIONS, { body: { address: "x@example.com" } }],
      ["DELETE", `${SUPPRESSIONS}/maria@example.com`, {}],
    ];
    for (const [method, path, options] of requests)
      expectErrors(await pombo.workspace.call(method, path, { ...options, key }), status, [{ code }]);
  };
  const { data } = (await pombo.workspace.call("GET", "/api/v1/domains")).body;
  const restricted = await pombo.workspace.call("POST", "/api/v1/auth/keys", {
    body: { name: "one domain", domainId: data[0].id },
  });
  await refusedAll(restricted.body.data.key, 403, "API_KEY_RESTRICTED");
  await refusedAll(pombo.operator.key, 403, "API_KEY_RESTRICTED");
  await refusedAll(null, 401, "MISSING_API_KEY");
  const stranger = await pombo.newWorkspace();
  expect(await addressesOf(stranger)).toEqual([]);
  expect((await lift(stranger, "maria@example.com")).status).toBe(404);
  // The same address is everybody's own matter.
  expect((await add(stranger, { address: "maria@example.com", reason: "complaint" })).status).toBe(201);
  expect((await lift(stranger, "maria@example.com")).status).toBe(200);
  expect(await addressesOf(pombo.workspace)).toEqual(["maria@example.com"]);
});

test("the list is newest first, in pages of twenty, and a cursor leads on where it ended", async () => {
  await using held = await startHeld(NOON);
  const { workspace } = held.pombo;
  const wanted: string[] = [];
  for (let number = 0; number < 45; number++) {
    await add(workspace, { address: `user${number}@example.com` });
    wanted.unshift(`user${number}@example.com`);
    // Several at one time: the later written one is the newer.
    if (number % 4 === 0) held.clock.advance(1);
  }
  const first = (await workspace.call("GET", SUPPRESSIONS)).body;
  expect(first.data).toHaveLength(20);
  expect(first.meta).toEqual({ has_more: true, next_cursor: expect.any(String) });
  expect(await walk(held.pombo, "?limit=7")).toEqual(wanted);
  expect(await walk(held.pombo, "?limit=100&channel=email")).toEqual(wanted);
  expect(await walk(held.pombo, "?limit=45")).toEqual(wanted);
  const wrong: [query: string, field: string][] = [
    ["?limit=0", "limit"],
    ["?limit=101", "limit"],
    ["?cursor=x", "cursor"],
    ["?cursor=", "cursor"],
    ["?channel=fax", "channel"],
    ["?page=2", "page"],
  ];
  for (const [query, field] of wrong)
    expectErrors(await workspace.call("GET", `${SUPPRESSIONS}${query}`), 422, [{ field }]);
});

async function walk(pombo: Instance, query: string): Promise<string[]> {
  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body } = await pombo.workspace.call(
      "GET",
      `${SUPPRESSIONS}${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    seen.push(...body.data.map(({ address }: { address: string }) => address));
    expect(body.meta.has_more).toBe(body.meta.next_cursor !== null);
    cursor = body.meta.next_cursor;
  }
  return seen;
}
