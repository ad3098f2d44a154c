// The dashboard behind a reverse proxy with TLS, as people reach it from elsewhere.

import { expect } from "bun:test";
import { journey } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { PASSWORD, signUpOperator } from "../../support/browser/people.ts";
import { startTlsProxy } from "../../support/browser/tls-proxy.ts";
import { startPombo } from "../../support/peers/pombo.ts";
import { makeFolder } from "../../support/peers/process.ts";

journey(
  "over https the cookie is bound to the host, and plain http from elsewhere says how to get there",
  async (stage) => {
    const { visit, cleanup } = stage;
    const proxy = startTlsProxy();
    cleanup.add(() => proxy[Symbol.asyncDispose]());
    const settings = { dashboard: { url: proxy.url }, http: { trusted_proxies: ["127.0.0.1"] } };
    const app = await startPombo({ folder: makeFolder("https", cleanup), hostname: "pombo.test", settings, cleanup });
    const direct = `http://localhost:${app.port}`;
    proxy.target = direct;

    await signUpOperator(await visit(direct), { url: direct, operatorKey: app.operatorKey });
    const ana = await visit(proxy.url);
    const keys = new Keyboard(ana.page);
    const answer = await ana.page.goto("/dashboard/account");
    expect(await answer?.headerValue("strict-transport-security")).toStartWith("max-age=");
    await keys.fill("Email address", "ana@example.com");
    await keys.fill("Password", PASSWORD);
    await keys.press("Sign in");
    await ana.page.waitForURL("**/dashboard/account");
    const cookies = await ana.context.cookies();
    expect(cookies).toMatchObject([
      { name: "__Host-pombo", httpOnly: true, secure: true, sameSite: "Strict", path: "/" },
    ]);

    // The proxy forgets to say that it was https.
    const rui = await visit(direct);
    rui.allow(/^answer: GET \/dashboard\/signin 403$/);
    await rui.context.setExtraHTTPHeaders({ "x-forwarded-for": "203.0.113.7" });
    await rui.page.goto("/dashboard/signin");
    await rui.page.getByRole("link", { name: `${proxy.url}/dashboard` }).waitFor();
  },
);
