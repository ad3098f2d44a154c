// Alerts of a whole instance, whose time stands still: from what is wrong to the email, the call and the SMS that say so.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Config } from "../../../src/config/config.ts";
import type { Trouble } from "../../../src/modules/alerts/index.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { allowLoopback, DAY, HOUR, MINUTE, NOON, SECOND } from "../../support/api/webhook-kit.ts";
import { HOSTNAME, type Json } from "../../support/fakes/instance.ts";
import { type Receiver, startReceiver, verify } from "../../support/fakes/receiver.ts";

setDefaultTimeout(30_000);

const DNS: Trouble = {
  id: "test.dns",
  level: "problem",
  what: "DNS does not answer.",
  step: "Look at it.",
  via: "mail",
};
const QUOTA: Trouble = { id: "test.quota", level: "warning", what: "A quota is used up.", step: null };

interface Options {
  startMs?: number;
  configure?: (config: Config, receiver: Receiver) => void;
}

interface World extends AsyncDisposable {
  held: HeldInstance;
  receiver: Receiver;
  /** What is wrong. */
  troubles: Trouble[];
  secret(): Promise<string>;
  /** Moves the time on, with a look every fifteen seconds. */
  pass(ms: number): Promise<void>;
  /** The texts that the webhook was told. */
  told(): string[];
  /** The subjects of the emails that the recipient got. */
  mailed(): string[];
  restart(): Promise<void>;
}

let world: World | null = null;
afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = null;
});

async function start(
  alerts: Partial<Config["alerts"][number]>[],
  { startMs = NOON, configure = () => undefined }: Options = {},
): Promise<World> {
  const receiver = startReceiver();
  const troubles: Trouble[] = [];
  const held = await startHeld(startMs, {
    configure(config) {
      allowLoopback(config);
      config.alerts = alerts.map((alert) => ({
        kind: "webhook" as const,
        to: [receiver.url],
        least: "warning" as const,
        from: null,
        route: null,
        ...alert,
      }));
      configure(config, receiver);
    },
  });
  const { pombo, clock } = held;
  pombo.app.alerts.addSource(() => world?.troubles ?? []);
  const made: World = {
    held,
    receiver,
    troubles,
    async secret() {
      const { body } = await pombo.operator.call("GET", "/api/v1/operator/alerts/secrets");
      return body.data.webhooks[0].secret;
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= 15 * SECOND) {
        clock.advance(Math.min(left, 15 * SECOND));
        await pombo.app.alerts.idle();
        await pombo.app.worker.idle();
      }
    },
    told: () => receiver.calls.map(({ event }) => `${event.event} ${event.data.alerts.map((each: Json) => each.id)}`),
    mailed: () =>
      pombo.mx.messages.map(({ stuffed }) => /^Subject: (.*)\r$/m.exec(stuffed.toString())?.[1] ?? "(none)"),
    async restart() {
      await held.restart();
      pombo.app.alerts.addSource(() => world?.troubles ?? []);
    },
    async [Symbol.asyncDispose]() {
      await held[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
  world = made;
  await pombo.app.alerts.idle();
  return made;
}

function showMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

test("a trouble is told after two minutes, once a day again, and its end; the call is a Standard Webhook with a text for chats", async () => {
  // The independent library compares with the machine's clock.
  const startMs = Date.now() - 2 * MINUTE;
  const { pass, troubles, told, receiver, secret, held } = await start([{}], { startMs });
  troubles.push(DNS);
  await pass(2 * MINUTE);
  expect(told()).toEqual([]);
  await pass(MINUTE);
  expect(told()).toEqual(["alert.began test.dns"]);
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("no call");
  verify(call, await secret());
  expect(call.event.text).toBe(
    `pombo at ${HOSTNAME}\n\nProblem since ${showMinute(startMs)} UTC:\nDNS does not answer.\nWhat to do: Look at it.`,
  );
  expect(call.event).toMatchObject({ content: call.event.text, allowed_mentions: { parse: [] } });
  // Mattermost refuses a type that it does not know.
  expect(call.event.type).toBeUndefined();
  await pass(DAY - 5 * MINUTE);
  expect(told()).toHaveLength(1);
  await pass(6 * MINUTE);
  expect(told()).toEqual(["alert.began test.dns", "alert.reminded test.dns"]);
  troubles.length = 0;
  await pass(3 * MINUTE);
  expect(told().at(-1)).toBe("alert.ended test.dns");
  await pass(HOUR);
  expect(told()).toHaveLength(3);
  expect(held.pombo.bugs).toEqual([]);
});

test("an email goes from pombo at the host name, with a return path there; what is wrong with mail waits until mail works", async () => {
  const { pass, troubles, mailed, held } = await start([{ kind: "email", to: ["maria@example.com"] }]);
  troubles.push(QUOTA);
  await pass(3 * MINUTE);
  expect(mailed()).toEqual([`[warning] ${HOSTNAME}: A quota is used up`]);
  const [message] = held.pombo.mx.messages;
  expect(message?.from).toMatch(/^b\+\w+@mail\.pombo\.test$/);
  expect(message?.stuffed.toString()).toContain(`From: pombo <pombo@${HOSTNAME}>\r\n`);
  troubles.push(DNS);
  await pass(10 * MINUTE);
  expect(mailed()).toHaveLength(1);
  troubles.pop();
  await pass(10 * MINUTE);
  expect(mailed().slice(1)).toEqual([`[ended] ${HOSTNAME}: DNS does not answer`]);
  expect(held.pombo.bugs).toEqual([]);
});
