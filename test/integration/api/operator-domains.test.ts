import { expect, test } from "bun:test";
import { type Answer, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { DAY, HOUR, MINUTE, START, startLife } from "../../support/domains/life.ts";
import { errorItems, expectErrors, startHeld, TIMESTAMP, UNKNOWN_ID } from "../../support/api/kit.ts";

const PATH = "/api/v1/operator/domains";

const suspend = (pombo: Instance, id: string, suspended: boolean): Promise<Answer> =>
  pombo.operator.call("PATCH", `${PATH}/${id}`, { body: { suspended } });

test("the operator lists the domains of all workspaces, newest first, or one workspace's, page by page", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  for (const [client, domain] of [
    [pombo.workspace, "one.test"],
    [other, "two.test"],
    [pombo.workspace, "three.test"],
  ] as const)
    await client.call("POST", "/api/v1/domains", { body: { domain } });
  const all = (await pombo.operator.call("GET", PATH)).body;
  expect(all.data.map(({ domain }: { domain: string }) => domain)).toEqual([
    "three.test",
    "two.test",
    "one.test",
    "loja.test",
  ]);
  expect(all.meta).toEqual({ has_more: false, next_cursor: null });
  expect(all.data[1]).toEqual({
    id: expect.any(String),
    workspaceId: other.id,
    domain: "two.test",
    status: "pending",
    createdAt: expect.stringMatching(TIMESTAMP),
    verifiedAt: null,
  });
  const own = await pombo.operator.call("GET", `${PATH}?workspaceId=${pombo.workspace.id.toUpperCase()}`);
  expect(own.body.data.map(({ domain }: { domain: string }) => domain)).toEqual([
    "three.test",
    "one.test",
    "loja.test",
  ]);
  const seen: string[] = [];
  for (let cursor = ""; ;) {
    const { body } = await pombo.operator.call("GET", `${PATH}?limit=1${cursor}`);
    seen.push(...body.data.map(({ domain }: { domain: string }) => domain));
    if (!body.meta.has_more) break;
    cursor = `&cursor=${body.meta.next_cursor}`;
  }
  expect(seen).toEqual(["three.test", "two.test", "one.test", "loja.test"]);
});

test("the operator registers a domain for a workspace and checks it, as the workspace itself does", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  const register = (workspaceId: string, domain: string) =>
    pombo.operator.call("POST", `/api/v1/operator/workspaces/${workspaceId}/domains`, { body: { domain } });
  const made = await register(other.id.toUpperCase(), "Münch.test");
  expect(made.status).toBe(201);
  const { id, dns } = made.body.data;
  expect(made.body.data).toMatchObject({ workspaceId: other.id, domain: "xn--mnch-0ra.test", status: "pending" });
  expect(dns.dkim.map(({ name }: { name: string }) => name)).toEqual([
    "pombo1._domainkey.xn--mnch-0ra.test",
    "pombo2._domainkey.xn--mnch-0ra.test",
  ]);
  const own = (await other.call("GET", `/api/v1/domains/${id}`)).body.data;
  expect(own.dns).toEqual(dns);
  expectErrors(await register(other.id, "Münch.test"), 409, [{ code: "DOMAIN_ALREADY_EXISTS", field: "domain" }]);
  expectErrors(await register(other.id, "not a domain"), 422, [{ field: "domain" }]);
  expectErrors(await register("1", "x.test"), 422, [{ field: "id" }]);
  expectErrors(await register(UNKNOWN_ID, "x.test"), 404, [{ code: "NOT_FOUND" }]);

  const check = () => pombo.operator.call("POST", `${PATH}/${id.toUpperCase()}/verification-checks`);
  const missing = (await check()).body.data;
  expect(missing).toMatchObject({ status: "pending", dns: { dkim: [{ status: "missing" }, { status: "missing" }] } });
  expect(missing.hint).toContain("Not verified yet");
  const published = await pombo.addDomain(other, "two.test");
  const found = (await pombo.operator.call("POST", `${PATH}/${published}/verification-checks`)).body.data;
  expect(found).toMatchObject({ id: published, workspaceId: other.id, status: "verified" });
  expect(found.dns.dkim[0].status).toBe("found");
  expectErrors(await pombo.operator.call("POST", `${PATH}/${UNKNOWN_ID}/verification-checks`), 404, [
    { code: "NOT_FOUND" },
  ]);
});

