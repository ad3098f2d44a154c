import { describe, expect, test } from "bun:test";
import { expectErrors, startHeld, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";
import { NOON } from "../../support/api/one-email.ts";
import { type Answer, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD } from "../../support/people/browser.ts";
import { addPerson, type Person } from "../../support/people/member.ts";

const INVITATIONS = "/api/v1/workspace/invitations";
const USE = "/api/v1/auth/links/use";

const invite = (by: Person, email: string, role = "member"): Promise<Answer> =>
  by.act("POST", INVITATIONS, { body: { email, role } });

const tokenIn = (answer: Answer): string => answer.body.data.url.split("#")[1];

const list = async (person: Person): Promise<Json[]> => (await person.act("GET", INVITATIONS)).body.data;

async function membersOf(pombo: Instance): Promise<Json[]> {
  return (await pombo.workspace.call("GET", "/api/v1/workspace/members")).body.data;
}

describe("an invitation", () => {
  test("shows its link once, and who made it", async () => {
    await using pombo = await startInstance();
    const admin = addPerson(pombo, { role: "admin" });
    const made = await invite(admin, "Rui@Example.com");
    const shown = {
      id: expect.stringMatching(UUID_V7),
      email: "rui@example.com",
      role: "member",
      state: "open",
      invitedBy: expect.stringMatching(/^Person/),
      createdAt: expect.stringMatching(TIMESTAMP),
      expiresAt: expect.stringMatching(TIMESTAMP),
      acceptedAt: null,
      acceptedBy: null,
    };
    const { port } = new URL(pombo.app.url);
    expect([made.status, made.body.data]).toEqual([
      201,
      {
        ...shown,
        url: expect.stringMatching(new RegExp(`^http://127\\.0\\.0\\.1:${port}/dashboard/invite#[\\w-]{43}$`)),
        mailed: false,
      },
    ]);
    expect(await list(admin)).toEqual([shown]);
    const seen = await openBrowser(pombo).call("POST", "/api/v1/auth/links/inspect", {
      body: { token: tokenIn(made) },
    });
    expect(seen.body.data).toEqual({
      kind: "invitation",
      email: "rui@example.com",
      role: "member",
      workspaceName: "Test",
      invitedBy: expect.stringMatching(/^Person/),
    });
  });

  test("has whoever opens it and is signed in join, and tells the inviter who it was", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const other = addPerson(pombo, { role: null });
    const token = tokenIn(await invite(owner, "rui@example.com", "viewer"));
    expect((await other.call("POST", USE, { body: { token } })).status).toBe(200);
    expect((await other.act("GET", "/api/v1/emails")).status).toBe(200);
    expect(await list(owner)).toMatchObject([
      { state: "accepted", acceptedBy: { id: other.id, email: other.email }, email: "rui@example.com" },
    ]);
    const [row] = (await owner.act("GET", "/api/v1/workspace/audit")).body.data;
    expect(row).toMatchObject({
      actor: { userId: other.id },
      action: "member.joined",
      detail: { role: "viewer", invited: "rui@example.com" },
    });
    expectErrors(await addPerson(pombo, { role: null }).call("POST", USE, { body: { token } }), 410, [
      { code: "LINK_USED" },
    ]);
  });

  test("makes an account for somebody who has none, whose address is not proved by it", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const token = tokenIn(await invite(owner, "rui@example.com"));
    const browser = openBrowser(pombo);
    const body = { token, email: "rui@example.com", name: "Rui", password: PASSWORD };
    const used = await browser.call("POST", USE, { body });
    expect([used.status, used.body.data?.user, used.body.data?.workspaces]).toEqual([
      200,
      expect.objectContaining({ email: "rui@example.com", isOperator: false, emailVerified: false }),
      [{ id: pombo.workspace.id, name: "Test", role: "member" }],
    ]);
    expect((await membersOf(pombo)).map(({ name, role }) => [name, role])).toContainEqual(["Rui", "member"]);
  });

  test("ends when it is withdrawn, when its link is made anew, and after seven days", async () => {
    await using held = await startHeld(NOON);
    const { pombo } = held;
    // Sessions of the present are not from the past.
    const owner = addPerson(pombo, { role: "owner", now: held.clock.now() });
    const stranger = addPerson(pombo, { role: null, now: held.clock.now() });
    const use = (token: string) => stranger.call("POST", USE, { body: { token } });
    const isDead = async (token: string) => expectErrors(await use(token), 410, [{ code: "LINK_USED" }]);

    const withdrawn = await invite(owner, "one@example.com");
    expect((await owner.act("DELETE", `${INVITATIONS}/${withdrawn.body.data.id}`)).status).toBe(200);
    await isDead(tokenIn(withdrawn));

    const first = await invite(owner, "two@example.com");
    const resend = () => owner.act("POST", `${INVITATIONS}/${first.body.data.id}/resend`);
    const second = await resend();
    await isDead(tokenIn(first));
    await held.advance(7 * 24 * 60 * 60_000);
    await isDead(tokenIn(second));
    expect(await list(owner)).toMatchObject([{ state: "expired" }]);

    const third = await resend();
    expect(third.body.data.state).toBe("open");
    expect((await use(tokenIn(third))).status).toBe(200);
    for (const late of [await resend(), await owner.act("DELETE", `${INVITATIONS}/${first.body.data.id}`)])
      expectErrors(late, 404, [{ code: "NOT_FOUND" }]);
  });

  test("is refused to somebody who is a member, and to whom one may not make so powerful", async () => {
    await using pombo = await startInstance();
    const [owner, admin] = [addPerson(pombo, { role: "owner" }), addPerson(pombo, { role: "admin" })];
    expectErrors(await invite(owner, admin.email), 409, [{ code: "ALREADY_MEMBER", field: "email" }]);
    const token = tokenIn(await invite(owner, "rui@example.com", "owner"));
    expectErrors(await admin.call("POST", USE, { body: { token } }), 409, [{ code: "ALREADY_MEMBER" }]);
    const [{ id }] = await list(owner);
    for (const refused of [
      await invite(admin, "x@example.com", "owner"),
      await pombo.workspace.call("POST", INVITATIONS, { body: { email: "x@example.com", role: "owner" } }),
      // Its link would come to the admin.
      await admin.act("POST", `${INVITATIONS}/${id}/resend`),
      // It would be replaced.
      await invite(admin, "rui@example.com", "viewer"),
      await admin.act("DELETE", `${INVITATIONS}/${id}`),
    ])
      expectErrors(refused, 403, [{ code: "ROLE_REQUIRED" }]);
    expect(await list(owner)).toMatchObject([{ id, role: "owner", state: "open" }]);
    for (const wrong of [
      { email: "x", role: "member" },
      { email: "x@example.com", role: "operator" },
    ])
      expect((await owner.act("POST", INVITATIONS, { body: wrong })).status).toBe(422);
  });

  test("by a key may be for an owner while the workspace has no member", async () => {
    await using pombo = await startInstance();
    const wanted = { body: { email: "ana@example.com", role: "owner" } };
    const made = await pombo.workspace.call("POST", INVITATIONS, wanted);
    expect([made.status, made.body.data.invitedBy]).toEqual([201, null]);
    expect(made.body.data.url).toStartWith(`http://localhost:${new URL(pombo.app.url).port}/dashboard/invite#`);
    const person = addPerson(pombo, { role: null });
    expect((await person.call("POST", USE, { body: { token: tokenIn(made) } })).status).toBe(200);
    expect((await membersOf(pombo))[0].role).toBe("owner");
    expectErrors(await pombo.workspace.call("POST", INVITATIONS, wanted), 403, [{ code: "ROLE_REQUIRED" }]);
  });
});

