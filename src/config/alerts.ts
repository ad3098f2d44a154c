// `[[alerts]]` and `[alerts_heartbeat]`: who is told of what is wrong with the instance.

import { type Static, Type } from "@sinclair/typebox";
import { choice, list, optional, text } from "./fields.ts";
import { TEXT_FORMATS } from "./formats.ts";
import { type ConfigError, showText } from "./toml.ts";

const RECEIVERS_MAX = 10;

export const ALERTS_MAX = 20;

export const AlertSchema = Type.Object({
  kind: choice(["email", "webhook", "sms"], "How they are told.", { default: "email" }),
  to: list(
    text("alert_receiver", "One receiver."),
    [1, RECEIVERS_MAX],
    "Addresses or numbers; for a webhook its https address, which others must not see.",
    [],
  ),
  least: choice(
    ["warning", "problem"],
    "What they are told of: warning = everything, problem = only what keeps messages from their recipients.",
    { default: "warning" },
  ),
  from: optional("alert_sender", "For an SMS the sender id, which the route's provider must know."),
  route: optional("alert_route", "For an SMS the [[sms.routes]] that it goes by; it takes no credits."),
});

export const HeartbeatSchema = Type.Object({
  url: optional(
    "alert_url",
    "Asked for (GET) every minute while there is no problem, so that a watchman outside hears when it stops; empty = none.",
  ),
});

/** One `[[alerts]]` as the file has it; null = not given. */
export type AlertConfig = Static<typeof AlertSchema>;

interface Beside {
  routes: readonly { name: string | undefined }[];
  allowHttp: boolean;
}

/** The tables that this is about. A key may be undefined here: its own error was recorded. */
interface AlertTables {
  alerts: AlertConfig[] | undefined;
  alertsHeartbeat: Static<typeof HeartbeatSchema>;
  sms: { routes: Beside["routes"] | undefined };
  webhooks: { allowHttp: boolean };
}

/** Checks keys against each other. */
export function checkAlerts({ alerts, alertsHeartbeat, sms, webhooks }: AlertTables, errors: ConfigError[]): void {
  const beside = { routes: sms.routes ?? [], allowHttp: webhooks.allowHttp };
  for (const [at, alert] of (alerts ?? []).entries()) {
    const key = `alerts[${at}]`;
    checkReceivers(alert, key, beside, errors);
    if (alert.kind === "sms") checkSms(alert, key, beside, errors);
    else if (alert.kind !== undefined) checkNoSms(alert, key, errors);
  }
  const { url } = alertsHeartbeat;
  if (typeof url === "string" && !isUrl(url, beside.allowHttp))
    errors.push({ key: "alerts_heartbeat.url", found: "an address without https", expected: URL_EXPECTED });
}

const URL_EXPECTED = "an address that begins with https://, without a user name, a password and #";
const NUMBER = /^\+[1-9]\d{7,14}$/;

function checkReceivers({ kind, to }: AlertConfig, key: string, { allowHttp }: Beside, errors: ConfigError[]): void {
  for (const [nth, receiver] of (to ?? []).entries()) {
    if (receiver === undefined) continue;
    const place = `${key}.to[${nth}]`;
    if (kind === "email" && typeof TEXT_FORMATS.email_address.read(receiver) !== "string")
      errors.push({
        key: place,
        found: showText(receiver),
        expected: 'an email address such as "me@example.org", as kind is "email"',
      });
    if (kind === "sms" && !NUMBER.test(receiver))
      errors.push({
        key: place,
        found: showText(receiver),
        expected: 'a number with + and country code such as "+258841234567", as kind is "sms"',
      });
    // The address is a secret: anybody who knows it can write to the chat behind it.
    if (kind === "webhook" && !isUrl(receiver, allowHttp))
      errors.push({ key: place, found: "a text that is not shown", expected: `${URL_EXPECTED}, as kind is "webhook"` });
  }
}

function checkSms({ from, route }: AlertConfig, key: string, { routes }: Beside, errors: ConfigError[]): void {
  if (from === null) errors.push({ key: `${key}.from`, found: "nothing", expected: 'a sender id, as kind is "sms"' });
  const names = routes.flatMap(({ name }) => name ?? []);
  if (route === undefined || (route !== null && names.includes(route))) return;
  const expected =
    names.length === 0
      ? "the name of an [[sms.routes]], and there is none"
      : `the name of an [[sms.routes]], one of: ${names.join(", ")}`;
  errors.push({ key: `${key}.route`, found: route === null ? "nothing" : showText(route), expected });
}

function checkNoSms({ kind, from, route }: AlertConfig, key: string, errors: ConfigError[]): void {
  for (const [name, value] of Object.entries({ from, route })) {
    if (value !== null && value !== undefined)
      errors.push({ key: `${key}.${name}`, found: showText(value), expected: `nothing, as kind is "${kind}"` });
  }
}

function isUrl(given: string, allowHttp: boolean): boolean {
  const url = URL.parse(given);
  if (url?.username !== "" || url.password !== "" || given.includes("#")) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && allowHttp);
}
