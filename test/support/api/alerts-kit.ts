// An instance with alerts, whose time stands still, and what is wrong with it.

import { afterEach } from "bun:test";
import type { Config } from "../../../src/config/config.ts";
import type { Trouble } from "../../../src/modules/alerts/index.ts";
import { type Json } from "../fakes/instance.ts";
import { type Receiver, startReceiver } from "../fakes/receiver.ts";
import { type HeldInstance, startHeld } from "./kit.ts";
import { allowLoopback, NOON, SECOND } from "./webhook-kit.ts";

export const DNS: Trouble = {
  id: "test.dns",
  level: "problem",
  what: "DNS does not answer.",
  step: "Look at it.",
  via: "mail",
};
export const MAIL = { kind: "email" as const, to: ["maria@example.com"] };
export const URGENT: Trouble = { id: "test.urgent", level: "problem", what: "Something is on fire.", step: null };
export const QUOTA: Trouble = { id: "test.quota", level: "warning", what: "A quota is used up.", step: null };

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
  /** Moves the time on, with a look at each step. */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** The texts that the webhook was told. */
  told(): string[];
  /** The subjects of the emails that the recipient got. */
  mailed(): string[];
  restart(): Promise<void>;
}

let world: World | null = null;

/** What a test has started ends with it. */
export function endAlerts(): void {
  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
    world = null;
  });
}

export async function startAlerts(
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
    async pass(ms, stepMs = 15 * SECOND) {
      for (let left = ms; left > 0; left -= stepMs) {
        clock.advance(Math.min(left, stepMs));
        await pombo.app.alerts.idle();
        await pombo.app.worker.idle();
        // What nobody here waits for, such as the disk guard's tries.
        await new Promise<void>((next) => setImmediate(next));
      }
    },
    told: () => receiver.calls.map(({ event }) => `${event.event} ${event.data.alerts.map((each: Json) => each.id)}`),
    mailed: () =>
      pombo.mx.messages.map(({ stuffed }) => {
        const unfolded = stuffed.toString().replaceAll(/\r\n(?=[ \t])/g, "");
        return /^Subject: (.*)\r$/m.exec(unfolded)?.[1] ?? "(none)";
      }),
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