test("the plan counts members and open invitations; usage counts members", async () => {
  await using pombo = await startInstance({
    configure: (config) => void Object.assign(config.plans["scale"] ?? {}, { members: 3 }),
  });
  const owner = addPerson(pombo, { role: "owner" });
  const used = async () => (await owner.act("GET", "/api/v1/workspace/usage")).body.data.usage.members;
  const tokens = [tokenIn(await invite(owner, "a@example.com")), tokenIn(await invite(owner, "b@example.com"))];
  expectErrors(await invite(owner, "c@example.com"), 402, [
    { code: "PLAN_LIMIT_REACHED", message: /^The plan allows 3 members$/ },
  ]);
  // To the same address it replaces the one that there is.
  tokens[1] = tokenIn(await invite(owner, "b@example.com"));
  expect(await used()).toBe(1);
  for (const token of tokens)
    expect((await addPerson(pombo, { role: null }).call("POST", USE, { body: { token } })).status).toBe(200);
  expect(await used()).toBe(3);
  expectErrors(await invite(owner, "c@example.com"), 402, [{ code: "PLAN_LIMIT_REACHED" }]);
});

test("with an address to send from an invitation is mailed, so often an hour, and else only shown", async () => {
  await using pombo = await startInstance({
    configure: (config) =>
      void Object.assign(config.dashboard, { from: "pombo@loja.test", url: "https://mail.example.net" }),
  });
  const invited = async (at: number) =>
    (await pombo.workspace.call("POST", INVITATIONS, { body: { email: `p${at}@example.com`, role: "viewer" } })).body
      .data;
  const { mailed, url } = await invited(0);
  expect([mailed, url]).toEqual([true, expect.stringMatching(/^https:\/\/mail\.example\.net\/dashboard\/invite#/)]);
  const [, token = "none"] = String(url).split("#");
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  // Quoted-printable breaks long lines.
  expect(String(pombo.mx.messages[0]?.content).replaceAll("=\r\n", "")).toContain(token);
  const more: boolean[] = [];
  for (let at = 1; at <= 20; at += 1) more.push((await invited(at)).mailed);
  expect(more.filter(Boolean).length).toBe(19);
  expect(more.at(-1)).toBe(false);
});

test("a workspace that may not send mails no invitation either", async () => {
  await using pombo = await startInstance({ configure: (config) => void (config.dashboard.from = "pombo@loja.test") });
  const isMailed = async () =>
    (await pombo.workspace.call("POST", INVITATIONS, { body: { email: "a@example.com", role: "viewer" } })).body.data
      .mailed;
  for (const column of ["blocked_at", "rate_blocked_at"]) {
    pombo.app.db.sqlite.run(`UPDATE workspace SET ${column} = 1`);
    await pombo.restart();
    expect([column, await isMailed()]).toEqual([column, false]);
    pombo.app.db.sqlite.run(`UPDATE workspace SET ${column} = NULL`);
  }
  await pombo.restart();
  expect(await isMailed()).toBe(true);
});
