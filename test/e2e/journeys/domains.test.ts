// A domain from its first record to the last tick, with the mistakes on the way and a link for whoever owns the DNS; DNS is
// changed behind the pages, and nobody presses anything.

import { expect } from "bun:test";
import { startFakeDns } from "../../support/fakes/dns-server.ts";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, type Stage } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { createWorkspace, mustAsk, signUpOperator } from "../../support/browser/people.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
import { startPombo } from "../../support/peers/pombo.ts";
import { makeFolder } from "../../support/peers/process.ts";

/** DNS is asked every ten seconds; a busy machine takes its time. */
const SEEN_TIMEOUT_MS = 45_000;
const NS = ["ana.ns.cloudflare.com", "rui.ns.cloudflare.com"];

interface DnsRecord {
  type: "TXT" | "CNAME";
  name: string;
  value: string;
}

async function start({ visit, cleanup }: Stage) {
  const dns = await startFakeDns({
    "loja.test": { NS, SOA: 840, ttlS: 3600 },
    ...Object.fromEntries(NS.map((name) => [name, { A: ["127.0.0.1"] }])),
    "mail.pombo.test": { A: ["127.0.0.1"] },
  });
  cleanup.add(() => dns.close());
  const settings = { dns: { servers: [dns.address] }, email: { bounce_host: "mail.pombo.test" } };
  const folder = makeFolder("domains", cleanup);
  const app = await startPombo({ folder, hostname: "mail.pombo.test", settings, cleanup });
  const url = `http://localhost:${app.port}`;
  const ana = await visit(url);
  await signUpOperator(ana, { url, operatorKey: app.operatorKey });
  return { dns, url, ana, workspaceId: await createWorkspace(ana, "Loja da Maria") };
}

const card = ({ page }: Visitor, title: string) => page.getByRole("listitem").filter({ hasText: title }).first();

async function sees(visitor: Visitor, title: string, words: RegExp | string): Promise<void> {
  await card(visitor, title).getByText(words).first().waitFor({ timeout: SEEN_TIMEOUT_MS });
}

journey(
  "each mistake is told, and the ticks come by themselves, also to whoever has the link",
  async (stage) => {
    const { dns, url, ana, workspaceId } = await start(stage);
    const { page } = ana;
    const keys = new Keyboard(page);
    await page.goto(`/dashboard/w/${workspaceId}/keys`);
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "There is no domain yet" }).waitFor();
    await keys.press("Add a domain");
    await keys.fill("Domain", "loja.test");
    await keys.press("Add a domain");
    await page.getByRole("heading", { level: 1, name: "loja.test" }).waitFor();
    await page.getByRole("heading", { name: /at .*Cloudflare/ }).waitFor();
    await page.getByText(/Open .*DNS › Records.* and choose .*Add record/).waitFor();
    await page.getByText("set Proxy status to DNS only").waitFor();
    // The name as the host's field takes it.
    await card(ana, "Second signature").getByText("pombo2._domainkey", { exact: true }).waitFor();
    expect(await listFaultsOfLooks(ana)).toEqual([]);

    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    const { dns: records } = (await mustAsk(ana, `GET /api/v1/domains/${id}`, { workspaceId })) as {
      dns: { dkim: [DnsRecord, DnsRecord]; spf: DnsRecord; dmarc: DnsRecord };
    };
    const [rsa, ed25519] = records.dkim;
    const { spf, dmarc } = records;
    const put = (name: string, value: string) => (dns.zone[name] = { TXT: [value] });

    await keys.press("Share");
    await keys.press("Make a link");
    const link = await page.locator("dialog[open] pre").innerText();
    expect(link).toMatch(/\/dashboard\/dns#[\w-]{43}$/);
    await page.keyboard.press("Escape");

    put(`${rsa.name}.loja.test`, rsa.value);
    put(ed25519.name, `"${ed25519.value}"`);
    dns.zone[spf.name] = { A: ["127.0.0.1"] };
    dns.zone["loja.test"] = { NS, SOA: 840, ttlS: 3600, TXT: [dmarc.value] };
    // Whoever opens the page has DNS looked at once.
    await page.reload();
    await sees(ana, "Needed: without it", /added the domain once more/);
    await sees(ana, "Second signature", "quotation marks");
    await sees(ana, "Return path", "flattening is on");
    await sees(ana, "Policy (DMARC)", "under another name");

    delete dns.zone[`${rsa.name}.loja.test`];
    put(rsa.name, rsa.value.slice(0, 255));
    await page.reload();
    await sees(ana, "Needed: without it", "cut off");

    const rui = await stage.visit(url, { language: "pt-PT" });
    await rui.page.goto(link);
    await rui.page.getByRole("heading", { level: 1, name: /Registos DNS de .*loja\.test/ }).waitFor();
    await sees(rui, "Segunda assinatura", "aspas");
    expect(await listFaultsOfLooks(rui)).toEqual([]);

    put(rsa.name, rsa.value);
    put(ed25519.name, ed25519.value);
    dns.zone[spf.name] = { CNAME: spf.value };
    put(dmarc.name, dmarc.value);
    await page.getByText(/Done: you can send from .*loja\.test/).waitFor({ timeout: SEEN_TIMEOUT_MS });
    await rui.page.getByText("Todos os registos estão lá").waitFor({ timeout: SEEN_TIMEOUT_MS });
    await page.getByText("Verified", { exact: true }).waitFor();
    expect(ana.count(/POST .*verification-checks/)).toBe(0);

    rui.allow(/^answer: GET \/api\/v1\/dns-share(\/live)? 410$/);
    await keys.press("Share");
    await keys.press("End the link");
    await rui.page.getByRole("heading", { name: "Esta ligação já não funciona" }).waitFor({ timeout: SEEN_TIMEOUT_MS });

    // The page may hear of the deletion from its stream before it has its own answer, and then asks once more.
    ana.allow(/^answer: GET \/api\/v1\/domains\/[0-9a-f-]+(\/dns-host)? 404$/);
    await keys.press("Delete");
    await keys.press("Delete");
    await page.getByRole("heading", { name: "There is no domain yet" }).waitFor();
  },
  240_000,
);
