// Alerts: who runs this instance is told when something begins to be wrong, and when it ends. The notifier asks its sources
// what is wrong, decides of what to tell (watch.ts), and sends it by email, webhook or SMS.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { Resolver } from "../../protocols/dns/lookup.ts";
import type { QueueSystemMail } from "../emails/system-mail.ts";
import type { SendSystemSms } from "../sms/system-sms.ts";
import { createAddressLookup } from "../webhooks/delivery/address-lookup.ts";
import { createCaller } from "../webhooks/delivery/call.ts";
import { buildTargetRules } from "../webhooks/index.ts";
import { formatSecret } from "../webhooks/sign.ts";
import { createFailedKeys, type FailedKeys } from "./failed-keys.ts";
import { createHeartbeat, type Heartbeat } from "./heartbeat.ts";
import { Notifier } from "./notifier.ts";
import { alertRoutes } from "./routes.ts";
import type { AlertStatus } from "./schema.ts";
import type { AlertStore } from "./store.ts";
import { brokenId, isWayOpen, KINDS, listTargets, type Target } from "./targets.ts";
import { createTestRun, type TestRunDeps } from "./test-run.ts";
import type { Trouble, TroubleSource } from "./trouble.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";

export type { Trouble, TroubleSource, Way } from "./trouble.ts";

export interface AlertDeps {
  keyring: Keyring;
  /** Of its own kind: receivers whose DNS is mute must not take the places of the mail's lookups. */
  resolver: Pick<Resolver, "a" | "aaaa">;
  queueMail: QueueSystemMail;
  sendSms: SendSystemSms;
}

export interface Alerts extends Required<Pick<Component, "start" | "stop">> {
  /** From now on it is asked what is wrong. Before start(). */
  addSource(source: TroubleSource): void;
  failedKeys: Pick<FailedKeys, "note">;
  operatorRoutes(): AnyElysia[];
  /** Resolves when nothing is being looked at, called or beaten. */
  idle(): Promise<void>;
}

interface AlertStores {
  alerts: AlertStore;
  emails: TestRunDeps["emails"];
  sms: { messages: TestRunDeps["messages"] };
}

/** Nothing begins before start(). */
export function createAlerts(context: Context, stores: AlertStores, config: Config, deps: AlertDeps): Alerts {
  const { clock } = context;
  const { hostname } = config;
  const store = stores.alerts;
  const targets = listTargets(config.alerts);
  const caller = createCaller(context);
  const calls = { caller, look: createAddressLookup(deps.resolver, clock), rules: buildTargetRules(config) };
  const secretOf = (target: Target) => deps.keyring.hmacKey(`alert ${target.key}`);
  const stopping = new AbortController();
  const sources: TroubleSource[] = [];
  const outboxes = targets
    .filter(({ way }) => way === "webhook")
    .map((target) => {
      const isOpen = () => isWayOpen(target, notifier.present);
      return new WebhookOutbox({ ...context, ...calls, store, target, hostname, secret: secretOf(target), isOpen });
    });
  const notifier: Notifier = new Notifier({ ...context, ...deps, store, targets, sources, outboxes, hostname });
  const failedKeys = createFailedKeys(context.steady);
  sources.push(
    () => outboxes.flatMap(findBroken),
    () => failedKeys.find(),
  );
  const { url } = config.alertsHeartbeat;
  const heartbeat = url === null ? null : createHeartbeat({ ...context, ...calls, url, isWell: () => notifier.isWell });
  const test = createTestRun({
    ...context,
    ...calls,
    targets,
    hostname,
    secretOf,
    send: (...given) => notifier.send(...given),
    emails: stores.emails,
    messages: stores.sms.messages,
    stopping: stopping.signal,
  });
  const secrets = () => ({
    webhooks: outboxes.map(({ target }) => ({ to: target.shown, secret: formatSecret(secretOf(target)) })),
  });
  const tasks = [notifier, ...outboxes, ...(heartbeat === null ? [] : [heartbeat])];
  return {
    failedKeys,
    addSource: (source) => void sources.push(source),
    operatorRoutes() {
      const status = () => buildStatus({ store, targets, outboxes, notifier, heartbeat, url });
      return [alertRoutes({ status, secrets, beginTest: () => test.begin(), test: () => test.show() })];
    },
    async idle() {
      for (const task of tasks) await task.idle();
    },
    start() {
      if (targets.length === 0 && heartbeat === null) return;
      for (const task of tasks) task.start();
    },
    async stop() {
      stopping.abort();
      await Promise.all(tasks.map((task) => task.stop()));
      caller.close();
    },
  };
}

interface StatusSources {
  store: AlertStore;
  targets: readonly Target[];
  outboxes: readonly WebhookOutbox[];
  notifier: Notifier;
  heartbeat: Heartbeat | null;
  url: string | null;
}

function buildStatus({ store, targets, outboxes, notifier, heartbeat, url }: StatusSources): typeof AlertStatus.static {
  const pending = store.countPending();
  return {
    receivers: targets.map(({ key, way, shown, least }) => ({
      kind: KINDS[way],
      to: shown,
      least,
      waiting: pending.get(key) ?? 0,
      failure: outboxes.find(({ target }) => target.key === key)?.failure ?? null,
    })),
    troubles: notifier.lasting.map(({ id, level, what, step, beganAt }) => {
      return { id, level, what, step, since: toIsoTime(beganAt) };
    }),
    heartbeat: {
      url: url === null ? null : (URL.parse(url)?.host ?? null),
      isBeating: url !== null && notifier.isWell,
      failure: heartbeat?.failure ?? null,
    },
  };
}

/** Others hear of a webhook that does not take alerts. */
function findBroken(outbox: WebhookOutbox): Trouble[] {
  if (!outbox.isBroken) return [];
  const { shown } = outbox.target;
  return [
    {
      id: brokenId(outbox.target),
      level: "warning",
      what: `The webhook for alerts at ${shown} does not take them: ${outbox.failure ?? ""}.`,
      step: "Look at its address in the configuration ([[alerts]] to) and at the receiver; pombo alert test tries it.",
    },
  ];
}
