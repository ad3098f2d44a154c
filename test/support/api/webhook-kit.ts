import type { Config } from "../../../src/config/config.ts";
import type { Receiver } from "../fakes/receiver.ts";
import { startHeld } from "./kit.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const NOON = Date.UTC(2026, 5, 30, 12);

/** Receivers of tests listen on loopback, without TLS. */
export function allowLoopback(config: Config): void {
  config.webhooks.allowHttp = true;
  config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
}

/** An instance whose time stands still at NOON, with a webhook for everything that calls `receiver`. */
export async function startCalled(receiver: Receiver, keepMs = 30 * DAY) {
  const held = await startHeld(NOON, {
    configure(config) {
      allowLoopback(config);
      config.webhooks.retentionMs = keepMs;
    },
  });
  const { workspace } = held.pombo;
  const created = await workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const path = `/api/v1/webhooks/${created.body.data.id}`;
  return {
    ...held,
    path,
    secret: created.body.data.secret as string,
    idle: () => held.pombo.app.webhooks.worker.idle(),
    test: () => workspace.call("POST", `${path}/test`),
    shown: async () => (await workspace.call("GET", "/api/v1/webhooks")).body.data[0],
    deliveries: async () => (await workspace.call("GET", `${path}/deliveries?limit=100`)).body.data,
  };
}
