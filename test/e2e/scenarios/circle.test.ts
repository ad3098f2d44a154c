// The circle that the sandbox closes: an email is taken, a bounce or a complaint comes back by SMTP, and the
// developer's webhook hears of it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";
import { spawnPombo, within } from "./child.ts";
import { call } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 20_000;

for (const [recipient, status, reason, words] of [
  ["bounce-later@one.example", "bounced", "hard_bounce", "550 5.1.1 No such user"],
  ["complaint+test@two.example", "complained", "complaint", null],
] as const) {
  test(`${recipient} is delivered and then ${status}: suppressed, and the webhook is called`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "pombo-circle-"));
    try {
      await using receiver = startReceiver();
      await using dev = spawnPombo(["dev", "--json", "--port", "0"], { env: { TMPDIR: folder } });
      await dev.until("it is ready", () => dev.stdout().includes("\n"));
      const { url, apiKey, domain } = JSON.parse(dev.stdout()) as Record<"url" | "apiKey" | "domain", string>;
      const post = (path: string, body: unknown) => call(url, apiKey, { method: "POST", path, body });
      const hook = await post("/api/v1/webhooks", { url: receiver.url, events: ["*"] });
      const email = { from: `Loja <loja@${domain}>`, to: recipient, subject: "Olá", text: "Olá" };
      const sent = await post("/api/v1/emails", email);
      expect(sent.status).toBe(202);
      const { id } = sent.body.data;
      const isTold = (type: string) => receiver.calls.some(({ event }) => event.type === type);
      await within(
        LIMIT_MS,
        "the webhook's calls",
        receiver.until(() => isTold(`email.${status}`) && isTold("suppression.created")),
      );
      for (const each of receiver.calls) verify(each, hook.body.data.secret);
      const types = receiver.calls.map(({ event }) => event.type);
      expect(types.toSorted()).toEqual(
        ["email.delivered", "email.queued", `email.${status}`, "suppression.created"].toSorted(),
      );
      expect(receiver.calls.find(({ event }) => event.type === `email.${status}`)?.event.data).toMatchObject({
        id,
        status,
      });

      const record = (await call(url, apiKey, { path: `/api/v1/emails/${id}` })).body.data;
      expect(record).toMatchObject({ status, attempts: 1 });
      expect(record.deliveredAt).not.toBeNull();
      if (words !== null) expect(record.failedReason).toStartWith(words);
      const { body } = await call(url, apiKey, { path: "/api/v1/suppressions" });
      expect(body.data).toMatchObject([{ address: recipient, reason, channel: "email" }]);
      const again = await post("/api/v1/emails", email);
      expect([again.status, again.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);

      dev.signal("SIGINT");
      expect(await within(LIMIT_MS, "the end", dev.ended)).toEqual({ code: 0, signal: null });
      expect(dev.stderr()).not.toContain("BUG");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
