import { expect, test } from "bun:test";
import { formatConfigErrors, parseConfig } from "../../../src/config/config.ts";

const HEAD = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';
const ROUTE = `[[sms.routes]]
name = "vodacom"
[[sms.routes.links]]
name = "v1"
host = "smsc.example.net"
system_id = "pombo"
password = "x"
`;

function read(text: string) {
  return parseConfig(HEAD + text, { file: "pombo.toml", env: {} });
}

function errorsOf(text: string): string[] {
  const result = read(text);
  return result.kind === "config" ? [] : formatConfigErrors("f", result.errors).split("\n");
}

test("nobody is told unless the file says so", () => {
  const result = read("");
  expect(result).toMatchObject({ kind: "config", config: { alerts: [], alertsHeartbeat: { url: null } } });
});

test("each kind takes its own receivers", () => {
  const result = read(`[[alerts]]
to = ["me@example.org", "you@example.org"]
[[alerts]]
kind = "webhook"
to = ["https://hooks.example.com/services/T0/B0/x?y=1"]
least = "problem"
[[alerts]]
kind = "sms"
to = ["+258841234567"]
from = "pombo"
route = "vodacom"
[alerts_heartbeat]
url = "https://watch.example.net/ping/1"
${ROUTE}`);
  expect(result).toMatchObject({
    kind: "config",
    config: {
      alerts: [
        { kind: "email", to: ["me@example.org", "you@example.org"], least: "warning", from: null, route: null },
        { kind: "webhook", to: ["https://hooks.example.com/services/T0/B0/x?y=1"], least: "problem" },
        { kind: "sms", to: ["+258841234567"], from: "pombo", route: "vodacom" },
      ],
      alertsHeartbeat: { url: "https://watch.example.net/ping/1" },
    },
  });
});

for (const [name, text, expected] of [
  ["nobody to tell", "[[alerts]]\n", /alerts\[0\]\.to: .*1 to 10 values/],
  ["a number for an email", '[[alerts]]\nto = ["+258841234567"]\n', /alerts\[0\]\.to\[0\]: .*an email address/],
  ["a webhook without TLS", '[[alerts]]\nkind = "webhook"\nto = ["http://a.example/x"]\n', /begins with https/],
  [
    "a webhook with a password",
    '[[alerts]]\nkind = "webhook"\nto = ["https://u:p@a.example/"]\n',
    /without a user name/,
  ],
  [
    "an SMS without a sender",
    `[[alerts]]\nkind = "sms"\nto = ["+258841234567"]\nroute = "vodacom"\n${ROUTE}`,
    /\.from: found nothing/,
  ],
  [
    "an SMS by no route",
    '[[alerts]]\nkind = "sms"\nto = ["+258841234567"]\nfrom = "pombo"\n',
    /\.route: found nothing.*there is none/,
  ],
  [
    "an SMS by a route that is not there",
    `[[alerts]]\nkind = "sms"\nto = ["+258841234567"]\nfrom = "pombo"\nroute = "tmcel"\n${ROUTE}`,
    /\.route: found "tmcel".*vodacom/,
  ],
  [
    "an email by a route",
    '[[alerts]]\nto = ["me@example.org"]\nroute = "vodacom"\n',
    /\.route: .*nothing, as kind is "email"/,
  ],
  ["a heartbeat without TLS", '[alerts_heartbeat]\nurl = "http://a.example/"\n', /alerts_heartbeat\.url/],
] as const)
  test(`${name} is an error`, () => {
    expect(errorsOf(text)).toEqual([expect.stringMatching(expected)]);
  });

test("no error shows the address of a webhook, which is a secret", () => {
  expect(errorsOf('[[alerts]]\nkind = "webhook"\nto = ["http://hooks.example.com/T0/s3cret"]\n').join()).not.toContain(
    "s3cret",
  );
});
