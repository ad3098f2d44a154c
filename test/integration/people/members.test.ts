import { describe, expect, test } from "bun:test";
import { expectErrors, TIMESTAMP, UNKNOWN_ID } from "../../support/api/kit.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { addPerson, type Person, type Role } from "../../support/people/member.ts";

const MEMBERS = "/api/v1/workspace/members";

const setRole = (by: Person, whom: Person, role: Role) => by.act("PATCH", `${MEMBERS}/${whom.id}`, { body: { role } });
const remove = (by: Person, whom: Person) => by.act("DELETE", `${MEMBERS}/${whom.id}`);

async function rolesIn(pombo: Instance): Promise<Record<string, Role>> {
  const { body } = await pombo.workspace.call("GET", MEMBERS);
  return Object.fromEntries(body.data.map(({ email, role }: Json) => [email, role]));
}

async function lastAudit(owner: Person): Promise<Json> {
  return (await owner.act("GET", "/api/v1/workspace/audit?limit=1")).body.data[0];
}

test("the list shows who is a member, the newest first, in pages", async () => {
  await using pombo = await startInstance();
  const owner = addPerson(pombo, { role: "owner" });
  const viewer = addPerson(pombo, { role: "viewer" });
  addPerson(pombo, { role: "owner", workspace: (await pombo.newWorkspace()).id });
  const { body } = await viewer.act("GET", MEMBERS);
  expect(body.data).toEqual([
    {
      id: viewer.id,
      name: expect.any(String),
      email: viewer.email,
      emailVerified: false,
      role: "viewer",
      createdAt: expect.stringMatching(TIMESTAMP),
      lastSeenAt: expect.stringMatching(TIMESTAMP),
    },
    expect.objectContaining({ id: owner.id, role: "owner" }),
  ]);
  const first = await viewer.act("GET", `${MEMBERS}?limit=1`);
  const second = await viewer.act("GET", `${MEMBERS}?limit=1&cursor=${first.body.meta.next_cursor}`);
  expect([first, second].map((page) => page.body.data[0].id)).toEqual([viewer.id, owner.id]);
  expect((await pombo.workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage.members).toBe(2);
});

describe("a role", () => {
  test("is changed by an owner or admin, applies to the next request, and is written down", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const admin = addPerson(pombo, { role: "admin" });
    const member = addPerson(pombo, { role: "member" });
    const answer = await setRole(admin, member, "admin");
    expect([answer.status, answer.body.data.role]).toEqual([200, "admin"]);
    expect(await lastAudit(owner)).toMatchObject({
      actor: { kind: "user", name: admin.email, userId: admin.id },
      action: "member.role_changed",
      target: member.email,
      detail: { before: "member", after: "admin" },
      network: "127.0.0.1",
    });
    expect((await member.act("GET", "/api/v1/workspace/audit")).status).toBe(200);
    // The same once more changes nothing.
    const before = await lastAudit(owner);
    expect((await setRole(admin, member, "admin")).status).toBe(200);
    expect(await lastAudit(owner)).toEqual(before);
    expectErrors(await owner.act("PATCH", `${MEMBERS}/${UNKNOWN_ID}`, { body: { role: "viewer" } }), 404, [
      { code: "NOT_FOUND" },
    ]);
    expectErrors(await owner.act("PATCH", `${MEMBERS}/${member.id}`, { body: { role: "king" } }), 422, [
      { field: "role" },
    ]);
  });

  test("of an owner is given and taken by owners and operators only, and by no key", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const second = addPerson(pombo, { role: "owner" });
    const admin = addPerson(pombo, { role: "admin" });
    const operator = addPerson(pombo, { role: null, isOperator: true });
    const byKey = (whom: Person, role: Role) =>
      pombo.workspace.call("PATCH", `${MEMBERS}/${whom.id}`, { body: { role } });
    for (const refused of [
      await setRole(admin, second, "member"),
      await setRole(admin, admin, "owner"),
      await byKey(second, "member"),
      await byKey(admin, "owner"),
      await remove(admin, second),
      await pombo.workspace.call("DELETE", `${MEMBERS}/${second.id}`),
    ])
      expectErrors(refused, 403, [{ code: "ROLE_REQUIRED", message: /owner/ }]);
    expect(await rolesIn(pombo)).toEqual({ [owner.email]: "owner", [second.email]: "owner", [admin.email]: "admin" });
    for (const allowed of [
      await setRole(owner, second, "member"),
      await setRole(operator, second, "owner"),
      await byKey(admin, "viewer"),
      await remove(owner, second),
    ])
      expect(allowed.status).toBe(200);
  });

  test("of the last owner stays: neither taken, nor left, nor removed", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const operator = addPerson(pombo, { role: null, isOperator: true });
    // An owner of another workspace does not count.
    addPerson(pombo, { role: "owner", workspace: (await pombo.newWorkspace()).id });
    for (const refused of [
      await setRole(owner, owner, "admin"),
      await remove(owner, owner),
      await setRole(operator, owner, "viewer"),
      await remove(operator, owner),
    ])
      expectErrors(refused, 409, [{ code: "LAST_OWNER" }]);
    const heir = addPerson(pombo, { role: "member" });
    expect((await setRole(owner, heir, "owner")).status).toBe(200);
    expect((await remove(owner, owner)).status).toBe(200);
    expect(await rolesIn(pombo)).toEqual({ [heir.email]: "owner" });
  });

  test("two owners who take each other's role at once leave one", async () => {
    await using pombo = await startInstance();
    const [one, other] = [addPerson(pombo, { role: "owner" }), addPerson(pombo, { role: "owner" })];
    const answers = await Promise.all([setRole(one, other, "viewer"), setRole(other, one, "viewer")]);
    // The later one is an owner no more, or the last one.
    const [done, refused] = answers.map(({ status }) => status).toSorted();
    expect([done, refused === 403 || refused === 409]).toEqual([200, true]);
    expect(Object.values(await rolesIn(pombo)).toSorted()).toEqual(["owner", "viewer"]);
  });
});

