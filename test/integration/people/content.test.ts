// Who sees what messages say, and what is written down of operators who do.

import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { addPerson, type Person, type Role } from "../../support/people/member.ts";
import { send, startWithSms, text, TO } from "../api/texts.ts";

type Actor = Role | "operator";
const ACTORS: Actor[] = ["owner", "admin", "member", "viewer", "operator"];

const add = (pombo: Instance, actor: Actor): Person =>
  addPerson(pombo, { role: actor === "operator" ? null : actor, isOperator: actor === "operator" });

/** An email, an SMS and a received one. */
async function addMessages(pombo: Instance): Promise<{ email: string; sms: string }> {
  const body = pombo.email({ html: "<p>Bom dia", text: "Bom dia", headers: { "X-Says": "Bom dia" } });
  const email = (await pombo.workspace.call("POST", "/api/v1/emails", { body })).body.data.id;
  const sms = (await send(pombo, text({ body: "Bom dia" }))).body.data.id;
  const { id: workspaceId } = pombo.app.db.sqlite.query("SELECT id FROM workspace").get() as { id: number };
  await pombo.app.committer.commit(() =>
    pombo.app.smsStores.inbound.insert({
      uid: Bun.randomUUIDv7(),
      workspaceId,
      route: "test",
      sender: TO,
      recipient: "84000",
      body: "Bom dia",
      isWhole: true,
      raw: null,
      receivedAt: 1,
    }),
  );
  return { email: `emails/${email}`, sms: `sms/${sms}` };
}

/** All six places where a message's words stand: each must show them, or each hide them. */
async function sees({ act }: Person, { email, sms }: { email: string; sms: string }): Promise<boolean> {
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await act("GET", `/api/v1/${path}`);
    expect([path, status]).toEqual([path, 200]);
    return body.data;
  };
  const { html, text: plain, headers, subject } = await get(email);
  const sent = await get(sms);
  const bodies = [
    plain,
    headers?.["X-Says"] ?? null,
    sent.body,
    (await get("sms"))[0].body,
    (await get("sms/inbound"))[0].body,
  ];
  expect([subject, sent.to]).toEqual(["Olá", TO]);
  const isSeen = html !== null;
  expect([html, ...bodies]).toEqual(isSeen ? ["<p>Bom dia", ...Array(5).fill("Bom dia")] : Array(6).fill(null));
  return isSeen;
}

const readings = async (owner: Person): Promise<Json[]> =>
  (await owner.act("GET", "/api/v1/workspace/audit?limit=100")).body.data.filter(
    ({ action }: Json) => action === "content.read",
  );

test("members see what messages say; viewers and operators only when an owner lets them", async () => {
  await using pombo = await startWithSms();
  const messages = await addMessages(pombo);
  const people = ACTORS.map((actor) => [actor, add(pombo, actor)] as const);
  const owner = people[0]![1];
  const table = async (settings?: object) => {
    if (settings !== undefined) {
      const { status, body } = await owner.act("PATCH", "/api/v1/workspace", { body: settings });
      expect([status, body.data]).toEqual([200, expect.objectContaining(settings)]);
      expect((await owner.act("GET", "/api/v1/workspace")).body.data).toMatchObject(settings);
    }
    const seen = [];
    for (const [actor, person] of people) if (await sees(person, messages)) seen.push(actor);
    return seen;
  };
  expect((await owner.act("GET", "/api/v1/workspace")).body.data).toMatchObject({
    viewersSeeContent: false,
    operatorsSeeContent: false,
  });
  const always: Actor[] = ["owner", "admin", "member"];
  expect(await table()).toEqual(always);
  expect(await table({ viewersSeeContent: true })).toEqual([...always, "viewer"]);
  expect(await readings(owner)).toEqual([]);
  expect(await table({ viewersSeeContent: false, operatorsSeeContent: true })).toEqual([...always, "operator"]);
  expect(await table({ operatorsSeeContent: false })).toEqual(always);
  expect(pombo.bugs).toEqual([]);
});

test("what an operator reads is in the audit, once an hour; hidden or missing words are none", async () => {
  await using pombo = await startWithSms();
  const messages = await addMessages(pombo);
  const [owner, viewer, operator] = (["owner", "viewer", "operator"] as const).map((actor) => add(pombo, actor));
  if (!owner || !viewer || !operator) throw new Error("nobody");
  await sees(operator, messages);
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: true, operatorsSeeContent: true } });
  await sees(viewer, messages);
  expect(await readings(owner)).toEqual([]);

  await sees(operator, messages);
  const rows = await readings(owner);
  expect(rows.map(({ target }) => target)).toEqual(["sms/inbound", "sms", messages.sms, messages.email]);
  expect(rows[0]).toMatchObject({ actor: { kind: "user", name: operator.email }, network: "127.0.0.1" });

  // An open page reads again whenever something changes: that is the same reading.
  expect(await sees(operator, messages)).toBe(true);
  expect(await readings(owner)).toHaveLength(4);

  pombo.app.db.sqlite.run("DELETE FROM email_body");
  expect((await operator.act("GET", `/api/v1/${messages.email}`)).body.data.html).toBeNull();
  expect(await readings(owner)).toHaveLength(4);
});

test("an operator whose reading cannot be written down reads nothing; others read as before", async () => {
  await using pombo = await startWithSms();
  const messages = await addMessages(pombo);
  const [owner, viewer, operator] = (["owner", "viewer", "operator"] as const).map((actor) => add(pombo, actor));
  if (!owner || !viewer || !operator) throw new Error("nobody");
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: true, operatorsSeeContent: true } });
  // Who it is, and the entry, are noted before.
  expect((await operator.act("GET", "/api/v1/workspace")).status).toBe(200);
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  for (const path of [messages.email, messages.sms, "sms", "sms/inbound"]) {
    const { status, text: answered } = await operator.act("GET", `/api/v1/${path}`);
    expect([path, status, answered.includes("Bom dia")]).toEqual([path, 503, false]);
  }
  for (const person of [owner, viewer]) expect(await sees(person, messages)).toBe(true);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
});

test("only an owner sets it, and the audit says what it was and is", async () => {
  await using pombo = await startInstance();
  const owner = add(pombo, "owner");
  const operator = add(pombo, "operator");
  for (const body of [
    { operatorsSeeContent: true },
    { viewersSeeContent: false },
    { name: "x", viewersSeeContent: true },
  ])
    for (const person of [operator, add(pombo, "admin"), add(pombo, "viewer")])
      expect((await person.act("PATCH", "/api/v1/workspace", { body })).body.errors[0].code).toBe("ROLE_REQUIRED");
  expect((await operator.act("PATCH", "/api/v1/workspace", { body: { name: "Nova" } })).status).toBe(200);
  for (const body of [{}, { viewersSeeContent: null }, { operatorsSeeContent: "yes" }])
    expect((await owner.act("PATCH", "/api/v1/workspace", { body })).status).toBe(422);
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: true, operatorsSeeContent: false } });
  const { data } = (await owner.act("GET", "/api/v1/workspace/audit")).body;
  const changes = data.filter(({ action }: Json) => action === "workspace.changed");
  expect(changes.map(({ actor, detail }: Json) => [actor.name, detail])).toEqual([
    [owner.email, { viewersSeeContent: { before: false, after: true } }],
    [operator.email, { name: { before: "Test", after: "Nova" } }],
  ]);
});
