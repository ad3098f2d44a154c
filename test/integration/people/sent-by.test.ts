import { expect, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";
import { addPerson } from "../../support/people/member.ts";

test("an email and an SMS say which key or person sent them, also when that is gone", async () => {
  await using pombo = await startInstance();
  const { workspace } = pombo;
  await pombo.enableSms(workspace);
  const member = addPerson(pombo, { role: "member" });
  const shop = (await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } })).body.data;
  const text = { to: "+258841234567", body: "Olá" };
  const byKey = await Promise.all([
    workspace.call("POST", "/api/v1/emails", {
      key: shop.key,
      body: pombo.email({ to: ["a@example.com", "b@example.com"] }),
    }),
    workspace.call("POST", "/api/v1/sms", { key: shop.key, body: text }),
  ]);
  const byPerson = await Promise.all([
    member.act("POST", "/api/v1/emails", { body: pombo.email() }),
    member.act("POST", "/api/v1/sms", { body: text }),
  ]);
  const paths = (answers: typeof byKey) => [
    ...(answers[0]?.body.data.recipients ?? [answers[0]?.body.data]).map(
      ({ id }: { id: string }) => `/api/v1/emails/${id}`,
    ),
    `/api/v1/sms/${answers[1]?.body.data.id}`,
  ];
  const readAll = async (of: string[]) =>
    Promise.all(of.map(async (path) => (await workspace.call("GET", path)).body.data.sentBy));
  const key = { kind: "api_key", id: shop.id, name: `shop (svc_${shop.key.slice(4, 12)}…)` };
  expect(await readAll(paths(byKey))).toEqual([key, key, key]);
  const person = { kind: "user", id: member.id, name: member.email };
  expect(await readAll(paths(byPerson))).toEqual([person, person]);

  await workspace.call("DELETE", `/api/v1/auth/keys/${shop.id}`);
  const { sqlite } = pombo.app.db;
  for (const table of ["session", "membership"]) sqlite.run(`DELETE FROM ${table} WHERE user_id = ${member.userId}`);
  sqlite.run(`DELETE FROM user WHERE id = ${member.userId}`);
  const gone = { id: null, name: null };
  expect(await readAll(paths(byKey))).toEqual(Array.from({ length: 3 }, () => ({ kind: "api_key", ...gone })));
  expect(await readAll(paths(byPerson))).toEqual(Array.from({ length: 2 }, () => ({ kind: "user", ...gone })));
  // Whom it was sent to learns nothing of who works there.
  const shown = await workspace.call("GET", "/api/v1/recipients/maria%40example.com");
  expect(shown.body.data[0].email.sentBy).toBeNull();
});