describe("a member", () => {
  test("of any role may leave, and only admins and owners may remove others", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const [viewer, member] = [addPerson(pombo, { role: "viewer" }), addPerson(pombo, { role: "member" })];
    expectErrors(await remove(member, viewer), 403, [{ code: "ROLE_REQUIRED", message: /yours is member/ }]);
    expect((await remove(viewer, viewer)).status).toBe(200);
    expect(await lastAudit(owner)).toMatchObject({ action: "member.left", target: viewer.email });
    expect((await viewer.act("GET", MEMBERS)).status).toBe(404);
    expect((await remove(owner, member)).status).toBe(200);
    expect(await lastAudit(owner)).toMatchObject({ action: "member.removed", target: member.email });
    expectErrors(await remove(owner, member), 404, [{ code: "NOT_FOUND" }]);
  });

  test("who is removed, or gets a lower role, leaves no open invitation behind", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const admins = [addPerson(pombo, { role: "admin" }), addPerson(pombo, { role: "admin" })] as const;
    const invite = async (by: Person, email: string) =>
      (await by.act("POST", "/api/v1/workspace/invitations", { body: { email, role: "admin" } })).status;
    expect(await invite(owner, "stays@example.com")).toBe(201);
    // Its link is known to whoever made it last.
    expect(await invite(owner, "renewed@example.com")).toBe(201);
    const [renewed] = (await owner.act("GET", "/api/v1/workspace/invitations")).body.data;
    expect((await admins[1].act("POST", `/api/v1/workspace/invitations/${renewed.id}/resend`)).status).toBe(200);
    expect(await Promise.all(admins.map((admin, at) => invite(admin, `back${at}@example.com`)))).toEqual([201, 201]);
    await setRole(owner, admins[0], "member");
    await remove(owner, admins[1]);
    const { body } = await owner.act("GET", "/api/v1/workspace/invitations");
    expect(body.data.map(({ email }: Json) => email)).toEqual(["stays@example.com"]);
  });
});

describe("the workspace itself", () => {
  test("is shown with its block and rates, and renamed by its owners", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    await pombo.enableSms(pombo.workspace);
    const rate = (limitPercent: number, limitCount: number) => ({ count: 0, percent: 0, limitPercent, limitCount });
    const shown = await pombo.workspace.call("GET", "/api/v1/workspace");
    expect(shown.body.data).toEqual({
      id: pombo.workspace.id,
      name: "Test",
      plan: "scale",
      createdAt: expect.stringMatching(TIMESTAMP),
      viewersSeeContent: false,
      operatorsSeeContent: false,
      block: null,
      emailsDelayed: 0,
      senderIds: [{ name: "Loja", isDefault: true, priority: null }],
      sms: { isInPlan: true, isConnected: true, example: expect.stringMatching(/^\+258/) },
      rates: {
        since: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        answered: 0,
        bounces: rate(8, 20),
        complaints: rate(0.3, 5),
      },
    });
    const renamed = await owner.act("PATCH", "/api/v1/workspace", { body: { name: "Loja da Ana" } });
    expect([renamed.status, renamed.body.data.name]).toEqual([200, "Loja da Ana"]);
    expect(await lastAudit(owner)).toMatchObject({
      action: "workspace.changed",
      detail: { name: { before: "Test", after: "Loja da Ana" } },
    });
    expectErrors(await pombo.workspace.call("PATCH", "/api/v1/workspace", { body: { name: "x" } }), 403, [
      { code: "API_KEY_RESTRICTED" },
    ]);
    expectErrors(await owner.act("PATCH", "/api/v1/workspace", { body: { name: "" } }), 422, [{ field: "name" }]);
  });

  test("says who blocked it and why", async () => {
    await using pombo = await startInstance();
    const path = `/api/v1/operator/workspaces/${pombo.workspace.id}`;
    const block = async () => (await pombo.workspace.call("GET", "/api/v1/workspace")).body.data.block;
    await pombo.operator.call("POST", `${path}/block`, { body: { reason: "unpaid", hold: true } });
    const since = expect.stringMatching(TIMESTAMP);
    expect(await block()).toEqual({ kind: "operator", since, reason: "unpaid", isHeld: true });
    await pombo.operator.call("POST", `${path}/unblock`);
    expect(await block()).toBeNull();
  });

  test("counts how many emails bounced", async () => {
    await using pombo = await startInstance({ mx: { rcpt: () => "550 5.1.1 No such user" } });
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    await pombo.mx.until(() => pombo.mx.connections.length > 0);
    await pombo.app.worker.idle();
    const { rates } = (await pombo.workspace.call("GET", "/api/v1/workspace")).body.data;
    expect([rates.answered, rates.bounces.count, rates.bounces.percent]).toEqual([1, 1, 100]);
  });
});
