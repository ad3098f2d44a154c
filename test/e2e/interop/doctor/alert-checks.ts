// Alerts, received by a Postfix and by a webhook receiver that verifies them with the library of Standard Webhooks; and
// the rules for Prometheus, by Prometheus's own tool.

import { Webhook } from "standardwebhooks";
import { join } from "node:path";
import type { Receiver } from "../../../support/fakes/receiver.ts";
import { isMissing, pathOf } from "../../../support/peers/packages.ts";
import { findPombo, type PomboApp } from "../../../support/peers/pombo.ts";
import { run } from "../../../support/peers/process.ts";
import type { Lines } from "./kit.ts";
import { MX_DOMAIN, type Servers } from "./world.ts";

export const ALERTS_TO = `ops@${MX_DOMAIN}`;
const MONITORING = join(import.meta.dir, "../../../../monitoring");

export async function checkAlerts(options: {
  app: PomboApp;
  receiver: Receiver;
  lines: Lines;
  servers: Servers;
}): Promise<void> {
  const { app, receiver, lines, servers } = options;
  const pombo = (...words: string[]) => run([...findPombo().command, ...words, "--config", app.configFile]);
  const tested = await pombo("alert", "test");
  lines.claim("alert test: all were taken", tested.exitCode === 0, () => tested.output);
  const log = servers.mx.log();
  lines.claim(
    "alert test: Postfix has the email",
    log.split("\n").some((line) => line.includes(`to=<${ALERTS_TO}>`) && line.includes("status=sent")),
    () => log.slice(-1000),
  );
  const secrets = await pombo("alert", "secret", "--json");
  const secret = /whsec_[A-Za-z0-9+/=]+/.exec(secrets.output)?.[0] ?? "";
  const [call] = receiver.calls;
  lines.claim("alert test: one call of the webhook", receiver.calls.length === 1, () => String(receiver.calls.length));
  const verify = (body: string): boolean => {
    try {
      new Webhook(secret).verify(body, call?.headers ?? {});
      return true;
    } catch {
      return false;
    }
  };
  lines.claim("alert test: standardwebhooks verifies the call", verify(call?.body ?? ""));
  lines.claim("alert test: and refuses an altered one", !verify(`${call?.body} `));

  if (isMissing({ program: "promtool", package: "prometheus" }))
    return lines.notRun("promtool: no package prometheus here");
  for (const [word, file] of [
    ["check", "prometheus-rules.yml"],
    ["test", "prometheus-rules.test.yml"],
  ] as const) {
    const { exitCode, output } = await run([pathOf("promtool"), word, "rules", join(MONITORING, file)]);
    lines.claim(`promtool ${word} rules`, exitCode === 0, () => output);
  }
}
