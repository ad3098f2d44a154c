import { describe, expect, test } from "bun:test";
import { AppError } from "../../../../src/platform/errors.ts";
import {
  getArrival,
  hasSessionCookie,
  readSessionCookie,
  requireOwnArrival,
  requireSameOrigin,
  writeSessionCookie,
} from "../../../../src/platform/http/browser-request.ts";
import { noteArrival } from "../../../../src/platform/http/client-address.ts";
import { parseRanges } from "../../../../src/platform/ip/address.ts";

const URL_ = "https://mail.example.net";
const SITE = { url: URL_, trustedProxies: parseRanges(["127.0.0.0/8", "10.0.0.1/32"]) };
const HTTPS = { isHttps: true, origin: URL_ };

interface Visit {
  host?: string;
  peer?: string;
  headers?: Record<string, string>;
  method?: string;
  url?: string | null;
  /** Over a port of ours. */
  tls?: true;
}

function build({ host = "localhost:8080", peer = "127.0.0.1", headers = {}, method = "GET", tls }: Visit): Request {
  const request = new Request("http://localhost/x", { method, headers: { host, ...headers } });
  noteArrival(request, { requestIP: () => ({ address: peer }), protocol: tls === true ? "https" : "http" });
  return request;
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return "let in";
}

const arrive = (visit: Visit) => requireOwnArrival(build(visit), visit.url === null ? { ...SITE, url: null } : SITE);

describe("our own TLS", () => {
  const own = { host: "mail.example.net", peer: "198.51.100.7", tls: true } as const;

  test("is https from everywhere, without a proxy that says so", () => {
    expect(arrive(own)).toEqual(HTTPS);
    expect(arrive({ ...own, host: "mail.example.net:443" })).toEqual(HTTPS);
    expect(arrive({ ...own, headers: { "x-forwarded-proto": "http" } })).toEqual(HTTPS);
  });

  test("is no other host's, and on this machine its own origin", () => {
    expect(refusal(() => arrive({ ...own, host: "evil.example" }))).toBe("MISDIRECTED_REQUEST");
    expect(refusal(() => arrive({ ...own, url: null }))).toBe("MISDIRECTED_REQUEST");
    expect(arrive({ host: "localhost:8443", tls: true })).toEqual({ isHttps: true, origin: "https://localhost:8443" });
    expect(refusal(() => arrive({ ...own, host: "localhost:8443" }))).toBe("HTTPS_REQUIRED");
  });
});

describe("this machine", () => {
  test.each([
    "localhost",
    "localhost:8080",
    "pombo.localhost:1",
    "127.0.0.1:8080",
    "127.8.8.8",
    "[::1]:8080",
    "LOCALHOST",
  ])("is the Host %s from a loopback peer", (host) =>
    expect(arrive({ host, url: null })).toEqual({ isHttps: false, origin: `http://${host.toLowerCase()}` }),
  );

  test("may have an IPv6 or a mapped peer", () => {
    for (const peer of ["::1", "::ffff:127.0.0.1", "127.3.2.1"]) expect(arrive({ peer }).isHttps).toBe(false);
  });

  test.each([
    ["a peer elsewhere", { peer: "192.0.2.7" }],
    ["a private peer", { peer: "10.0.0.1" }],
    ["a forwarded client", { headers: { "x-forwarded-for": "127.0.0.1" } }],
    ["another forwarding header", { headers: { "x-forwarded-host": "localhost" } }],
    ["RFC 7239's header", { headers: { forwarded: "for=127.0.0.1" } }],
    ["nginx's header", { headers: { "x-real-ip": "127.0.0.1" } }],
    ["a gateway", { headers: { via: "1.1 proxy" } }],
  ])("is not %s", (_, visit) => {
    expect(refusal(() => arrive(visit))).toBe("HTTPS_REQUIRED");
  });
});

