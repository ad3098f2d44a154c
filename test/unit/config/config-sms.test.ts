import { expect, test } from "bun:test";
import { type Config, formatConfigErrors, parseConfig } from "../../../src/config/config.ts";
import type { ConfigError } from "../../../src/config/toml.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

type Environment = Record<string, string>;

function configOf(text: string, env: Environment = {}): Config["sms"] {
  const result = parseConfig(REQUIRED + text, { file: "pombo.toml", env });
  if (result.kind === "errors") throw new Error(formatConfigErrors("pombo.toml", result.errors));
  return result.config.sms;
}

function mistakesOf(text: string, env: Environment = {}): ConfigError[] {
  const result = parseConfig(REQUIRED + text, { file: "pombo.toml", env });
  return result.kind === "errors" ? result.errors : [];
}

function route(name: string, lines = "", links: string[] = [link(`${name}-1`)]): string {
  return `[[sms.routes]]\nname = "${name}"\n${lines}\n${links.join("")}`;
}

function link(name: string, lines = 'password = "secret"'): string {
  return `[[sms.routes.links]]\nname = "${name}"\nhost = "smsc.example.net"\nsystem_id = "pombo"\n${lines}\n`;
}

test("without [[sms.routes]] there is none, and the numbers allowed are the interface's", () => {
  expect(configOf("")).toEqual({
    prefixes: ["25882", "25883", "25884", "25885", "25886", "25887"],
    otpLifetimeMs: 600_000,
    transactionalLifetimeMs: 86_400_000,
    bulkLifetimeMs: 86_400_000,
    lostResponseWaitMs: 120_000,
    receiptGraceMs: 3_600_000,
    helpText: null,
    routes: [],
  });
});

test("a route says as little as its name and a link, and the rest is the common practice", () => {
  const [only] = configOf(route("aggregator")).routes;
  expect(only).toMatchObject({
    name: "aggregator",
    prefixes: [],
    failover: [],
    failoverAfterMs: 30_000,
    segmentation: "udh8",
    shiftTables: "off",
    defaultCharset: "gsm7",
    alphanumericTonNpi: { ton: 5, npi: 0 },
    numberTonNpi: { ton: 1, npi: 1 },
    shortCodeTonNpi: { ton: 3, npi: 0 },
    receipts: "each",
    messageIdFormat: "auto",
    validity: "relative",
    onLostResponse: "auto",
    senders: [],
    statuses: [],
    errors: [],
  });
  expect(only?.links).toEqual([
    {
      name: "aggregator-1",
      host: "smsc.example.net",
      port: 2775,
      tls: "verified",
      tlsName: null,
      caFile: null,
      systemId: "pombo",
      password: "secret",
      passwordFile: null,
      systemType: "",
      bind: "transceiver",
      window: 10,
      rate: 50,
      responseTimeoutMs: 30_000,
    },
  ]);
});

test("the operators of Mozambique, with an aggregator for the others that stands in for both", () => {
  const text =
    route("vodacom", 'prefixes = ["25884", "25885"]\nfailover = ["aggregator"]', [
      link("vodacom-1", 'password = "a"\ntls = "none"\nbind = "pair"'),
      link("vodacom-2", 'password = "b"\ntls = "none"\nrate = 100\nwindow = 50'),
      '[[sms.routes.statuses]]\ncode = "0x0000040b"\naction = "retry"\ncategory = "throttled"\n',
      '[[sms.routes.errors]]\ncode = "069"\ncategory = "absent_subscriber"\n',
    ]) +
    route("tmcel", 'prefixes = ["25882", "25883"]\nfailover = ["aggregator"]') +
    route("aggregator", 'segmentation = "sar"\nalphanumeric_ton_npi = "5/1"');
  const { routes } = configOf(text);
  expect(routes.map(({ name, links }) => [name, links.length])).toEqual([
    ["vodacom", 2],
    ["tmcel", 1],
    ["aggregator", 1],
  ]);
  expect(routes[0]?.statuses).toEqual([{ code: 0x40b, action: "retry", category: "throttled" }]);
  expect(routes[0]?.errors).toEqual([{ code: "069", category: "absent_subscriber" }]);
  expect(routes[2]?.alphanumericTonNpi).toEqual({ ton: 5, npi: 1 });
});

