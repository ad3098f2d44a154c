// Webhooks of alerts that hang, redirect, fail for long or lead inside.

import { expect, setDefaultTimeout, test } from "bun:test";
import { MAIL, QUOTA, URGENT, endAlerts, startAlerts } from "../../support/api/alerts-kit.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../support/api/webhook-kit.ts";
import { HOSTNAME } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";

setDefaultTimeout(30_000);
endAlerts();

test("a webhook that hangs is given up after fifteen seconds, and holds up neither mail nor another webhook", async () => {
  await using other = startReceiver();
  const { pass, troubles, mailed, receiver, held } = await startAlerts([
    {},
    { to: [other.url] },
    { kind: "email", to: ["maria@example.com"] },
  ]);
  receiver.answer = () => new Promise<Response>(() => undefined);
  troubles.push(URGENT);
  // Its call is under way, so that nobody waits for the end of what alerts do.
  const { clock, pombo } = held;
  for (let passed = 0; passed < 3 * MINUTE && other.calls.length === 0; passed += 15 * SECOND) {
    clock.advance(15 * SECOND);
    for (let turn = 0; turn < 50; turn += 1) await new Promise<void>((next) => setImmediate(next));
  }
  await other.until(() => other.calls.length === 1);
  await receiver.until(() => receiver.calls.length === 1);
  await pombo.app.worker.idle();
  expect(mailed()).toEqual([`[problem] ${HOSTNAME}: Something is on fire`]);
  clock.advance(16 * SECOND);
  receiver.answer = () => new Response(null, { status: 204 });
  await pass(MINUTE);
  expect(receiver.calls).toHaveLength(2);
  expect(receiver.calls[1]?.headers["webhook-id"]).toBe(receiver.calls[0]?.headers["webhook-id"] ?? "");
});

test("a redirect is not followed, and others hear of the webhook that does not take alerts", async () => {
  await using elsewhere = startReceiver();
  const { pass, troubles, mailed, told, receiver, held } = await startAlerts([{}, MAIL]);
  receiver.answer = () => Response.redirect(elsewhere.url, 307);
  troubles.push(URGENT);
  await pass(10 * MINUTE);
  expect(elsewhere.calls).toEqual([]);
  expect(mailed()).toEqual([
    `[problem] ${HOSTNAME}: Something is on fire`,
    expect.stringContaining(`${HOSTNAME}: The webhook for alerts at 127.0.0.1`),
  ]);
  const { body } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(body.data.receivers[0]).toMatchObject({
    failure: expect.stringContaining("redirect"),
    waiting: expect.any(Number),
  });
  const before = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 200 });
  await pass(HOUR);
  const ended = expect.stringMatching(/^alert.ended alerts.webhook./);
  expect(told().slice(before)).toEqual(["alert.began test.urgent", ended]);
});

test("a webhook that failed for more than a week, and has nothing else to hear, is found to work again", async () => {
  const { pass, troubles, mailed, told, receiver } = await startAlerts([{}, MAIL]);
  receiver.answer = () => new Response(null, { status: 503 });
  troubles.push(QUOTA);
  await pass(10 * MINUTE);
  troubles.length = 0;
  await pass(9 * DAY, HOUR);
  const before = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await pass(3 * HOUR, MINUTE);
  expect(mailed().at(-1)).toContain("[ended]");
  expect(mailed().at(-1)).toContain("The webhook for alerts at 127.0.0.1");
  // Its own trouble was the call that showed it, and then comes its end.
  expect(told().slice(before)).toHaveLength(2);
});

test("an address inside is not called", async () => {
  const { pass, troubles, receiver, held } = await startAlerts([{}], {
    configure: (config) => void (config.webhooks.allowPrivateRanges = []),
  });
  troubles.push(URGENT);
  await pass(3 * MINUTE);
  expect(receiver.calls).toEqual([]);
  const { body } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(body.data.receivers[0].failure).toContain("a loopback address");
});

test("the secret path of a webhook is not repeated where its server does not know it", async () => {
  const { pass, troubles, receiver, held } = await startAlerts([{}]);
  receiver.answer = ({ path }) => new Response(`Cannot POST ${path}`, { status: 404 });
  troubles.push(QUOTA);
  await pass(10 * MINUTE);
  expect(receiver.calls.length).toBeGreaterThan(1);
  const { text } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(text).toContain("answered 404: Cannot POST …");
  expect(JSON.stringify([held.pombo.events, text])).not.toContain("/hook");
});
