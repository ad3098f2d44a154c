// What a request with a session must be like before its session counts, over the whole API.

import { describe, expect, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { expectErrors } from "../../support/api/kit.ts";
import { type Answer, type Instance, type InstanceOptions, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD } from "../../support/people/browser.ts";
import { addPerson, type Person } from "../../support/people/member.ts";

const USAGE = "/api/v1/workspace/usage";
const SUPPRESSIONS = "/api/v1/suppressions";
const URL_ = "https://mail.example.net";
const PROXIED = { host: "mail.example.net", "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9" };

function startPublic(): Promise<Instance> {
  const configure: InstanceOptions["configure"] = (config) => {
    config.dashboard.url = URL_;
    config.http.trustedProxies = ["127.0.0.1/32"];
  };
  return startInstance({ configure });
}

const suppress = (person: Person, headers: Record<string, string>): Promise<Answer> =>
  person.act("POST", SUPPRESSIONS, { body: { address: "gone@example.com" }, headers });

/** The same person's session as the browser keeps it over https. */
function overHttps(person: Person): Record<string, string> {
  return { cookie: `__Host-pombo=${person.cookies.get("pombo-session")}`, ...PROXIED };
}

describe("a write from another site", () => {
  test.each([
    ["cross-site", { "sec-fetch-site": "cross-site" }],
    ["of a sibling host", { "sec-fetch-site": "same-site" }],
    ["typed by hand", { "sec-fetch-site": "none" }],
    ["with a strange Origin", { "sec-fetch-site": "", origin: "https://evil.example" }],
    ["of a frame without origin", { "sec-fetch-site": "", origin: "null" }],
    ["that names neither", { "sec-fetch-site": "" }],
  ])("is refused: %s", async (_, headers) => {
    await using pombo = await startInstance();
    const member = addPerson(pombo, { role: "member" });
    expectErrors(await suppress(member, headers), 403, [{ code: "CROSS_SITE_REQUEST" }]);
    expect((await pombo.workspace.call("GET", SUPPRESSIONS)).body.data).toEqual([]);
    // Nor may another site sign somebody in.
    const body = { email: member.email, password: PASSWORD };
    const signIn = await openBrowser(pombo).call("POST", "/api/v1/auth/session", { body, headers });
    expectErrors(signIn, 403, [{ code: "CROSS_SITE_REQUEST" }]);
  });

  test("is let in from our own page; an API key is not asked where it comes from", async () => {
    await using pombo = await startInstance();
    const member = addPerson(pombo, { role: "member" });
    expect((await suppress(member, {})).status).toBe(201);
    const { host } = new URL(pombo.app.url);
    expect((await suppress(member, { "sec-fetch-site": "", origin: `http://${host}` })).status).toBe(200);
    const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site", host: "evil.example" };
    const byKey = await pombo.workspace.call("POST", SUPPRESSIONS, { body: { address: "x@example.com" }, headers });
    expect(byKey.status).toBe(201);
  });
});

describe("a session", () => {
  test("does not count under a strange Host, whatever it points to", async () => {
    await using pombo = await startPublic();
    const viewer = addPerson(pombo, { role: "viewer" });
    for (const host of ["evil.example", "mail.example.net.evil.example", "127.0.0.1.evil.example", "192.0.2.1"])
      expectErrors(await viewer.act("GET", USAGE, { headers: { host } }), 421, [{ code: "MISDIRECTED_REQUEST" }]);
    expect((await pombo.workspace.call("GET", USAGE, { headers: { host: "evil.example" } })).status).toBe(200);
  });

  test("over plain http counts on this machine only", async () => {
    await using pombo = await startInstance();
    const viewer = addPerson(pombo, { role: "viewer" });
    for (const host of ["localhost", "127.0.0.1:8080", "[::1]", "pombo.localhost"])
      expect([host, (await viewer.act("GET", USAGE, { headers: { host } })).status]).toEqual([host, 200]);
    for (const name of ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded", "x-real-ip", "via"])
      expectErrors(await viewer.act("GET", USAGE, { headers: { [name]: "x" } }), 403, [{ code: "HTTPS_REQUIRED" }]);
    const body = { email: viewer.email, password: PASSWORD };
    const away = await openBrowser(pombo).call("POST", "/api/v1/auth/session", {
      body,
      headers: { "x-forwarded-for": "203.0.113.9" },
    });
    expectErrors(away, 403, [{ code: "HTTPS_REQUIRED" }]);
  });

  test("over https counts by the cookie that is bound to the host, from a trusted proxy", async () => {
    await using pombo = await startPublic();
    const viewer = addPerson(pombo, { role: "viewer" });
    const read = (headers: Record<string, string>) => viewer.act("GET", USAGE, { headers });
    expect((await read(overHttps(viewer))).status).toBe(200);
    // A cookie that plain http could have set is none here, and the other way round.
    expectErrors(await read(PROXIED), 401, [{ code: "NOT_SIGNED_IN" }]);
    const { cookie = "" } = overHttps(viewer);
    expectErrors(await read({ cookie }), 401, [{ code: "NOT_SIGNED_IN" }]);
    for (const proto of ["http", ""])
      expectErrors(await read({ ...overHttps(viewer), "x-forwarded-proto": proto }), 403, [{ code: "HTTPS_REQUIRED" }]);
    const member = addPerson(pombo, { role: "member" });
    expect((await suppress(member, { ...overHttps(member), "sec-fetch-site": "", origin: URL_ })).status).toBe(201);
    expectErrors(
      await suppress(member, { ...overHttps(member), "sec-fetch-site": "", origin: "http://mail.example.net" }),
      403,
      [{ code: "CROSS_SITE_REQUEST" }],
    );
  });

  test("over https does not count from a peer that is no trusted proxy", async () => {
    await using pombo = await startInstance({
      configure(config) {
        config.dashboard.url = URL_;
        config.http.trustedProxies = ["192.0.2.1/32"];
      },
    });
    const viewer = addPerson(pombo, { role: "viewer" });
    expectErrors(await viewer.act("GET", USAGE, { headers: overHttps(viewer) }), 403, [{ code: "HTTPS_REQUIRED" }]);
  });

  test("is none when the dashboard is turned off", async () => {
    await using pombo = await startInstance({ configure: (config) => void (config.dashboard.enabled = false) });
    const viewer = addPerson(pombo, { role: "viewer" });
    expectErrors(await viewer.act("GET", USAGE), 401, [{ code: "MISSING_API_KEY" }]);
    expectErrors(await viewer.call("GET", "/api/v1/auth/me"), 404, [{ code: "NOT_FOUND" }]);
    expect((await pombo.workspace.call("GET", USAGE)).status).toBe(200);
  });
});

test("reads of a session use up the person's own allowance, its writes that of the workspace", async () => {
  await using pombo = await startInstance({
    configure(config) {
      config.rateLimits = { ...NO_RATE_LIMITS, readsPerSecond: 1, readsBurst: 3, writesPerSecond: 1, writesBurst: 2 };
    },
  });
  // A test's own set-up counts as well: from here on a new workspace, whose buckets are full.
  const workspace = await pombo.newWorkspace();
  const [one, other] = ["member", "member"].map(() => addPerson(pombo, { role: "member", workspace: workspace.id }));
  const read = async (person: Person | undefined) => (await person?.act("GET", USAGE))?.status;
  expect([await read(one), await read(one), await read(one), await read(one)]).toEqual([200, 200, 200, 429]);
  expect([await read(other), (await workspace.call("GET", USAGE)).status]).toEqual([200, 200]);
  const write = async (person: Person | undefined) =>
    (await person?.act("POST", SUPPRESSIONS, { body: { address: "x@example.com" } }))?.status;
  expect([await write(one), await write(other), await write(one)]).toEqual([201, 200, 429]);
  expect((await workspace.call("POST", SUPPRESSIONS, { body: { address: "x@example.com" } })).status).toBe(429);
});
