// `pombo alert`: who is told, and a test to each.

import { expect, setDefaultTimeout, test } from "bun:test";
import { runHere } from "../../support/cli/kit.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { readBy } from "../../support/smpp/world.ts";
import { fastClock, startTexting } from "../../support/texting/world.ts";

setDefaultTimeout(60_000);

const BLOCK = { least: "warning", from: null, route: null } as const;

test("a test goes to each, and each outcome is told", async () => {
  await using receiver = startReceiver();
  await using refusing = startReceiver();
  refusing.answer = () => new Response("no such channel", { status: 404 });
  await using pombo = await startInstance({
    configure(config) {
      allowLoopback(config);
      config.alerts = [
        { ...BLOCK, kind: "email", to: ["maria@example.com"] },
        { ...BLOCK, kind: "webhook", to: [receiver.url, refusing.url] },
      ];
    },
  });
  const place = ["--data-dir", pombo.directory];
  const tested = await runHere(["alert", "test", ...place], { width: 100 });
  expect(tested.out).toContain("ok      email to maria@example.com");
  expect(tested.out).toContain(`ok      webhook to 127.0.0.1:${receiver.port}`);
  expect(tested.out).toContain(`failed  webhook to 127.0.0.1:${refusing.port}: answered 404: no such channel`);
  expect(tested.code).toBe(1);
  expect(pombo.mx.messages[0]?.stuffed.toString()).toContain("Subject: [test] mail.pombo.test: This is a test");
  const secrets = await runHere(["alert", "secret", ...place], { width: 100 });
  const secret = /whsec_\S+/.exec(secrets.out)?.[0] ?? "";
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("no call");
  expect(verify(call, secret)).toMatchObject({ event: "alert.test" });
  const shown = await runHere(["alert", ...place], { width: 100 });
  expect(shown.out).toContain("email to maria@example.com: warnings and problems");
  expect(shown.out).not.toContain("/hook");
  expect(pombo.bugs).toEqual([]);
});

test("without anybody to tell it says what to do", async () => {
  await using pombo = await startInstance();
  const place = ["--data-dir", pombo.directory];
  const { code, err } = await runHere(["alert", "test", ...place]);
  expect([code, err]).toEqual([1, expect.stringContaining("Add an [[alerts]] block")]);
  expect((await runHere(["alert", ...place])).out).toContain("Nobody is told");
});

test("an SMS goes by the named route, from the named sender, and takes nobody's credits", async () => {
  await using world = await startTexting({
    instance: { clock: fastClock(40) },
    configure(config) {
      config.alerts = [{ kind: "sms", to: ["+258841234567"], least: "problem", from: "pombo", route: "vodacom" }];
    },
  });
  const { instance, smsc } = world;
  const what = "Não há mais espaço.";
  instance.app.alerts.addSource(() => [{ id: "test", level: "problem", what, step: null }]);
  await waitUntil("the SMS", 30_000, async () => (await readBy(smsc)).some((each) => each.startsWith("submit")));
  const texts = (await readBy(smsc)).filter((each) => each.startsWith("submit"));
  expect(texts).toHaveLength(1);
  const { sqlite } = instance.app.db;
  const rows = sqlite.query("SELECT workspace_id, recipient, sender, body, segments FROM sms_message").all();
  expect(rows).toEqual([
    {
      workspace_id: 0,
      recipient: "+258841234567",
      sender: "pombo",
      body: `pombo mail.pombo.test: problem: ${what}`,
      segments: 1,
    },
  ]);
  expect((await instance.workspace.call("GET", "/api/v1/sms")).body.data).toEqual([]);
  const read = () => sqlite.query<{ status: string }, []>("SELECT status FROM sms_message").get()?.status;
  await waitUntil("its receipt", 30_000, () => read() === "delivered");
  expect(sqlite.query("SELECT * FROM sms_credit WHERE kind <> 'grant'").all()).toEqual([]);
  const { results } = (await instance.operator.call("POST", "/api/v1/operator/alerts/test")).body.data;
  expect(results).toMatchObject([{ kind: "sms", outcome: "waiting" }]);
  const outcome = async () =>
    (await instance.operator.call("GET", "/api/v1/operator/alerts/test")).body.data.results[0].outcome;
  await waitUntil("the test's SMS", 30_000, async () => (await outcome()) === "sent");
  const { id } = (await instance.operator.call("GET", "/api/v1/operator/alerts/test")).body.data.results[0];
  const traced = await instance.operator.call("GET", `/api/v1/operator/trace/${id}`);
  expect([traced.status, traced.body.data?.workspaceId ?? null]).toEqual([200, null]);
  const erased = await instance.operator.call("DELETE", "/api/v1/operator/recipients/%2B258841234567");
  expect(erased.body.data).toMatchObject({ sms: 2 });
  expect(JSON.stringify(sqlite.query("SELECT * FROM sms_message").all())).not.toContain("841234567");
  expect(instance.bugs).toEqual([]);
});
