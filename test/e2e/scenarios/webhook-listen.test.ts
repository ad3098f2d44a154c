// `pombo webhook listen` beside the sandbox, as a developer has it: every event on the terminal and at a
// program of one's own, signed; webhooks that call loopback over http.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";
import { runPombo, spawnPombo, within } from "./child.ts";
import { call } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 15_000;

test("a developer's machine gets the events of the sandbox, by listening and by a webhook", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-listen-"));
  try {
    await using dev = spawnPombo(["dev", "--json", "--port", "0"], { env: { TMPDIR: folder } });
    await dev.until("it is ready", () => dev.stdout().includes("\n"));
    const ready = JSON.parse(dev.stdout()) as { url: string; apiKey: string; domain: string };
    await using forwarded = startReceiver();
    await using called = startReceiver();
    await using listening = spawnPombo(["webhook", "listen", "--api", ready.url, "--forward", forwarded.url], {
      env: { POMBO_KEY: ready.apiKey },
    });
    await listening.until("it listens", () => listening.stderr().includes("whsec_"));
    const secret = /whsec_\S+/.exec(listening.stderr())?.[0] ?? "";
    const path = "/api/v1/webhooks";
    const body = { url: called.url, events: ["email.delivered"] };
    const made = await call(ready.url, ready.apiKey, { method: "POST", path, body });
    expect(made.status).toBe(201);

    const email = { from: `a@${ready.domain}`, to: "maria@example.com", subject: "Olá", text: "x" };
    const sent = await call(ready.url, ready.apiKey, { method: "POST", path: "/api/v1/emails", body: email });
    const { id } = sent.body.data;
    await within(
      LIMIT_MS,
      "the forwarded",
      forwarded.until(() => forwarded.calls.length === 2),
    );
    await within(
      LIMIT_MS,
      "the webhook",
      called.until(() => called.calls.length === 1),
    );
    expect(forwarded.calls.map(({ event }) => [event.type, event.data.id])).toEqual([
      ["email.queued", id],
      ["email.delivered", id],
    ]);
    for (const each of forwarded.calls) verify(each, secret);
    verify(called.calls[0]!, made.body.data.secret);
    // A program may tell its caller by this.
    expect(forwarded.calls[0]?.headers["user-agent"]).toMatch(/^pombo\/\d/);
    expect(forwarded.calls[0]?.headers["user-agent"]).toBe(called.calls[0]?.headers["user-agent"] ?? "");
    // One event has one id, however it comes.
    expect(called.calls[0]?.headers["webhook-id"]).toBe(forwarded.calls[1]?.headers["webhook-id"] ?? "");
    await listening.until("its lines", () => listening.stdout().split("\n").length > 2);
    expect(listening.stdout()).toMatch(new RegExp(`email\\.delivered +${id}  maria@example\\.com  → 204`));
    listening.signal("SIGINT");
    expect(await within(LIMIT_MS, "its end", listening.ended)).toEqual({ code: 0, signal: null });

    const refused = await runPombo(["webhook", "listen", "--api", ready.url], { env: { POMBO_KEY: "svc_wrong" } });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("401")]);
    const without = await runPombo(["webhook", "listen", "--api", ready.url], { env: { POMBO_KEY: "" } });
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining("POMBO_KEY")]);
    dev.signal("SIGINT");
    await dev.ended;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
