import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import type { ReceivedMessage } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { exchange, head } from "../../support/api/kit.ts";
import { lines, received } from "../../support/sandbox/kit.ts";

const SIGNATURE = {
  domain: "shop.example",
  selector: "s1",
  algorithm: "rsa-sha256",
  result: "pass" as const,
  reason: null,
};
const HOSTILE = lines(
  "Subject: <img src=x onerror=alert(1)>",
  "Content-Type: text/html; charset=utf-8",
  "",
  "<h1>Olá</h1><script>parent.owned = 1</script><img src=https://track.example/p.gif>",
  "<link rel=dns-prefetch href=//leak.example><meta http-equiv=refresh content='0;url=//leak.example'>",
  "<a href='https://shop.example/?a=1&amp;b=2'>go</a><a href='javascript:alert(1)'>no</a>",
);

test("the list holds exactly the promised members, newest first", async () => {
  const { get } = open(
    received({ subject: "one" }),
    received({ subject: "two", dkim: "pass", signatures: [SIGNATURE] }),
  );
  const list = (await (await get("/sandbox/messages")).json()) as { subject: string }[];
  expect(list.map((message) => message.subject)).toEqual(["two", "one"]);
  expect(list[0]).toEqual({
    id: "2",
    envelopeFrom: "bounce@mail.example",
    from: "Ada <ada@shop.example>",
    to: "grace@example.com",
    subject: "two",
    receivedAt: "2026-03-01T12:00:00.000Z",
    tls: "TLSv1.3",
    dkim: "pass",
    dkimSignatures: [SIGNATURE],
    sizeBytes: 62,
    raw: "From: Ada <ada@shop.example>\r\nSubject: Hello\r\n\r\nGood morning\r\n",
  } as never);
});

test("an empty inbox is an empty array", async () => {
  const answer = await open().get("/sandbox/messages");
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(await answer.json()).toEqual([]);
});

test("?to= picks one recipient, without regard to case, with a typed or an encoded plus", async () => {
  const { get } = open(received({ to: "ada+1@example.com" }), received({ to: "grace@example.com" }));
  for (const to of ["ADA+1@example.com", "ada%2B1@example.com"]) {
    expect(await (await get(`/sandbox/messages?to=${to}`)).json()).toMatchObject([{ id: "1" }]);
  }
  expect(await (await get("/sandbox/messages?to=nobody@example.com")).json()).toEqual([]);
});

test("?limit= bounds the list, and a limit that is none is told", async () => {
  const { get } = open(received(), received(), received());
  expect(await (await get("/sandbox/messages?limit=2")).json()).toMatchObject([{ id: "3" }, { id: "2" }]);
  for (const limit of ["0", "1001", "-1", "two", "", "1e3"]) {
    const answer = await get(`/sandbox/messages?limit=${limit}`);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ errors: [{ code: "VALIDATION_ERROR", field: "limit" }] });
  }
});

test("?raw=false leaves the sources out", async () => {
  const [message] = (await (await open(received()).get("/sandbox/messages?raw=false")).json()) as object[];
  expect(message).not.toHaveProperty("raw");
});

test("a source that is not UTF-8 is read byte by byte", async () => {
  const raw = Buffer.from([0x53, 0x3a, 0x20, 0xe9, 0x0d, 0x0a]);
  const [message] = (await (await open(received({ raw })).get("/sandbox/messages")).json()) as { raw: string }[];
  expect(message?.raw).toBe("S: é\r\n");
});

test("one message comes with html, text, headers, attachments and links", async () => {
  const raw = lines(
    "Subject: =?utf-8?Q?Ol=C3=A1?=",
    "X-Folded: one",
    " two",
    "Content-Type: multipart/mixed; boundary=m",
    "",
    "--m",
    "Content-Type: multipart/alternative; boundary=a",
    "",
    "--a",
    "Content-Type: text/plain",
    "",
    "hello",
    "--a",
    "Content-Type: text/html",
    "",
    "<p>hello <a href='https://shop.example/?a=1&amp;b=2'>go</a><a href='javascript:alert(1)'>no</a>",
    "--a--",
    "--m",
    "Content-Type: application/pdf; name=bill.pdf",
    "Content-Disposition: attachment; filename=bill.pdf",
    "",
    "12345",
    "--m--",
  );
  const message = (await (await open(received({ raw })).get("/sandbox/messages/1")).json()) as Record<string, unknown>;
  expect(message).toMatchObject({
    id: "1",
    text: "hello",
    links: ["https://shop.example/?a=1&b=2"],
    attachments: [{ filename: "bill.pdf", contentType: "application/pdf", sizeBytes: 5 }],
    remoteImages: 0,
    fault: null,
  });
  expect(message["html"]).toStartWith("<p>hello");
  expect(message["headers"]).toContainEqual({ name: "X-Folded", value: "one two" });
  expect(message["raw"]).toBe(raw.toString());
});

