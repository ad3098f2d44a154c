// The page behind the link to unsubscribe, and the one-click POST, as strangers and mail programs ask for them.

import { expect, setDefaultTimeout, test } from "bun:test";
import { exchange, head, startHeld } from "../../support/api/kit.ts";
import { HOUR, NOON } from "../../support/api/one-email.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { ask, sendOfList, suppressionsOf, withPublicUrl } from "../../support/unsubscribe/kit.ts";

setDefaultTimeout(30_000);

const FORM = "List-Unsubscribe=One-Click";
/** RFC 8058 §8.1 and §8.2, and what else may come. */
const POSTS: [name: string, headers: Record<string, string>, body: string | Blob | undefined][] = [
  ["Gmail's form", { "content-type": "application/x-www-form-urlencoded" }, FORM],
  [
    "Yahoo's multipart form",
    { "content-type": "multipart/form-data; boundary=---FormBoundaryjWmhtjORrn" },
    `-----FormBoundaryjWmhtjORrn\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n-----FormBoundaryjWmhtjORrn--\r\n`,
  ],
  ["nothing", {}, undefined],
  ["no type", {}, new Blob([FORM])],
  ["JSON", { "content-type": "application/json" }, `{"List-Unsubscribe":`],
  ["a type that is none", { "content-type": "x" }, "\0\u00ff"],
  ["a compressed body", { "content-type": "application/json", "content-encoding": "gzip" }, "no gzip"],
  ["a body larger than any limit", { "content-type": "text/plain" }, "x".repeat(1024 * 1024)],
  [
    "a cookie and a foreign origin",
    { cookie: "pombo=1", origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    FORM,
  ],
  ["a key that is none", { "x-api-key": "svc_none", authorization: "Bearer x" }, FORM],
];

test.each(POSTS)("a POST with %s unsubscribes at once, without a redirect or cookie", async (_, headers, body) => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { path } = await sendOfList(pombo, "news", { to: "Maria@Example.com" });
  for (let time = 0; time < 2; time++) {
    const answer = await ask(pombo, path, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
    expect([answer.status, answer.headers.get("set-cookie"), answer.headers.get("location")]).toEqual([
      200,
      null,
      null,
    ]);
    expect(await answer.text()).toContain("You get no more emails of the list “news” from loja.test.");
    expect(await suppressionsOf(pombo)).toEqual(["maria@example.com unsubscribe news"]);
  }
  expect(pombo.bugs).toEqual([]);
});

test("GET and HEAD change nothing, however often scanners follow the link", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { path } = await sendOfList(pombo, "news");
  for (const method of ["GET", "HEAD", "GET"]) {
    const answer = await ask(pombo, path, { method });
    expect([method, answer.status]).toEqual([method, 200]);
    if (method === "GET") expect(await answer.text()).toContain('<form method="post">');
  }
  for (const method of ["PUT", "DELETE", "PATCH"]) {
    const answer = await ask(pombo, path, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, expect.stringContaining("POST")]);
  }
  expect(await suppressionsOf(pombo)).toEqual([]);
  const portuguese = await ask(pombo, path, { headers: { "accept-language": "pt-PT,pt;q=0.9,en;q=0.8" } });
  expect(await portuguese.text()).toContain("Cancelar a subscrição");
});

test("the page says when it is done, and asks again when that was lifted", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { path } = await sendOfList(pombo, "news");
  await ask(pombo, path, { method: "POST" });
  expect(await (await ask(pombo, path)).text()).toContain("You are unsubscribed");
  const lift = (query: string) => pombo.workspace.call("DELETE", `/api/v1/suppressions/maria%40example.com${query}`);
  expect((await lift("")).status).toBe(404);
  expect((await lift("?list=offers")).status).toBe(404);
  expect((await lift("?list=news")).status).toBe(200);
  expect(await (await ask(pombo, path)).text()).toContain("<button");
});

async function expectUnknown(pombo: Instance, path: string): Promise<void> {
  for (const method of ["GET", "POST"]) {
    const answer = await ask(pombo, path, { method });
    expect([path, method, answer.status]).toEqual([path, method, 404]);
    expect(await answer.text()).toContain("This link is not valid");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  }
}

test("a token that is unknown or damaged is told so on a page, and changes nothing", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { id, path } = await sendOfList(pombo, "news");
  const damaged = path.slice(0, -2) + (path.at(-2) === "a" ? "b" : "a") + (path.at(-1) ?? "");
  for (const each of [
    damaged,
    path.slice(0, -1),
    `${path}a`,
    `/u/${id}`,
    "/u/%00",
    "/u/%",
    "/u/%FF",
    "/u/..%2f..%2fetc",
    "/u/%3Cscript%3E",
    `/u/${"a".repeat(42)}`,
    `/u/${"a".repeat(4_000)}`,
  ])
    await expectUnknown(pombo, each);
  for (const each of ["/u", "/u/", `${path}/x`]) expect([each, (await ask(pombo, each)).status]).toEqual([each, 404]);
  expect(await suppressionsOf(pombo)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("without a list, after an erasure, and after the workspace's end there is nothing to unsubscribe from", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const first = await sendOfList(pombo, "news");
  const second = await sendOfList(pombo, "news", { to: "joao@example.com" });
  await pombo.app.worker.idle();
  pombo.app.db.sqlite.run(
    "UPDATE email_extra SET unsubscribe = NULL WHERE email_id = (SELECT MIN(email_id) FROM email_extra)",
  );
  await expectUnknown(pombo, first.path);
  expect((await pombo.workspace.call("DELETE", "/api/v1/recipients/joao%40example.com")).status).toBe(200);
  await expectUnknown(pombo, second.path);
  const third = await sendOfList(pombo, "news");
  expect((await ask(pombo, third.path)).status).toBe(200);
  await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
  await expectUnknown(pombo, third.path);
});

test("guessing is limited by the client's address, and a genuine link works all the same", async () => {
  await using held = await startHeld(NOON, { configure: withPublicUrl });
  const { pombo } = held;
  const { path } = await sendOfList(pombo, "news");
  pombo.config.rateLimits.failedAuthPerMinute = 3;
  await held.restart();
  const guess = async () => (await ask(pombo, `/u/${"a".repeat(42)}`)).status;
  expect([await guess(), await guess(), await guess(), await guess()]).toEqual([404, 404, 404, 429]);
  const limited = await ask(pombo, "/u/x", { method: "POST", headers: { "accept-language": "pt" } });
  expect([limited.status, Number(limited.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await limited.text()).toContain("Demasiadas tentativas");
  expect((await ask(pombo, path)).status).toBe(200);
  expect((await ask(pombo, path, { method: "POST" })).status).toBe(200);
  expect(await suppressionsOf(pombo)).toEqual(["maria@example.com unsubscribe news"]);
  held.clock.advance(HOUR);
  expect(await guess()).toBe(404);
});

test("a body that never ends keeps nobody from being unsubscribed", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { path } = await sendOfList(pombo, "news");
  const request = head(`POST ${path}`, { "Content-Type": "text/plain", "Content-Length": 1_000_000 });
  expect((await exchange(pombo.app.url, `${request}List-Unsubscribe=`)).status).toBe(200);
  expect(await suppressionsOf(pombo)).toEqual(["maria@example.com unsubscribe news"]);
});
