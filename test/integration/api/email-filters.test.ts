import { expect, test } from "bun:test";
import { type Client, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";

async function send(pombo: Instance, changes: Record<string, unknown>, client: Client = pombo.workspace) {
  const { status, body } = await client.call("POST", EMAILS, { body: pombo.email(changes) });
  expect(status).toBe(202);
  return body.data.id as string;
}

/** The recipients of a list's page and its meta. */
async function list(client: Client, query: string): Promise<{ to: string[]; meta: Json; statuses: string[] }> {
  const { status, body } = await client.call("GET", `${EMAILS}?include=status&${query}`);
  expect([query, status]).toEqual([query, 200]);
  return {
    to: body.data.map(({ to }: { to: string }) => to),
    meta: body.meta,
    statuses: [...new Set<string>(body.data.map((email: { status: string }) => email.status))],
  };
}

const meta = (total: number) => ({ total, perPage: 20, page: 1, lastPage: 1 });

test("status shows the emails of one status, and counts them", async () => {
  await using pombo = await startInstance({
    mx: {
      rcpt: (command) =>
        command.includes("gone") ? "550 5.1.1 No" : command.includes("later") ? "450 4.2.0 Later" : "250 Ok",
    },
  });
  for (const to of ["a@example.com", "gone@example.com", "later@example.com", "later.too@example.com", "b@example.com"])
    await send(pombo, { to });
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  const { workspace } = pombo;
  expect(await list(workspace, "status=delivered")).toEqual({
    ...{ to: ["b@example.com", "a@example.com"], meta: meta(2), statuses: ["delivered"] },
  });
  expect(await list(workspace, "status=bounced")).toMatchObject({ to: ["gone@example.com"], meta: meta(1) });
  const delayed = await list(workspace, "status=delivery_delayed");
  expect(delayed).toMatchObject({ to: ["later.too@example.com", "later@example.com"], meta: meta(2) });
  for (const status of ["scheduled", "queued", "sending", "sent", "failed", "complained", "suppressed", "canceled"])
    expect([status, await list(workspace, `status=${status}`)]).toEqual([
      status,
      { to: [], meta: meta(0), statuses: [] },
    ]);
  expect((await list(workspace, "")).meta).toEqual(meta(5));

  const later = await send(pombo, { to: "later@example.com" });
  await pombo.app.worker.idle();
  await workspace.call("POST", `${EMAILS}/${later}/cancel`);
  expect(await list(workspace, "status=delivery_delayed")).toEqual(delayed);
  expect(await list(workspace, "status=canceled")).toMatchObject({ to: ["later@example.com"], meta: meta(1) });
  // As it was counted before a restart.
  await pombo.restart();
  expect(await list(workspace, "status=delivery_delayed")).toEqual(delayed);
});

test("what waits and what is being sent are told apart", async () => {
  await using pombo = await startInstance({ configure: (config) => void (config.email.sessionsPerDestination = 1) });
  pombo.dns.faults["example.com"] = "slow";
  for (let number = 0; number < 6; number++) await send(pombo, { to: `r${number}@example.com` });
  const sending = await list(pombo.workspace, "status=sending");
  const queued = await list(pombo.workspace, "status=queued");
  // One finds the way for all of them.
  expect(sending).toMatchObject({ to: ["r0@example.com"], meta: meta(1), statuses: ["sending"] });
  expect(queued).toMatchObject({ meta: meta(5), statuses: ["queued"] });
  expect(queued.to).toEqual([5, 4, 3, 2, 1].map((number) => `r${number}@example.com`));
  delete pombo.dns.faults["example.com"];
  pombo.dns.release();
  await pombo.mx.until(() => pombo.mx.messages.length === 6);
  await pombo.app.worker.idle();
  for (const status of ["sending", "queued"])
    expect((await list(pombo.workspace, `status=${status}`)).meta).toEqual(meta(0));
});

test("to and from find an address however it is written", async () => {
  await using pombo = await startInstance();
  await pombo.addDomain(pombo.workspace, "xn--caf-dma.test");
  await send(pombo, { to: "Maria.Silva+lista@Example.COM", from: '"Café, Loja" <Loja@CAFÉ.test>' });
  await send(pombo, { to: "josé@bücher.example", from: "Outra <outra@loja.test>" });
  await send(pombo, { to: "maria@example.com" });
  const found = async (query: string) => (await list(pombo.workspace, query)).to;
  for (const written of [
    "maria.silva+lista@example.com",
    "MARIA.SILVA+LISTA@EXAMPLE.COM",
    "Maria.Silva+lista@Example.COM",
  ])
    expect(await found(`to=${encodeURIComponent(written)}`)).toEqual(["Maria.Silva+lista@Example.COM"]);
  for (const written of ["josé@bücher.example", "JOSÉ@xn--bcher-kva.example", "jose\u0301@BÜCHER.example"])
    expect(await found(`to=${encodeURIComponent(written)}`)).toEqual(["josé@bücher.example"]);
  for (const written of ["loja@café.test", "LOJA@xn--caf-dma.test"])
    expect(await found(`from=${encodeURIComponent(written)}`)).toEqual(["Maria.Silva+lista@Example.COM"]);
  expect(await found("from=loja@loja.test")).toEqual(["maria@example.com"]);
  // Exactly that one: neither a part of it, nor a pattern, nor the display name.
  for (const query of [
    "to=aria@example.com",
    "to=maria@example.co",
    "to=m%25@example.com",
    "to=maria.silva@example.com",
  ])
    expect([query, await found(query)]).toEqual([query, []]);
});

test("filters go together, with pages, limits and include", async () => {
  await using pombo = await startInstance({
    mx: { rcpt: (command) => (command.includes("gone") ? "550 5.7.1 No" : "250 Ok") },
  });
  const from = "caixa@loja.test";
  for (let number = 0; number < 3; number++) {
    await send(pombo, { to: "maria@example.com", subject: `${number}` });
    await send(pombo, { to: "maria@example.com", from });
    await send(pombo, { to: "gone@example.com", from });
    await pombo.app.worker.idle();
  }
  const { workspace } = pombo;
  expect((await list(workspace, "to=maria@example.com")).meta).toEqual(meta(6));
  expect((await list(workspace, `from=${from}`)).meta).toEqual(meta(6));
  expect((await list(workspace, `to=maria@example.com&from=${from}`)).meta).toEqual(meta(3));
  expect((await list(workspace, `to=maria@example.com&from=${from}&status=delivered`)).meta).toEqual(meta(3));
  expect((await list(workspace, `to=maria@example.com&status=bounced`)).meta).toEqual(meta(0));
  expect((await list(workspace, `from=${from}&status=bounced`)).statuses).toEqual(["bounced"]);
  const query = "to=maria@example.com&from=loja@loja.test&limit=2";
  const subjects = async (page: number) => {
    const { body } = await workspace.call("GET", `${EMAILS}?${query}&page=${page}`);
    expect(body.meta).toEqual({ total: 3, perPage: 2, page, lastPage: 2 });
    for (const email of body.data) expect(Object.keys(email)).toHaveLength(8);
    return body.data.map(({ subject }: { subject: string }) => subject);
  };
  expect([await subjects(1), await subjects(2), await subjects(3)]).toEqual([["2", "1"], ["0"], []]);
});

test("a key of one domain sees that domain's alone, under every filter", async () => {
  await using pombo = await startInstance();
  const { workspace } = pombo;
  const domainId = await pombo.addDomain(workspace, "outra.test");
  const { body } = await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "outra", domainId } });
  const restricted: Client = {
    ...workspace,
    call: (method, path, options) => workspace.call(method, path, { ...options, key: body.data.key }),
  };
  await send(pombo, { from: "a@outra.test", to: "maria@example.com" });
  for (let number = 0; number < 3; number++) await send(pombo, { to: "maria@example.com" });
  await pombo.mx.until(() => pombo.mx.messages.length === 4);
  await pombo.app.worker.idle();
  for (const query of ["", "status=delivered", "to=maria@example.com", "to=maria@example.com&status=delivered"]) {
    expect([query, (await list(workspace, query)).meta]).toEqual([query, meta(4)]);
    expect([query, (await list(restricted, query)).meta]).toEqual([query, meta(1)]);
    expect([query, (await list(restricted, query)).to]).toEqual([query, ["maria@example.com"]]);
  }
  for (const query of ["from=loja@loja.test", "from=loja@loja.test&status=delivered", "status=bounced"])
    expect([query, await list(restricted, query)]).toEqual([query, { to: [], meta: meta(0), statuses: [] }]);
  const stranger = await pombo.newWorkspace();
  for (const query of ["status=delivered", "to=maria@example.com", "from=loja@loja.test"])
    expect([query, (await list(stranger, query)).meta]).toEqual([query, meta(0)]);
});