test("a text is never made from the html, nor html from the text", async () => {
  const { get } = open(received({ raw: HOSTILE }), received());
  expect(await (await get("/sandbox/messages/1")).json()).toMatchObject({ text: null, remoteImages: 1 });
  expect(await (await get("/sandbox/messages/2")).json()).toMatchObject({ html: null });
});

test("a message's html is served under a policy that runs nothing and fetches nothing", async () => {
  const answer = await open(received({ raw: HOSTILE })).get("/sandbox/messages/1/html");
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("content-security-policy")?.split("; ")).toEqual([
    "sandbox",
    "default-src 'none'",
    "img-src data:",
    "font-src data:",
    "style-src 'unsafe-inline'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ]);
  const html = await answer.text();
  expect(html).toContain("<h1>Olá</h1>");
  expect(html).not.toContain("leak.example");
});

test("the source is served as plain text, byte for byte", async () => {
  const answer = await open(received({ raw: HOSTILE })).get("/sandbox/messages/1/raw");
  expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(answer.headers.get("content-security-policy")).toStartWith("sandbox; default-src 'none'");
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(HOSTILE);
});

test("a message that cannot be taken apart is told in words, its source is still there", async () => {
  const raw = lines(`X-Long: ${"x".repeat(1_200_000)}`, "Subject: y", "", "text");
  const { get } = open(received({ raw }));
  const message = (await (await get("/sandbox/messages/1")).json()) as { fault: string; raw: string };
  expect(message.fault).toBeString();
  expect(message.raw).toHaveLength(raw.byteLength);
  expect((await get("/sandbox/messages/1/html")).status).toBe(404);
});

test("an unknown id is 404, whatever is asked of it", async () => {
  const { get } = open(received({ raw: lines("Subject: x", "", "text only") }));
  for (const path of ["2", "0", "-1", "1x", "1e0", "99999999999999999999", "2/html", "2/raw", "1/html"]) {
    const answer = await get(`/sandbox/messages/${path}`);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(await answer.json()).toMatchObject({ errors: [{ code: "NOT_FOUND" }] });
  }
});

test("DELETE empties the inbox, from its own page or from no page", async () => {
  for (const headers of [{}, { host: "127.0.0.1:8080", origin: "http://127.0.0.1:8080" }]) {
    const { inbox, ask } = open(received(), received());
    const answer = await ask("/sandbox/messages", { method: "DELETE", headers });
    expect(await answer.json()).toEqual({ deleted: 2 });
    expect(inbox.list()).toEqual([]);
  }
});

test("another site's page is refused, also the sandboxed frame of a message", async () => {
  for (const origin of ["https://evil.example", "http://localhost:9999", "null", "http://127.0.0.1:8080"]) {
    const { inbox, ask } = open(received());
    for (const method of ["GET", "DELETE"]) {
      const answer = await ask("/sandbox/messages", { method, headers: { host: "localhost:8080", origin } });
      expect([origin, method, answer.status]).toEqual([origin, method, 403]);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
    expect(inbox.list()).toHaveLength(1);
  }
});

test("a name that merely points here is refused (DNS rebinding)", async () => {
  const { ask } = open(received());
  const statusFor = async (host: string) => (await ask("/sandbox/messages", { headers: { host } })).status;
  for (const host of [
    "localhost",
    "localhost:8080",
    "127.0.0.1:8080",
    "127.9.9.9",
    "[::1]:8080",
    "pombo.localhost:80",
  ]) {
    expect([host, await statusFor(host)]).toEqual([host, 200]);
  }
  for (const host of [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "10.0.0.1",
    "evil-localhost",
    "0.0.0.0:8080",
    "[::2]",
  ]) {
    expect([host, await statusFor(host)]).toEqual([host, 403]);
  }
  expect((await ask("http://evil.example/sandbox", {})).status).toBe(403);
});

/** Of a URL none of them can be a part. */
const MALFORMED_HOSTS = ["evil:99999", "localhost:99999", "xn--a"];

test("the guard holds over a real socket too, for every path", async () => {
  const { app } = open(received());
  const server = app.listen({ port: 0, hostname: "127.0.0.1" }).server;
  try {
    for (const path of ["", "/messages", "/messages/1", "/messages/1/html", "/messages/1/raw"]) {
      const url = `http://127.0.0.1:${server?.port}/sandbox${path}`;
      expect((await fetch(url)).status).not.toBe(403);
      expect((await fetch(url, { headers: { host: "evil.example" } })).status).toBe(403);
      for (const Host of MALFORMED_HOSTS) {
        const answer = await exchange(url, head(`GET /sandbox${path}`, { Host }));
        expect([Host, answer.status]).toEqual([Host, 403]);
      }
    }
  } finally {
    await app.stop(true);
  }
});

test("the guard of the sandbox does not reach other routes", async () => {
  const app = new Elysia({ aot: false }).use(sandboxRoutes(openInbox(":memory:"))).get("/other", () => "fine");
  const answer = await app.handle(new Request("http://evil.example/other"));
  expect(await answer.text()).toBe("fine");
});

test("the page asks nobody else: its policy lets it load only its own files, and all of them are there", async () => {
  const { get } = open();
  const answer = await get("/sandbox");
  const policy = answer.headers.get("content-security-policy") ?? "";
  const html = await answer.text();
  for (const directive of ["default-src 'none'", "script-src 'self'", "style-src 'self'"])
    expect(policy).toContain(directive);
  expect(html.match(/(?:src|href)="https?:/g)).toBeNull();
  expect(html.match(/<script>|<style|style="|\bon[a-z]+="/g)).toBeNull();
  expect(html).toContain('<iframe id="frame" sandbox=""');
  const loaded = [...html.matchAll(/(?:src|href)="(\/sandbox\/[^"]+)"/g)].map(([, path]) => path!);
  expect(loaded).toEqual(["/sandbox/page.css", "/sandbox/page.js"]);
  for (const path of loaded) expect((await get(path)).status).toBe(200);
  expect((await get("/sandbox/page.ts")).status).toBe(404);
  expect((await get("/sandbox/constructor")).status).toBe(404);
});

test("the way from / leads to the page, for this machine's own browser only", async () => {
  const { get } = open();
  const answer = await get("/");
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "/sandbox"]);
  expect((await get("http://evil.example/")).status).toBe(403);
});

test("the page's scripts import only one another, and never write markup", async () => {
  const { get } = open();
  const transpiler = new Bun.Transpiler({ loader: "js" });
  const seen = new Set(["page.js"]);
  for (const name of seen) {
    const answer = await get(`/sandbox/${name}`);
    expect([name, answer.status, answer.headers.get("content-type")]).toEqual([
      name,
      200,
      "text/javascript; charset=utf-8",
    ]);
    const script = await answer.text();
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc/);
    for (const { path } of transpiler.scan(script).imports) seen.add(path.replace("./", ""));
  }
  expect([...seen].toSorted()).toEqual(["dom.js", "mail.js", "page.js", "phones.js", "reader.js"]);
});

test("the page's curl line carries the workspace's domain, escaped", async () => {
  const app = sandboxRoutes(openInbox(":memory:"), { domain: 'a"><script>' });
  const html = await (await app.handle(new Request("http://localhost/sandbox"))).text();
  expect(html).toContain('data-domain="a&quot;&gt;&lt;script&gt;"');
});

function open(...messages: ReceivedMessage[]) {
  const inbox = openInbox(":memory:");
  for (const message of messages) inbox.add(message);
  const app = new Elysia({ aot: false }).use(sandboxRoutes(inbox, { domain: "shop.example" }));
  const ask = (path: string, init: RequestInit) =>
    app.handle(new Request(path.startsWith("http") ? path : `http://localhost${path}`, init));
  return { inbox, app, ask, get: (path: string) => ask(path, {}) };
}