test("what the operator's routes for domains do not know is told", async () => {
  await using pombo = await startInstance();
  const { body } = await pombo.operator.call("GET", PATH);
  const { id } = body.data[0];
  expectErrors(await pombo.operator.call("GET", `${PATH}?workspaceId=${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.operator.call("GET", `${PATH}?workspaceId=1`), 422, [{ field: "workspaceId" }]);
  expectErrors(await pombo.operator.call("GET", `${PATH}?workspace=1`), 422, [{ field: "workspace" }]);
  expectErrors(await pombo.operator.call("GET", `${PATH}?cursor=x`), 422, [{ field: "cursor" }]);
  expectErrors(await suspend(pombo, UNKNOWN_ID, true), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await suspend(pombo, "1", true), 422, [{ field: "id" }]);
  for (const [change, field] of [
    [{}, "suspended"],
    [{ suspended: 1 }, "suspended"],
    [{ suspended: true, status: "verified" }, "status"],
  ] as const)
    expectErrors(await pombo.operator.call("PATCH", `${PATH}/${id}`, { body: change }), 422, [{ field }]);
  for (const answer of [
    await pombo.workspace.call("GET", PATH),
    await pombo.workspace.call("PATCH", `${PATH}/${id}`, { body: { suspended: true } }),
  ])
    expectErrors(answer, 403, [{ code: "API_KEY_RESTRICTED" }]);
  expectErrors(await pombo.workspace.call("GET", PATH, { key: null }), 401, [{ code: "MISSING_API_KEY" }]);
});

test("from a suspended domain nothing new is accepted; it cannot be verified, deleted or taken by another", async () => {
  await using pombo = await startInstance();
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const { verifiedAt } = (await pombo.workspace.call("GET", `/api/v1/domains/${id}`)).body.data;
  const suspended = await suspend(pombo, id.toUpperCase(), true);
  expect([suspended.status, suspended.body.data]).toEqual([
    200,
    expect.objectContaining({
      id,
      domain: "one.test",
      status: "suspended",
      verifiedAt,
      workspaceId: pombo.workspace.id,
    }),
  ]);
  const refused = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ from: "a@one.test" }) });
  expectErrors(refused, 422, [{ field: "from", message: "Domain not verified" }]);
  expect(errorItems(refused)[0]?.hint).toContain("operator has suspended one.test");
  const checked = await pombo.workspace.call("POST", `/api/v1/domains/${id}/verification-checks`);
  expect(checked.body.data).toMatchObject({ verifiedAt, hint: expect.stringContaining("operator has suspended") });
  const shown = (await pombo.workspace.call("GET", `/api/v1/domains/${id}`)).body.data;
  expect(shown).toMatchObject({ status: "suspended", nextCheckAt: null, hint: checked.body.data.hint });
  expectErrors(await pombo.workspace.call("DELETE", `/api/v1/domains/${id}`), 403, [{ code: "SENDING_BLOCKED" }]);

  const other = await pombo.newWorkspace();
  const twin = (await other.call("POST", "/api/v1/domains", { body: { domain: "one.test" } })).body.data;
  for (const { type, name, value } of [...twin.dns.dkim, twin.dns.spf])
    pombo.dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
  const late = await other.call("POST", `/api/v1/domains/${twin.id}/verification-checks`);
  expect(late.body.data).toMatchObject({ verifiedAt: null, hint: expect.stringContaining("Another workspace") });
  // The other way round one name would have two holders.
  const second = await suspend(pombo, twin.id, true);
  expectErrors(second, 422, [{ field: "suspended", message: /another workspace has one.test/ }]);
  // Once more changes and tells nothing.
  expect((await suspend(pombo, id, true)).body).toEqual(suspended.body);
  expect(pombo.events.filter(({ name }) => name === "domain.suspended")).toHaveLength(1);
  // Its key is gone from DNS: lifted it is pending, and the other may have it.
  expect((await suspend(pombo, id, false)).body.data).toMatchObject({ status: "pending", verifiedAt });
  const won = await other.call("POST", `/api/v1/domains/${twin.id}/verification-checks`);
  expect(won.body.data.verifiedAt).toMatch(TIMESTAMP);
  expect(pombo.bugs).toEqual([]);
});

test("lifting a suspension checks at once, and looks on by itself where that fails", async () => {
  await using life = await startLife();
  const { pombo } = life;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  await suspend(pombo, id, true);
  await life.until(START + 3 * DAY);
  expect(life.checksOf("one.test")).toHaveLength(1);
  expect((await suspend(pombo, id, false)).body.data.status).toBe("verified");
  expect((await suspend(pombo, id, false)).body.data.status).toBe("verified");
  expect(life.checksOf("one.test")).toHaveLength(2);
  expect(await life.send("one.test")).toBe(202);

  await suspend(pombo, id, true);
  life.withdraw("one.test");
  expect((await suspend(pombo, id, false)).body.data.status).toBe("pending");
  expect(await life.send("one.test")).toBe(422);
  await life.publish(id);
  await life.until(START + 3 * DAY + 6 * MINUTE);
  expect((await life.show(id)).status).toBe("verified");

  // DNS that is down at that moment holds it up only as long as it is.
  await suspend(pombo, id, true);
  pombo.dns.faults["*"] = "servfail";
  expect((await suspend(pombo, id, false)).body.data.status).toBe("pending");
  pombo.dns.faults = {};
  await life.until(START + 3 * DAY + 12 * MINUTE);
  expect((await life.show(id)).status).toBe("verified");
}, 30_000);

test("mail queued from a domain that is suspended waits with the reason, and goes when that is lifted", async () => {
  let answer = "450 4.2.1 Later";
  await using held = await startHeld(START, { mx: { rcpt: () => answer } });
  const { pombo } = held;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const send = async (from: string): Promise<string> =>
    (await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ from }) })).body.data.id;
  const show = async (email: string) => (await pombo.workspace.call("GET", `/api/v1/emails/${email}`)).body.data;
  const email = await send("a@one.test");
  await pombo.app.worker.idle();
  expect((await show(email)).status).toBe("delivery_delayed");
  await suspend(pombo, id, true);
  answer = "250 Ok";
  const connections = pombo.mx.connections.length;
  const waitOf = async () => Date.parse((await show(email)).nextAttemptAt) - held.clock.now();
  for (let hour = 0; hour < 12 || (await waitOf()) < HOUR; hour += 1) {
    await held.advance(HOUR);
    await pombo.app.worker.idle();
  }
  const waiting = await show(email);
  expect(waiting).toMatchObject({
    status: "delivery_delayed",
    lastReply: "The operator has suspended one.test: this email waits until that is lifted",
  });
  expect(pombo.mx.connections).toHaveLength(connections);
  // The next attempt is more than an hour away.
  await suspend(pombo, id, false);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect(await show(email)).toMatchObject({ status: "delivered", failedReason: null });
  expect(pombo.bugs).toEqual([]);
}, 30_000);
