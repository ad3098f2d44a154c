import { expect, test } from "bun:test";
import { answerWithoutTls, type Port80Deps } from "../../../../src/platform/http/port-80.ts";
import type { LogFields } from "../../../../src/platform/log.ts";

const KEY = `svc_${"k".repeat(43)}`;

function ask(path: string, init: RequestInit = {}, changes: Partial<Port80Deps> = {}) {
  const events: { name: string; fields: LogFields }[] = [];
  const deps: Port80Deps = {
    findToken: (token) => (token === "known" ? "known.print" : null),
    names: ["mail.example.net", "api.example.net"],
    httpsPort: 443,
    log: { event: (name, fields = {}) => void events.push({ name, fields }), error: () => undefined },
    ...changes,
  };
  const headers = { host: "api.example.net", ...(init.headers as Record<string, string> | undefined) };
  const request = new Request(`http://api.example.net${path}`, { ...init, headers });
  return { response: answerWithoutTls(request, deps), events };
}

const CHALLENGE = "/.well-known/acme-challenge/";

test("an authority finds its token, by GET and HEAD, and nothing else", async () => {
  const { response } = ask(`${CHALLENGE}known`);
  expect([response.status, await response.text()]).toEqual([200, "known.print"]);
  expect(ask(`${CHALLENGE}known`, { method: "HEAD" }).response.status).toBe(200);
  for (const path of ["unknown", "", "..%2fknown", "known/", "known%00", "a".repeat(300)])
    expect([path, ask(`${CHALLENGE}${path}`).response.status]).toEqual([path, 404]);
  expect(ask(`${CHALLENGE}known`, { method: "POST" }).response.status).toBe(404);
});

test("GET and HEAD elsewhere lead to https, under a name of ours", () => {
  const leads = (path: string, init: RequestInit = {}, changes: Partial<Port80Deps> = {}) => {
    const { response } = ask(path, init, changes);
    return [response.status, response.headers.get("location")];
  };
  expect(leads("/u/x?y=1")).toEqual([308, "https://api.example.net/u/x?y=1"]);
  expect(leads("/", { method: "HEAD" })).toEqual([308, "https://api.example.net/"]);
  expect(leads("/", {}, { httpsPort: 8443 })).toEqual([308, "https://api.example.net:8443/"]);
  expect(leads("/", { headers: { host: "evil.example" } })).toEqual([308, "https://mail.example.net/"]);
  expect(leads("//evil.example/")).toEqual([308, "https://api.example.net//evil.example/"]);
  expect(leads("/", {}, { httpsPort: null })).toEqual([404, null]);
});

test.each([
  ["x-api-key", KEY],
  ["authorization", `Bearer ${KEY}`],
])("a request with a key in %s is refused, not sent on, and logged by the key's first letters", async (name, value) => {
  for (const method of ["GET", "POST"]) {
    const { response, events } = ask("/api/v1/emails", { method, headers: { [name]: value } });
    expect(response.status).toBe(403);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.json()).toMatchObject({ errors: [{ code: "HTTPS_REQUIRED" }] });
    expect(events).toEqual([{ name: "tls.key_in_clear", fields: { prefix: "svc_kkkkkkkk" } }]);
  }
});

test("what changes something is not sent on: it would arrive as another method, or a second time", async () => {
  const { response, events } = ask("/api/v1/emails", { method: "POST", body: "{}" });
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ errors: [{ code: "HTTPS_REQUIRED" }] });
  expect(events).toEqual([]);
});
