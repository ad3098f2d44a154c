// The dashboard's shell and files over HTTP: headers, encodings, and who gets them.

import { describe, expect, test } from "bun:test";
import { type Instance, type InstanceOptions, startInstance } from "../../support/fakes/instance.ts";

const URL_OF_DASHBOARD = "https://mail.example.net";
const FROM_PROXY = { host: "mail.example.net", "x-forwarded-proto": "https" };

const behindProxy: InstanceOptions = {
  configure(config) {
    config.dashboard.url = URL_OF_DASHBOARD;
    config.http.trustedProxies = ["127.0.0.1/32"];
  },
};

function get(pombo: Instance, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${pombo.app.url}${path}`, { headers, redirect: "manual", decompress: false } as RequestInit);
}

async function findFiles(pombo: Instance): Promise<string[]> {
  const shell = await (await get(pombo, "/dashboard")).text();
  return [...shell.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path = ""]) => path);
}

describe("the shell", () => {
  test("is the same at each address of a page, and allows nothing inline, from elsewhere, or made of text", async () => {
    await using pombo = await startInstance();
    const pages = ["/dashboard", "/dashboard/signin", "/dashboard/w/x/emails/1", "/dashboard/no/such/page"];
    const shells = await Promise.all(pages.map(async (page) => get(pombo, page)));
    const texts = await Promise.all(shells.map((shell) => shell.text()));
    expect(new Set(texts).size).toBe(1);
    for (const { status, headers } of shells) {
      expect(status).toBe(200);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|http|nonce|sha256/);
      expect(Object.fromEntries(headers)).toMatchObject({
        "cache-control": "no-cache",
        "content-type": "text/html; charset=utf-8",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      });
      expect(headers.get("permissions-policy")).toContain("publickey-credentials-get=(self)");
      expect(headers.has("strict-transport-security")).toBe(false);
    }
    expect(texts[0]).not.toMatch(/<script(?![^>]*src=)|<style|style=|\son\w+=/);
  });

  test("is asked for again each time, and answered 304 while it is the same", async () => {
    await using pombo = await startInstance();
    const etag = (await get(pombo, "/dashboard")).headers.get("etag") ?? "";
    const again = await get(pombo, "/dashboard", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await get(pombo, "/dashboard", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("is not there where the dashboard is turned off", async () => {
    await using pombo = await startInstance({ configure: (config) => void (config.dashboard.enabled = false) });
    expect((await get(pombo, "/dashboard")).status).toBe(404);
  });
});

describe("its files", () => {
  test("are kept for good, and come in the best encoding that the browser takes", async () => {
    await using pombo = await startInstance();
    const files = await findFiles(pombo);
    expect(files).toEqual([expect.stringMatching(/\/style\.css$/), expect.stringMatching(/\/main\.js$/)]);
    for (const file of files) {
      const plain = await get(pombo, file, { "accept-encoding": "identity" });
      const text = await plain.text();
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(plain.headers.get("vary")).toBe("accept-encoding");
      for (const [accepted, encoding] of [
        ["gzip, deflate, br", "br"],
        ["gzip;q=1.0, br;q=0", "gzip"],
      ] as const) {
        const packed = await get(pombo, file, { "accept-encoding": accepted });
        expect(packed.headers.get("content-encoding")).toBe(encoding);
        const bytes = await packed.bytes();
        expect(bytes.byteLength).toBeLessThan(text.length);
        if (encoding === "gzip") expect(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(bytes)))).toBe(text);
      }
    }
  });

  test("of another version, and others, are not there", async () => {
    await using pombo = await startInstance();
    const [style = ""] = await findFiles(pombo);
    for (const path of [style.replace("style.css", "none.css"), style.replace(/assets\/[^/]+/, "assets/other")])
      expect((await get(pombo, path)).status).toBe(404);
  });
});

describe("from elsewhere than this machine", () => {
  test("https through a trusted proxy gets the shell, and is to be https for good", async () => {
    await using pombo = await startInstance(behindProxy);
    const { status, headers } = await get(pombo, "/dashboard", FROM_PROXY);
    expect([status, headers.get("strict-transport-security")]).toEqual([200, "max-age=63072000"]);
  });

  test("plain http gets a page that leads to https, and no way to sign in", async () => {
    await using pombo = await startInstance(behindProxy);
    const answer = await get(pombo, "/dashboard/signin", { host: "mail.example.net" });
    const page = await answer.text();
    expect(answer.status).toBe(403);
    expect(page).toContain(`href="${URL_OF_DASHBOARD}/dashboard"`);
    expect(page).not.toContain("<script");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("without [dashboard] url it gets the line of a tunnel, and a name that only points here is refused", async () => {
    await using pombo = await startInstance();
    for (const headers of [{ host: "203.0.113.7:8080" }, { host: "evil.example" }]) {
      const answer = await get(pombo, "/dashboard", headers);
      const page = await answer.text();
      expect(answer.status).toBe(421);
      expect(page).toContain("ssh -L 8080:localhost:8080");
      expect(page).not.toContain("<script");
    }
    const forwarded = await get(pombo, "/dashboard", { "x-forwarded-for": "203.0.113.7" });
    expect(forwarded.status).toBe(403);
    expect(await forwarded.text()).toContain("ssh -L");
  });
});
