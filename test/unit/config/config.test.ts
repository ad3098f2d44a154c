import { expect, test } from "bun:test";
import { type Config, defaultConfig, formatConfigErrors, parseConfig } from "../../../src/config/config.ts";
import type { ConfigError } from "../../../src/config/toml.ts";
import { parseDuration, parseHostname, parseHostPort, parseSize } from "../../../src/config/formats.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

function configOf(text: string, env: Record<string, string | undefined> = {}): Config {
  const result = parseConfig(text, { file: "pombo.toml", env });
  if (result.kind === "errors") throw new Error(formatConfigErrors("pombo.toml", result.errors));
  return result.config;
}

function mistakesOf(text: string, env: Record<string, string | undefined> = {}): ConfigError[] {
  const result = parseConfig(text, { file: "pombo.toml", env });
  return result.kind === "errors" ? result.errors : [];
}

test("the two required keys are enough, and everything else has its default", () => {
  const config = configOf(REQUIRED);
  expect(config).toEqual(defaultConfig({ hostname: "mail.example.net", dataDir: "/var/lib/pombo" }));
  expect(config.http).toEqual({
    listen: { address: "127.0.0.1", port: 8080 },
    maxBodyBytes: 28 * 1024 ** 2,
    maxBatchBodyBytes: 32 * 1024 ** 2,
    maxBodyDefaultBytes: 64 * 1024,
    publicUrl: null,
    trustedProxies: [],
  });
  expect(config.rateLimits).toEqual({
    sendsPerSecond: 100,
    sendsBurst: 200,
    writesPerSecond: 20,
    writesBurst: 40,
    readsPerSecond: 50,
    readsBurst: 100,
    failedAuthPerMinute: 10,
    workspacesPerHour: 10,
  });
  expect(config.email.lifetimeMs).toBe(72 * 3_600_000);
  expect(config.email.retryScheduleMs).toEqual([1, 5, 10, 15, 30, 60, 120, 240, 360].map((m) => m * 60_000));
  expect(config.email.bounceHost).toBe("mail.example.net");
  expect(config.email.sourceIpv4).toBeNull();
  expect(config.email.dmarcRua).toBeNull();
  expect(config.inbound).toEqual({
    listen: { address: "0.0.0.0", port: 25 },
    certificateFile: null,
    keyFile: null,
  });
  expect(config.dns.servers).toEqual([]);
  expect(config.secrets.instanceKeyFile).toBe("/var/lib/pombo/instance.key");
  expect(Object.keys(config.plans)).toEqual(["launch", "starter", "growth", "scale"]);
});

test("the default plans are those of the price list", () => {
  const { plans } = configOf(REQUIRED);
  expect(plans["launch"]).toEqual({
    batch: 50,
    emailsPerMonth: 3000,
    emailsPerDay: 100,
    domains: 1,
    apiKeys: -1,
    webhooks: 1,
    members: 1,
    storage: 128 * 1024 ** 2,
    sms: false,
  });
  expect(plans["growth"]).toEqual({
    batch: 500,
    emailsPerMonth: 250_000,
    emailsPerDay: 25_000,
    domains: 50,
    apiKeys: -1,
    webhooks: 20,
    members: 20,
    storage: 10 * 1024 ** 3,
    sms: true,
  });
  expect(plans["scale"]?.emailsPerMonth).toBe(-1);
});

test("a plan's table changes only the keys it names", () => {
  const { plans } = configOf(`${REQUIRED}[plans.launch]\nbatch = 10\n`);
  expect(plans["launch"]?.batch).toBe(10);
  expect(plans["launch"]?.emailsPerMonth).toBe(3000);
  expect(plans["starter"]?.batch).toBe(100);
});

test("a plan of a new name needs every key", () => {
  const errors = mistakesOf(`${REQUIRED}[plans.gold]\nbatch = 10\nsms = true\n`);
  expect(errors.map(({ key }) => key)).toEqual(
    ["emails_per_month", "emails_per_day", "domains", "api_keys", "webhooks", "members", "storage"].map(
      (key) => `plans.gold.${key}`,
    ),
  );
  expect(errors[0]).toMatchObject({
    found: "nothing",
    expected: "a whole number from -1 to 1000000000",
  });
});

test("a plan that does not exist is undefined, even when objects have a member of that name", () => {
  expect(configOf(REQUIRED).plans["constructor"]).toBeUndefined();
});

test("a certificate and its key are named together, and the inbound port can be turned off", () => {
  expect(configOf(`${REQUIRED}[inbound]\nlisten = ""\n`).inbound.listen).toBeNull();
  const both = '[inbound]\ncertificate_file = "/etc/pombo/mail.pem"\nkey_file = "/etc/pombo/mail.key"\n';
  expect(configOf(REQUIRED + both).inbound).toMatchObject({
    certificateFile: "/etc/pombo/mail.pem",
    keyFile: "/etc/pombo/mail.key",
  });
  for (const [given, lacking] of [
    ["certificate_file", "key_file"],
    ["key_file", "certificate_file"],
  ]) {
    const errors = mistakesOf(`${REQUIRED}[inbound]\n${given} = "/etc/pombo/mail.pem"\n`);
    expect(errors).toMatchObject([{ key: `inbound.${lacking}`, found: "nothing" }]);
  }
});