test("a sender id has one other name on a route", () => {
  const named = (name: string, as: string) => `[[sms.routes.senders]]\nname = "${name}"\nas = "${as}"\n`;
  const [only] = configOf(route("a", "", [link("a-1"), named("Loja", "LOJA-MZ"), named("84000", "84111")])).routes;
  expect(only?.senders).toEqual([
    { name: "Loja", as: "LOJA-MZ" },
    { name: "84000", as: "84111" },
  ]);
  for (const wrong of [named("Loja", "A loja do lado"), named("Loja", ""), named("Loja", "A") + named("Loja", "B")])
    expect(mistakesOf(route("a", "", [link("a-1"), wrong]))).toHaveLength(1);
});

test("one link's password may come from the environment", () => {
  const env = { POMBO_SMPP_PASSWORD: "from outside" };
  const [only] = configOf(route("a", "", [link("a-1", ""), link("a-2")]), env).routes;
  expect(only?.links.map(({ password }) => password)).toEqual(["from outside", "secret"]);
  expect(mistakesOf(route("a", "", [link("a-1", ""), link("a-2", "")]), env)).toEqual([
    {
      key: "environment variable POMBO_SMPP_PASSWORD",
      found: "2 links without a password",
      expected: "at most one link without a password; give the others a password_file",
    },
  ]);
});

test("other countries are configuration: with or without the length of their numbers", () => {
  const prefixes = (text: string) => configOf(`[sms]\nprefixes = [${text}]`).prefixes;
  expect(prefixes('"+3519", "+5511"')).toEqual(["3519", "5511"]);
  expect(prefixes('"+3519xxxxxxxx", "+55xx9xxxxxxxx"')).toEqual(["3519xxxxxxxx", "55xx9xxxxxxxx"]);
  expect(prefixes('"25884", "+25885", "+35191", "+35192"')).toEqual(["25884", "25885", "35191", "35192"]);
  // Landlines, and mobiles with their ninth digit.
  expect(prefixes('"+55xxxxxxxxxx", "+55xxxxxxxxxxx"')).toHaveLength(2);
  const text = `[sms]\nprefixes = ["+3519xxxxxxxx", "+55xx9xxxxxxxx"]\n${route("a", 'prefixes = ["+35191", "+5511"]')}`;
  expect(configOf(text).routes[0]?.prefixes).toEqual(["35191", "5511"]);
});

for (const bad of [
  "3519",
  "00351",
  "+0351",
  "+",
  "",
  "+351 9",
  "+3519X",
  "+3519xxx",
  "+3519xxxxxxxxxxxx",
  "+1234567890123456",
  "+258",
  "+25821",
  "+25884xxxxxxxx",
  "+25884xxxxxx",
  "+2588412345678",
  "+x",
]) {
  test(`prefixes = ["${bad}"] is refused, with what it must be`, () => {
    const errors = mistakesOf(`[sms]\nprefixes = ["${bad}"]`);
    expect(errors.map(({ key, found }) => [key, found])).toEqual([["sms.prefixes[0]", `"${bad}"`]]);
    expect(errors[0]?.expected).toContain('"+3519xxxxxxxx", 8 to 15 digits');
  });
}