test("of an address with more than 10,000 emails the meta says that the total is the least", async () => {
  await using pombo = await startInstance();
  await send(pombo, { to: "maria@example.com" });
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  pombo.app.db.sqlite.run(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, return_path, created_at, status)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10004)
     SELECT printf('%08x-0000-7000-8000-000000000000', i), workspace_id, domain_id, sender, sender_address,
       sender_domain, recipient, recipient_address, subject, return_path, created_at + i, status FROM n, email`,
  );
  const page = async (query: string) =>
    (await pombo.workspace.call("GET", `${EMAILS}?to=maria@example.com${query}`)).body;
  const least = { total: 10_000, totalIsMinimum: true };
  expect((await page("")).meta).toEqual({ ...least, perPage: 20, page: 1, lastPage: 500 });
  const last = await page("&limit=30&page=334");
  expect(last.meta).toEqual({ ...least, perPage: 30, page: 334, lastPage: 334 });
  expect(last.data).toHaveLength(10);
  const beyond = await page("&page=501");
  expect(beyond).toEqual({ data: [], meta: { ...least, perPage: 20, page: 501, lastPage: 500 } });
  expect((await page("&status=bounced")).meta).toEqual({ ...meta(0), totalIsMinimum: true });
});

test("a filter that cannot be is 422, every one with its field", async () => {
  await using pombo = await startInstance();
  const refused = (query: string) => pombo.workspace.call("GET", `${EMAILS}?${query}`);
  for (const status of ["", "Delivered", "delivered,bounced", "delayed", "x"]) {
    expectErrors(await refused(`status=${status}`), 422, [
      { field: "status", message: /^status must be scheduled or queued or sending or delivery_delayed or / },
    ]);
  }
  const noAddresses = [
    "",
    "maria",
    "@example.com",
    "a@b",
    "Maria <maria@example.com>",
    "a@x.test,b@x.test",
    "a@x.test\n",
  ];
  for (const field of ["to", "from"]) {
    for (const value of [...noAddresses, `${"a".repeat(250)}@x.test`, "a@\u0000.test", "*@example.com\u202e"]) {
      expectErrors(await refused(`${field}=${encodeURIComponent(value)}`), 422, [
        { field, message: new RegExp(`^${field} (must|is not a usable address)`) },
      ]);
    }
    expectErrors(await refused(`${field}=a@x.test&${field}=b@x.test`), 422, [{ field }]);
  }
  // A plus that was not encoded is a space by the time it is here.
  const { body } = await refused("to=maria+lista@example.com");
  expect(body.errors[0].message).toEndWith("In a query a plus is written %2B.");
  expectErrors(await refused("status=x&to=y&from=z&page=0&limit=0&include=all"), 422, [
    ...["status", "to", "from", "page", "limit", "include"].map((field) => ({ field })),
  ]);
  expectErrors(await refused("status=sent&status=sent"), 422, [{ field: "status" }]);
});