test("changing one config leaves the defaults of the next alone", () => {
  const changed = defaultConfig({ hostname: "mail.example.net", dataDir: "/var/lib/pombo" });
  changed.email.retryScheduleMs.push(1);
  changed.dns.servers.push("x");
  (changed.plans["launch"] as { batch: number }).batch = 7;
  const fresh = defaultConfig({ hostname: "mail.example.net", dataDir: "/var/lib/pombo" });
  expect([fresh.email.retryScheduleMs.length, fresh.dns.servers, fresh.plans["launch"]?.batch]).toEqual([9, [], 50]);
});

test("values are read into one form", () => {
  const config = configOf(
    [
      'hostname = "Mail.Example.NET"',
      'data_dir = "/var//lib/./pombo/"',
      '[http]\nlisten = "[::1]:0"',
      '[dns]\nservers = ["192.0.2.1", "::1", "[2001:db8::1]:5353", "192.0.2.2:54"]',
      '[email]\nallow_private_ranges = ["127.0.0.0/8", "10.1.2.3", "FD00::1"]',
      'dmarc_rua = "Reports@Example.NET"\nretry_schedule = ["200ms"]\nsource_ipv4 = "203.0.113.7"',
    ].join("\n"),
  );
  expect(config.hostname).toBe("mail.example.net");
  expect(config.dataDir).toBe("/var/lib/pombo");
  expect(config.http.listen).toEqual({ address: "::1", port: 0 });
  expect(config.dns.servers).toEqual(["192.0.2.1:53", "[::1]:53", "[2001:db8::1]:5353", "192.0.2.2:54"]);
  expect(config.email.allowPrivateRanges).toEqual(["127.0.0.0/8", "10.1.2.3/32", "fd00::1/128"]);
  expect(config.email.dmarcRua).toBe("mailto:Reports@example.net");
  expect(config.email.retryScheduleMs).toEqual([200]);
  expect(config.email.sourceIpv4).toBe("203.0.113.7");
});

test("POMBO_INSTANCE_KEY_FILE overrides the file's key, and an empty one does not count", () => {
  const text = `${REQUIRED}[secrets]\ninstance_key_file = "/etc/a.key"\n`;
  expect(configOf(text, { POMBO_INSTANCE_KEY_FILE: "/run/b.key" }).secrets.instanceKeyFile).toBe("/run/b.key");
  expect(configOf(text, { POMBO_INSTANCE_KEY_FILE: "" }).secrets.instanceKeyFile).toBe("/etc/a.key");
});

test("errors in the environment are named as such", () => {
  const key = "environment variable POMBO_INSTANCE_KEY_FILE";
  expect(mistakesOf(REQUIRED, { POMBO_INSTANCE_KEY_FILE: "b.key", POMBO_INSTANCE_KEY: "k" })).toEqual([
    { key, found: '"b.key"', expected: expect.stringContaining("an absolute path") },
    { key, found: "POMBO_INSTANCE_KEY as well", expected: "only one of the two" },
  ]);
});

test("the instance key in the environment does not enter the config, which may be shown", () => {
  const config = configOf(REQUIRED, { POMBO_INSTANCE_KEY: "pombo-key-1-secret" });
  expect(JSON.stringify(config)).not.toContain("pombo-key-1-secret");
});

test("defaultConfig refuses a value that a file could not hold", () => {
  expect(() => defaultConfig({ hostname: "localhost", dataDir: "/tmp/x" })).toThrow("full host name");
});

test("durations, sizes, names and addresses are read strictly", () => {
  expect(["200ms", "30s", "5m", "72h", "2d"].map(parseDuration)).toEqual([
    200, 30_000, 300_000, 259_200_000, 172_800_000,
  ]);
  for (const text of ["", "72", "h", "-1h", "1.5h", " 1h", "1h ", "1H", "1h30m", "1constructor", "9999999999999h"]) {
    expect(parseDuration(text)).toBeNull();
  }
  expect(["0B", "64KiB", "16MiB", "1GiB"].map(parseSize)).toEqual([0, 65_536, 16_777_216, 1_073_741_824]);
  for (const text of ["", "16", "16MB", "16mib", "1e3B"]) expect(parseSize(text)).toBeNull();
  expect(parseHostname(`${"a".repeat(63)}.example`)).not.toBeNull();
  const names = ["", ".", "a", "a..b", "-a.b", "a-.b", "a_b.c", "a b.c", "a.1", "[::1]", `${"a".repeat(64)}.example`];
  for (const text of [...names, `${"a.".repeat(126)}ab`]) expect(parseHostname(text)).toBeNull();
  for (const text of [
    "",
    ":80",
    "127.0.0.1",
    "127.0.0.1:",
    "127.1:80",
    "[::1%lo]:80",
    "[127.0.0.1]:80",
    "localhost:80",
  ]) {
    expect(parseHostPort(text)).toBeNull();
  }
});
