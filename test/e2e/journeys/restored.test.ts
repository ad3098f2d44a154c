// After `pombo restore` everybody is signed out, and the next operator reviews people, roles and API keys.

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import { expect } from "bun:test";
import { journey } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { startMailing } from "../../support/browser/mailing.ts";
import {
  ask,
  createWorkspace,
  join,
  makeSetupLink,
  mustAsk,
  PASSWORD,
  signUpOperator,
} from "../../support/browser/people.ts";
import { findPombo, servePombo, operatorApi } from "../../support/peers/pombo.ts";
import { makeFolder, mustRun, waitUntil } from "../../support/peers/process.ts";

const SYNC_TIMEOUT_MS = 30_000;

const { command } = findPombo();
const hasDaemon = !(await mustRun([...command, "version"])).includes("Litestream none");
if (!hasDaemon) console.warn("SKIPPED: a restore needs Litestream: script/litestream brings it.");

if (hasDaemon)
  journey(
    "who was restored is signed out, and an operator's link lists who may do what",
    async ({ visit, cleanup }) => {
      const place = makeFolder("restored", cleanup);
      const [replica, keyFile] = [joinPath(place, "replica"), joinPath(place, "recovery.key")];
      const first = await startMailing(cleanup, { replication: { url: `file://${replica}`, sync_interval: "200ms" } });
      const { app, url } = first;
      const [ana, rui] = [await visit(url), await visit(url)];
      for (const visitor of [ana, rui]) visitor.allow(/^failed: /, /^answer: \S+ \S+ (401|404|503)$/);
      await signUpOperator(ana, first, "ana@example.com");
      const workspaceId = await createWorkspace(ana, "Loja da Maria");
      await join(ana, workspaceId, { visitor: rui, email: "rui@example.com", role: "admin", name: "Rui Tembe" });
      await mustAsk(ana, "POST /api/v1/auth/keys", { workspaceId, body: { name: "Loja online" } });
      const asked = { workspaceId, body: { email: "carlos@example.com", role: "member" } };
      const { url: invitation } = await mustAsk(ana, "POST /api/v1/workspace/invitations", asked);
      await rui.page.goto(`/dashboard/w/${workspaceId}/keys`);
      await rui.page.getByText("Loja online").first().waitFor();
      const written = Date.now();
      await waitUntil("all of it is in the replica", SYNC_TIMEOUT_MS, async () => {
        const { data } = await operatorApi(app).expect(200, "GET", "/api/v1/operator/status");
        return Date.parse(data.replication?.lastAt ?? "") > written;
      });
      copyFileSync(joinPath(app.dataFolder, "instance.key"), keyFile);
      await app.process.stop();

      // Under the same address, as after the loss of the machine.
      const dataFolder = joinPath(place, "data");
      const configFile = joinPath(place, "config.toml");
      writeFileSync(configFile, readFileSync(app.configFile, "utf8").replace(app.dataFolder, dataFolder));
      await mustRun([
        ...command,
        "restore",
        "--from",
        `file://${replica}`,
        "--key-file",
        keyFile,
        "--config",
        configFile,
      ]);
      await servePombo({ ...app, configFile, dataFolder }, cleanup);

      // The open page finds that out by itself.
      await rui.page.waitForURL("**/dashboard/signin?**", { timeout: 30_000 });
      expect((await ask(ana, "GET /api/v1/auth/me")).status).toBe(401);
      const carlos = await visit(url);
      carlos.allow(/^answer: POST \/api\/v1\/auth\/links\/inspect 410$/);
      await carlos.page.goto(invitation);
      await carlos.page.getByRole("heading", { level: 1, name: "This link does not work any more" }).waitFor();

      const operator = await visit(url);
      const { page } = operator;
      await page.goto(await makeSetupLink(first));
      const review = page.locator(".review");
      await review.getByText("People (2)").waitFor();
      const words = await review.innerText();
      for (const fact of [
        "ana@example.com",
        "Rui Tembe",
        "Loja da Maria: Owner",
        "Loja da Maria: Admin",
        "API keys (2)",
        "Loja online",
      ])
        expect(words).toContain(fact);
      const keys = new Keyboard(page);
      await keys.fill("Your name", "Telma Cossa");
      await keys.fill("Email address", "telma@example.com");
      await keys.press("Use a password instead");
      await keys.fill("New password", PASSWORD);
      await keys.press("Continue");
      await page.getByRole("heading", { level: 1, name: "Name your workspace" }).waitFor();
      await page.goto("about:blank");
      await page.goto(await makeSetupLink(first));
      await page.getByRole("heading", { level: 1, name: "Welcome to pombo" }).waitFor();
      expect(await review.count()).toBe(0);
    },
  );