// Each row: the text, where the mistake is, what was found, and a part of what is expected.
const MISTAKES: [text: string, key: string, found: string, expected: string][] = [
  ['[sms]\nprefixes = ["84"]', "sms.prefixes[0]", '"84"', 'with + and country code, such as "+25884"'],
  ["[sms]\nprefixes = []", "sms.prefixes", "an empty list", "a list of 1 to 200"],
  ['[sms]\nhelp_text = "a\\nb"', "sms.help_text", '"a\\nb"', "without control characters"],
  [route("Vodacom", "", [link("a")]), "sms.routes[0].name", '"Vodacom"', "lower-case letters"],
  [route("a") + route("a", 'prefixes = ["25884"]', [link("b")]), "sms.routes[1].name", '"a"', "sms.routes[0].name"],
  [route("a", "", []), "sms.routes[0].links", "none", "[[sms.routes.links]]"],
  [route("a") + route("b"), "sms.routes[1].prefixes", "none", "sms.routes[0] has none as well"],
  [route("a", 'prefixes = ["25884", "25884"]'), "sms.routes[0].prefixes[1]", '"25884"', "sms.routes[0].prefixes[0]"],
  [route("a", 'prefixes = ["25889"]'), "sms.routes[0].prefixes[0]", '"25889"', "that sms.prefixes allows (+25882, "],
  [route("a", 'prefixes = ["+3519xxxxxxxx"]'), "sms.routes[0].prefixes[0]", '"+3519xxxxxxxx"', '"+3519"'],
  [
    `[sms]\nprefixes = ["+55xx9xxxxxxxx"]\n${route("a", 'prefixes = ["+55113"]')}`,
    "sms.routes[0].prefixes[0]",
    '"55113"',
    "that sms.prefixes allows (+55xx9xxxxxxxx)",
  ],
  ['[sms]\nprefixes = ["+351", "+3519"]', "sms.prefixes[1]", '"+3519"', "sms.prefixes[0] (+351) allows these too"],
  ['[sms]\nprefixes = ["+3519xxxxxxxx", "+3519"]', "sms.prefixes[0]", '"+3519xxxxxxxx"', "sms.prefixes[1] (+3519)"],
  ['[sms]\nprefixes = ["25884", "+25884"]', "sms.prefixes[1]", '"+25884"', "sms.prefixes[0] (+25884)"],
  ['[sms]\nprefixes = ["+5511xxxxxxxxx", "+55xxxxxxxxxxx"]', "sms.prefixes[0]", '"+5511xxxxxxxxx"', "sms.prefixes[1]"],
  [route("a", 'failover = ["b"]'), "sms.routes[0].failover[0]", '"b"', "another [[sms.routes]]"],
  [route("a", 'failover = ["a"]'), "sms.routes[0].failover[0]", '"a"', "another [[sms.routes]]"],
  [
    route("a", 'prefixes = ["25884"]\nfailover = ["b"]') + route("b", 'segmentation = "udh16"'),
    "sms.routes[0].failover[0]",
    '"b"',
    "cuts long texts as this one does",
  ],
  [route("a", 'alphanumeric_ton_npi = "7/0"'), "sms.routes[0].alphanumeric_ton_npi", '"7/0"', '"1/1"'],
  [
    route("a", "", [link("a-1"), link("a-1")]),
    "sms.routes[0].links[1].name",
    '"a-1"',
    "sms.routes[0].links[0].name is the same",
  ],
  [route("a", "", [link("a-1", "")]), "sms.routes[0].links[0].password", "nothing", "POMBO_SMPP_PASSWORD"],
  [
    route("a", "", [link("a-1", 'password = "x"\npassword_file = "/x"')]),
    "sms.routes[0].links[0].password_file",
    "password as well",
    "one of the two",
  ],
  [
    route("a", "", [link("a-1", "password = 5")]),
    "sms.routes[0].links[0].password",
    "a value that is not shown",
    "a text",
  ],
  [
    route("a", "", [link("a-1"), '[[sms.routes.statuses]]\ncode = "0x00"\n']),
    "sms.routes[0].statuses[0].code",
    '"0x00"',
    "other than 0",
  ],
  [
    route("a", "", [link("a-1"), '[[sms.routes.errors]]\ncode = "1"\n', '[[sms.routes.errors]]\ncode = "1"\n']),
    "sms.routes[0].errors[1].code",
    '"1"',
    "sms.routes[0].errors[0].code",
  ],
];

for (const [text, key, found, expected] of MISTAKES) {
  test(`${key}: found ${found} is refused, and said what is expected`, () => {
    const errors = mistakesOf(text);
    expect(errors.map((mistake) => [mistake.key, mistake.found])).toEqual([[key, found]]);
    expect(errors[0]?.expected).toContain(expected);
  });
}
