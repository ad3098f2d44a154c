// Mail that leaves through a SOCKS5 proxy: which egress it takes, what is recorded of it, and what becomes of it when
// the proxy breaks.

import { expect, test } from "bun:test";
import type { EgressConfig } from "../../../src/config/egress.ts";
import { DEFAULT_TIMEOUTS } from "../../../src/protocols/smtp/session/timeouts.ts";
import { startHeld } from "../../support/api/kit.ts";
import { NOON, recordOf, send, timelineOf } from "../../support/api/one-email.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import type { MxScript } from "../../support/fakes/mx.ts";
import { until } from "../../support/inbound/kit.ts";
import { type FakeSocks5, startSocks5 } from "../../support/fakes/socks5.ts";

function egress(proxy: Pick<FakeSocks5, "port">, changes: Partial<EgressConfig> = {}): EgressConfig {
  return {
    ...{ name: "lisbon", address: "203.0.113.9", hostname: "mail2.pombo.test", share: 1, domains: [] },
    ...{ proxy: { address: "127.0.0.1", port: proxy.port, username: null }, password: null, passwordFile: null },
    ...changes,
  };
}

const startWith = (egresses: EgressConfig[], mx: MxScript = {}) =>
  startInstance({ mx, configure: (config) => void (config.egress = egresses) });
/** Its time stands still. */
const startHeldWith = (egresses: EgressConfig[]) =>
  startHeld(NOON, { configure: (config) => void (config.egress = egresses) });

async function troublesOf(pombo: Instance): Promise<string[]> {
  const { body } = await pombo.workspace.call("GET", "/ready");
  return body.issues.map(({ component }: Json) => component);
}

test("mail leaves by the proxy under the egress's own name, and its timeline says so", async () => {
  await using proxy = await startSocks5();
  await using pombo = await startWith([egress(proxy)], { tls: "good" });
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered" });
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({
    tls: expect.stringMatching(/^TLS/),
    egress: "lisbon",
    host: "mx.example.com",
    address: "127.0.0.1",
  });
  expect(proxy.targets).toEqual([{ address: "127.0.0.1", port: pombo.mx.port }]);
  expect(pombo.mx.connections[0]?.commands[0]).toBe("EHLO mail2.pombo.test");
});

test("a domain that no egress takes leaves as before", async () => {
  await using proxy = await startSocks5();
  await using pombo = await startWith([egress(proxy, { domains: ["outra.test"] })]);
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({ egress: null, outcome: "delivered" });
  expect(proxy.targets).toEqual([]);
});

test("while the proxy does not work mail waits without an attempt, the operator is told, and all goes on by itself", async () => {
  await using proxy = await startSocks5({ says: "what?" });
  await using held = await startHeldWith([egress(proxy)]);
  const { pombo, clock } = held;
  const ids = [await send(pombo), await send(pombo, { to: "joao@example.com" })];
  await pombo.app.worker.idle();
  expect(await troublesOf(pombo)).toEqual(["egress"]);
  for (const id of ids) expect(await recordOf(pombo, id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(pombo.events.filter(({ name }) => name === "site.blocked")).toEqual([]);
  proxy.script = {};
  clock.advance(4_999);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  // One message tries, the other asks again a second later.
  for (let nth = 0; nth < 3; nth += 1) await held.advance(1_000);
  await pombo.app.worker.idle();
  for (const id of ids)
    expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
  expect(await troublesOf(pombo)).toEqual([]);
});

test("other mail goes on while one proxy is mute, whose own has lost no attempt", async () => {
  await using proxy = await startSocks5({ isMute: true });
  await using held = await startHeldWith([egress(proxy, { domains: ["loja.test"] })]);
  const { pombo, clock } = held;
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "banco.test");
  const id = await send(pombo);
  const body = pombo.email({ from: "banco@banco.test" });
  expect((await other.call("POST", "/api/v1/emails", { body })).status).toBe(202);
  await until("the other's message", () => pombo.mx.messages.length === 1);
  expect(await recordOf(pombo, id)).toMatchObject({ status: "sending" });
  clock.advance(DEFAULT_TIMEOUTS.connectMs);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "queued", attempts: 0 });
  proxy.script = {};
  clock.advance(5_000);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", attempts: 1 });
});

test("what the proxy says of a server is that server's word: the attempt counts", async () => {
  await using proxy = await startSocks5({ reply: 5 });
  await using pombo = await startWith([egress(proxy)]);
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivery_delayed", attempts: 1 });
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({
    egress: "lisbon",
    stage: "connect",
    reply: "connection refused, says the proxy",
  });
});

test("a server that the proxy's rules forbid waits alone", async () => {
  await using proxy = await startSocks5({ reply: 2 });
  await using pombo = await startWith([egress(proxy)]);
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect(pombo.events.filter(({ name }) => name === "egress.refused")).toHaveLength(1);
  // The operator finds it by the recipient's domain, whatever way it takes.
  for (const [to, found] of [
    ["example.com", 1],
    ["example.com via lisbon", 1],
    ["example.co", 0],
  ] as const) {
    const path = `/api/v1/operator/queue/messages?to=${encodeURIComponent(to)}`;
    expect([to, (await pombo.operator.call("GET", path)).body.data.length]).toEqual([to, found]);
  }
  expect(await recordOf(pombo, id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(await troublesOf(pombo)).toEqual(["egress"]);
});

test("a proxy that dies after the dot leaves a doubt, marked and sent again", async () => {
  await using proxy = await startSocks5();
  let cuts = 0;
  await using pombo = await startWith([egress(proxy)], {
    dot: () => {
      cuts += 1;
      if (cuts === 1) proxy.cut();
      return "250 2.0.0 Ok";
    },
  });
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true });
});

test("a proxy that dies before the dot costs an attempt and no doubt", async () => {
  await using proxy = await startSocks5();
  await using pombo = await startWith([egress(proxy)], {
    rcpt: () => {
      proxy.cut();
      return "250 2.1.5 Ok";
    },
  });
  const id = await send(pombo);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({
    status: "delivery_delayed",
    possibleDuplicate: false,
    attempts: 1,
  });
});
