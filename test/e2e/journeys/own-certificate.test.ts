// The dashboard and /docs over pombo's own TLS port, with a certificate that an authority has issued: a browser that
// knows the authority shows them without a word.

import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchTrusting } from "../../support/browser/chromium.ts";
import { makeSetupLink, PASSWORD } from "../../support/browser/people.ts";
import { Visitor } from "../../support/browser/visitor.ts";
import { Cleanup, freePort, makeFolder } from "../../support/peers/process.ts";
import { LIMIT_MS, PEBBLE, startTlsWorld } from "../scenarios/tls-world.ts";
import { bugsOf, hasLogged, HOSTNAME } from "../scenarios/world.ts";

setDefaultTimeout(120_000);

test.skipIf(PEBBLE === null)("a browser trusts the certificate: people sign in, and read the docs", async () => {
  const cleanup = new Cleanup();
  await using _ = { [Symbol.asyncDispose]: () => cleanup.close() };
  const port = await freePort();
  const origin = `https://${HOSTNAME}:${port}`;
  await using all = await startTlsWorld({ tls: { listen: [`127.0.0.1:${port}`] } });
  const config = all.world.writeConfig("dashboard.toml", { tls: all.tls, dashboard: { url: origin } });
  await using served = await all.world.serve({ config });
  await served.until("the certificate", () => hasLogged(served, "tls.issued"), LIMIT_MS);
  const folder = makeFolder("own-certificate", cleanup);
  const root = join(folder, "root.pem");
  writeFileSync(root, await all.pebble.root());
  const browser = await launchTrusting(root, { folder, name: HOSTNAME });
  cleanup.add(() => browser.close());

  const ana = await Visitor.open(browser, origin);
  const answer = await ana.page.goto("/dashboard/signin");
  expect(await answer?.securityDetails()).toMatchObject({
    issuer: expect.stringContaining("Pebble"),
  });
  const { hash } = new URL(await makeSetupLink({ url: served.url, operatorKey: all.world.operatorKey }));
  const body = { token: hash.slice(1), email: "ana@example.com", name: "Ana", password: PASSWORD };
  const status = await ana.page.evaluate(async (sent) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(sent) };
    return (await fetch("/api/v1/auth/links/use", init)).status;
  }, body);
  expect(status).toBe(200);
  await ana.page.goto("/dashboard/account");
  await ana.page.getByText("ana@example.com").first().waitFor();
  expect(await ana.context.cookies()).toMatchObject([{ name: "__Host-pombo", secure: true }]);
  await ana.page.goto("/docs");
  await ana.page.locator("#operations-tag-Emails").waitFor();
  expect([ana.complaints, bugsOf(served)]).toEqual([[], []]);

  // One that does not know it shows nothing.
  const stranger = await launchTrusting(all.pebble.caFile, { folder: makeFolder("stranger", cleanup), name: HOSTNAME });
  cleanup.add(() => stranger.close());
  const page = await stranger.newPage();
  await expect(page.goto(`${origin}/docs`)).rejects.toThrow("ERR_CERT_AUTHORITY_INVALID");
});