describe("a Host", () => {
  test.each([
    "evil.example",
    "mail.example.net.evil.example",
    "mail.example.net:8080",
    "localhost.evil.example",
    "",
    "127.0.0.1.evil",
  ])("%p is misdirected", (host) => expect(refusal(() => arrive({ host }))).toBe("MISDIRECTED_REQUEST"));

  test("of the configured url is ours only where there is one", () => {
    const visit = { host: "mail.example.net", headers: { "x-forwarded-proto": "https" } };
    expect(arrive(visit)).toEqual(HTTPS);
    expect(arrive({ ...visit, host: "Mail.Example.NET:443" })).toEqual(HTTPS);
    expect(refusal(() => arrive({ ...visit, url: null }))).toBe("MISDIRECTED_REQUEST");
  });
});

describe("https", () => {
  const visit = { host: "mail.example.net", headers: { "x-forwarded-proto": "https" } };

  test("is told by a trusted proxy only", () => {
    expect(arrive({ ...visit, peer: "10.0.0.1" })).toEqual(HTTPS);
    expect(refusal(() => arrive({ ...visit, peer: "192.0.2.7" }))).toBe("HTTPS_REQUIRED");
    expect(refusal(() => arrive({ ...visit, headers: {} }))).toBe("HTTPS_REQUIRED");
    expect(refusal(() => arrive({ ...visit, headers: { "x-forwarded-proto": "http" } }))).toBe("HTTPS_REQUIRED");
  });
});

describe("a request that changes something", () => {
  const from = (headers: Record<string, string>, method = "POST") =>
    refusal(() => requireSameOrigin(build({ method, headers }), HTTPS));

  test("comes from our own pages", () => {
    expect(from({ "sec-fetch-site": "same-origin" })).toBe("let in");
    expect(from({ origin: URL_ })).toBe("let in");
    expect(from({ origin: URL_, "sec-fetch-site": "same-origin" })).toBe("let in");
  });

  test.each([
    [{}],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site" }],
    [{ "sec-fetch-site": "none" }],
    [{ origin: "https://evil.example" }],
    [{ origin: "null" }],
    [{ origin: "http://mail.example.net" }],
    [{ origin: URL_, "sec-fetch-site": "cross-site" }],
    [{ origin: "https://evil.example", "sec-fetch-site": "same-origin" }],
  ])("does not come from %p", (headers) => {
    expect(from(headers)).toBe("CROSS_SITE_REQUEST");
    expect(from(headers, "DELETE")).toBe("CROSS_SITE_REQUEST");
    expect(from(headers, "GET")).toBe("let in");
  });
});

describe("the cookie", () => {
  const LOCAL = { isHttps: false, origin: "http://localhost" };
  const withCookie = (cookie: string) => build({ headers: { cookie } });

  test("has the name that belongs to how the request came", () => {
    const request = withCookie("a=1; pombo-session=local; __Host-pombo=tls");
    expect(readSessionCookie(request, LOCAL)).toBe("local");
    expect(readSessionCookie(request, HTTPS)).toBe("tls");
    expect(readSessionCookie(withCookie("pombo-session=local"), HTTPS)).toBeNull();
    expect(readSessionCookie(withCookie("xpombo-session=local"), LOCAL)).toBeNull();
  });

  test("is noticed among others, and no other is", () => {
    expect(hasSessionCookie(withCookie("a=1;__Host-pombo=x"))).toBe(true);
    expect(hasSessionCookie(withCookie("a=1; my__Host-pombo=x; pombo-sessions=y"))).toBe(false);
  });

  test("is written for https with all that keeps it there", () => {
    expect(writeSessionCookie(HTTPS, "abc", 60)).toBe(
      "__Host-pombo=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure",
    );
    expect(writeSessionCookie(LOCAL, null, 60)).toBe("pombo-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
  });
});

test("a request with a key has no arrival: it is no browser's", () => {
  const request = build({});
  expect(refusal(() => getArrival(request))).toBe("API_KEY_RESTRICTED");
  requireOwnArrival(request, SITE);
  expect(getArrival(request).isHttps).toBe(false);
});
