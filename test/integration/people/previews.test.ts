// Tickets for looking at an email's html: who gets one, what it shows and under which policy, and that it works once.

import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { addPerson, type Person } from "../../support/people/member.ts";
import { EVERYTHING } from "../../support/browser/everything.ts";

const HTML =
  '<base href="https://evil.example/"><link rel="dns-prefetch" href="//evil.example"><p style="background:url(https://track.example/bg)">' +
  '<img src="https://track.example/pixel.gif"><a href="https://bank.example@evil.example/x">https://bank.example &amp; co</a>';

const POLICY =
  "sandbox; default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

async function sendEmail(pombo: Instance, members: Record<string, unknown>): Promise<string> {
  return (await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email(members) })).body.data.id;
}

async function preview(person: Person, id: string): Promise<Json> {
  const { status, body, text } = await person.act("POST", `/api/v1/emails/${id}/preview`);
  expect([status, text]).toEqual([200, text]);
  return body.data;
}

test("a ticket shows the html once, under a policy that lets nothing run or load, and tells what it would load", async () => {
  await using pombo = await startInstance();
  const ana = addPerson(pombo, { role: "member" });
  const { path, links, moreLinks, remote } = await preview(ana, await sendEmail(pombo, { html: HTML }));
  expect(links).toEqual([
    { text: "https://bank.example & co", url: "https://bank.example@evil.example/x", host: "evil.example" },
  ]);
  expect([moreLinks, remote]).toEqual([0, [{ host: "track.example", count: 2 }]]);
  const shown = await ana.call("GET", path);
  expect([shown.status, Object.fromEntries(shown.headers)]).toEqual([
    200,
    expect.objectContaining({
      "content-security-policy": POLICY,
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-dns-prefetch-control": "off",
      "cross-origin-resource-policy": "same-origin",
    }),
  ]);
  expect(shown.text).not.toMatch(/<base|<link|href/);
  expect(shown.text).toContain("https://track.example/pixel.gif");
  const again = await ana.call("GET", path);
  expect([again.status, again.headers.get("content-security-policy")]).toEqual([404, POLICY]);
});

test("inline images are those of the message", async () => {
  await using pombo = await startInstance();
  const ana = addPerson(pombo, { role: "member" });
  const { html, attachments } = EVERYTHING;
  const { path } = await preview(ana, await sendEmail(pombo, { html, attachments }));
  expect((await ana.call("GET", path)).text).toContain(`<img src="data:image/png;base64,${attachments[0]?.content}"`);
});

test("a ticket is of one person, for a minute, while they may see it; of a person four", async () => {
  const clock = fakeClock(Date.now());
  await using pombo = await startInstance({ clock });
  const [ana, rui] = [addPerson(pombo, { role: "member" }), addPerson(pombo, { role: "member" })];
  const id = await sendEmail(pombo, { html: HTML });
  const statusOf = async (path: string, person: Person, headers = {}) =>
    (await person.call("GET", path, { headers })).status;

  expect(await statusOf((await preview(ana, id)).path, rui)).toBe(404);
  expect(await statusOf((await preview(ana, id)).path, ana, { "sec-fetch-site": "cross-site" })).toBe(404);
  // A sandboxed frame may come without the cookie.
  expect(await statusOf((await preview(ana, id)).path, ana, { cookie: "" })).toBe(200);
  const old = await preview(ana, id);
  await clock.advance(60_000);
  expect(await statusOf(old.path, ana)).toBe(404);
  const many = [];
  for (let n = 0; n < 5; n += 1) many.push((await preview(ana, id)).path);
  const statuses = [];
  for (const path of many) statuses.push(await statusOf(path, ana));
  expect(statuses).toEqual([404, 200, 200, 200, 200]);

  const before = (await preview(ana, id)).path;
  pombo.app.db.sqlite.run("DELETE FROM membership WHERE user_id = ?", [ana.userId]);
  expect(await statusOf(before, ana)).toBe(404);
});

test("who may not see what messages say gets no ticket; an operator's reading is in the audit", async () => {
  await using pombo = await startInstance();
  const owner = addPerson(pombo, { role: "owner" });
  const viewer = addPerson(pombo, { role: "viewer" });
  const operator = addPerson(pombo, { role: null, isOperator: true });
  const id = await sendEmail(pombo, { html: HTML });
  const path = `/api/v1/emails/${id}/preview`;
  const statusOf = async (person: Person) => (await person.act("POST", path)).status;
  expect([await statusOf(viewer), await statusOf(operator)]).toEqual([403, 403]);
  const body = { viewersSeeContent: true, operatorsSeeContent: true };
  await owner.act("PATCH", "/api/v1/workspace", { body });
  expect([await statusOf(viewer), await statusOf(operator)]).toEqual([200, 200]);
  const { body: audit } = await owner.act("GET", "/api/v1/workspace/audit");
  expect(audit.data).toContainEqual(
    expect.objectContaining({ action: "content.read", target: `emails/${id}/preview` }),
  );
  const shown = (await viewer.act("POST", path)).body.data.path;
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: false } });
  expect((await viewer.call("GET", shown)).status).toBe(404);
});

test("html that is not sent yet is shown in the same way; an email without html has nothing to show", async () => {
  await using pombo = await startInstance();
  const ana = addPerson(pombo, { role: "member" });
  const draft = await ana.act("POST", "/api/v1/workspace/preview", { body: { html: `${HTML}${"é".repeat(900_000)}` } });
  expect(draft.body.data.remote).toEqual([{ host: "track.example", count: 2 }]);
  expect((await ana.call("GET", draft.body.data.path)).text).toContain("ééé");
  expect((await ana.act("POST", "/api/v1/workspace/preview", { body: { html: "" } })).status).toBe(422);
  const plain = await sendEmail(pombo, { html: undefined, text: "Olá" });
  expect((await ana.act("POST", `/api/v1/emails/${plain}/preview`)).status).toBe(404);
  expect((await ana.act("POST", `/api/v1/emails/${Bun.randomUUIDv7()}/preview`)).status).toBe(404);
  const viewer = addPerson(pombo, { role: "viewer" });
  expect((await viewer.act("POST", "/api/v1/workspace/preview", { body: { html: HTML } })).status).toBe(403);
  expect((await pombo.workspace.call("POST", `/api/v1/emails/${plain}/preview`)).status).toBe(403);
});
