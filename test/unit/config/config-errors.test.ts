import { expect, test } from "bun:test";
import { formatConfigErrors, parseConfig } from "../../../src/config/config.ts";
import type { ConfigError } from "../../../src/config/toml.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

function findErrors(text: string): ConfigError[] {
  const result = parseConfig(text, { file: "pombo.toml", env: {} });
  return result.kind === "errors" ? result.errors : [];
}

// Each row: what is written (in place of nothing or of the required line), and its error.
const ERRORS: [written: string, key: string, found: string, expected: string][] = [
  ['hostname = "mail"', "hostname", '"mail"', "full host name"],
  ['hostname = "192.0.2.1"', "hostname", '"192.0.2.1"', "full host name"],
  ['hostname = "mail.example.net."', "hostname", '"mail.example.net."', "full host name"],
  ['hostname = "mäil.example.net"', "hostname", '"mäil.example.net"', "xn--"],
  ["hostname = 3", "hostname", "3", "full host name"],
  ['data_dir = "pombo"', "data_dir", '"pombo"', "absolute path"],
  [`data_dir = "/${"d".repeat(92)}"`, "data_dir", `"/${"d".repeat(59)}…"`, "at most 92 bytes"],
  ['[http]\nlisten = "8080"', "http.listen", '"8080"', '"127.0.0.1:8080"'],
  ['[http]\nlisten = "127.0.0.1:65536"', "http.listen", '"127.0.0.1:65536"', '"127.0.0.1:8080"'],
  ['[http]\nlisten = "::1:80"', "http.listen", '"::1:80"', '"[::1]:8080"'],
  ['[http]\nmax_body = "16MB"', "http.max_body", '"16MB"', 'a size such as "512KiB"'],
  ['[http]\nmax_body = "1B"', "http.max_body", '"1B"', 'from "1KiB" to "256MiB"'],
  ["[http]\nmax_body = 16", "http.max_body", "16", "a size such as"],
  [
    '[http]\nmax_body = "23MiB"',
    "http.max_body",
    "23 MiB",
    "at least 4 MiB more than email.max_message, which is 20 MiB",
  ],
  [
    '[email]\nmax_message = "40MiB"',
    "http.max_body",
    "28 MiB",
    "at least 4 MiB more than email.max_message, which is 40 MiB",
  ],
  ['[email]\nmax_message = "41MiB"', "email.max_message", '"41MiB"', 'from "1MiB" to "40MiB"'],
  ['[dns]\nservers = "127.0.0.1"', "dns.servers", '"127.0.0.1"', "a list of 0 to 8 values"],
  ['[dns]\nservers = ["127.0.0.1", "x:53"]', "dns.servers[1]", '"x:53"', 'an address such as "127.0.0.1"'],
  ['[dns]\nservers = ["127.0.0.1:0"]', "dns.servers[0]", '"127.0.0.1:0"', "an address such as"],
  ['[email]\ntransport = "smtp"', "email.transport", '"smtp"', '"direct" or "relay"'],
  ['[email]\nbounce_host = ""', "email.bounce_host", '""', "full host name"],
  ['[email]\nsource_ipv4 = "::1"', "email.source_ipv4", '"::1"', "an IPv4 address"],
  ['[email]\nsource_ipv4 = "203.0.113.300"', "email.source_ipv4", '"203.0.113.300"', "an IPv4 address"],
  ["[email]\ndestination_port = 0", "email.destination_port", "0", "a whole number from 1 to 65535"],
  ["[email]\ndestination_port = 2.5", "email.destination_port", "2.5", "a whole number"],
  ["[email]\ndestination_port = nan", "email.destination_port", "NaN", "a whole number"],
  ['[email]\ndestination_port = "25"', "email.destination_port", '"25"', "a whole number"],
  ['[email]\nlifetime = "0h"', "email.lifetime", '"0h"', 'from "1ms" to "30d"'],
  ['[email]\nlifetime = "3 days"', "email.lifetime", '"3 days"', "units: ms, s, m, h, d"],
  ["[email]\nlifetime = 2026-01-01", "email.lifetime", 'a date or time ("2026-01-01")', "a duration"],
  ["[email]\nlifetime = true", "email.lifetime", "true", "a duration"],
  ["[email]\nretry_schedule = []", "email.retry_schedule", "an empty list", "a list of 1 to 50 values"],
  [
    `[email]\nretry_schedule = [${'"1m",'.repeat(51)}]`,
    "email.retry_schedule",
    "a list of 51",
    "a list of 1 to 50 values",
  ],
  ['[email]\nretry_schedule = ["1m", "0ms"]', "email.retry_schedule[1]", '"0ms"', 'from "1ms" to "7d"'],
  ['[email]\nretry_schedule = ["1m", ["1m"]]', "email.retry_schedule[1]", "a list of 1", "a duration"],
  [
    '[email]\nallow_private_ranges = ["10.0.0.0/33"]',
    "email.allow_private_ranges[0]",
    '"10.0.0.0/33"',
    "an address range",
  ],
  ["[email]\nmax_sessions = 0", "email.max_sessions", "0", "from 1 to 10000"],
  ["[email]\nmax_sessions = 10", "email.sessions_per_destination", "20", "at most email.max_sessions, which is 10"],
  ['[email]\ndmarc_rua = "a@example.net; p=none"', "email.dmarc_rua", '"a@example.net; p=none"', "an email address"],
  ['[workspaces]\ncreation = "nobody"', "workspaces.creation", '"nobody"', '"operator" or "any_key" or "open"'],
  ['[workspaces]\ndefault_plan = "gold"', "workspaces.default_plan", '"gold"', "launch, starter, growth, scale"],
  ['[workspaces]\ndefault_plan = "constructor"', "workspaces.default_plan", '"constructor"', "one of the plans"],
  ["[plans.launch]\nbatch = 1001", "plans.launch.batch", "1001", "from 1 to 1000"],
  ["[plans.launch]\nemails_per_day = -2", "plans.launch.emails_per_day", "-2", "from -1 to"],
  ["[plans.launch]\nsms = 1", "plans.launch.sms", "1", "true or false"],
  ["[plans]\nlaunch = 3", "plans.launch", "3", "a table"],
  ["plans = 3", "plans", "3", "a table"],
  ["[plans.Gold]\nbatch = 1", "plans.Gold", "this name", "lower-case letters"],
  ["[plans.__proto__]\nbatch = 1", "plans.__proto__", "this name", "lower-case letters"],
  ['[idempotency]\nretention = "400d"', "idempotency.retention", '"400d"', 'to "30d"'],
  ["[disk]\nmin_free_inodes_percent = 51", "disk.min_free_inodes_percent", "51", "from 0 to 50"],
  ['[secrets]\ninstance_key_file = "k"', "secrets.instance_key_file", '"k"', "absolute path"],
  ['[http]\npublic_url = "http://mail.example.net"', "http.public_url", '"http://mail.example.net"', "an https URL"],
  ['[http]\npublic_url = "http://localhost:8080"', "http.public_url", '"http://localhost:8080"', "an https URL"],
  [
    '[http]\npublic_url = "https://mail.example.net/u/"',
    "http.public_url",
    '"https://mail.example.net/u/"',
    "without a path",
  ],
  ['[dashboard]\nurl = "http://mail.example.net"', "dashboard.url", '"http://mail.example.net"', "an https URL"],
  ['[dashboard]\nurl = "mail.example.net"', "dashboard.url", '"mail.example.net"', '"https://mail.example.net"'],
  [
    '[dashboard]\nurl = "https://mail.example.net/x"',
    "dashboard.url",
    '"https://mail.example.net/x"',
    "without a path",
  ],
  [
    '[dashboard]\nurl = "https://a:b@mail.example.net"',
    "dashboard.url",
    '"https://a:b@mail.example.net"',
    "an https URL",
  ],
  ["[dashboard]\nurl = true", "dashboard.url", "true", "an https URL"],
  ['[dashboard]\nfrom = "pombo"', "dashboard.from", '"pombo"', 'an email address such as "pombo@example.net"'],
  ['[dashboard]\nfrom = "Pombo <a@example.net>"', "dashboard.from", '"Pombo <a@example.net>"', "an email address"],
  ["[dashboard]\nmagic_links = true", "dashboard.magic_links", "true", "false, or an address in dashboard.from"],
  ['[dashboard]\nmagic_links = "yes"', "dashboard.magic_links", '"yes"', "true or false"],
  ["[dashboard]\nenabled = 1", "dashboard.enabled", "1", "true or false"],
  ['[log]\naddresses = "none"', "log.addresses", '"none"', '"redacted" or "full"'],
  ["email = 3", "email", "3", "a table"],
  ["[[email]]\nlifetime = 3", "email", "a list of 1", "a table"],
];

test.each(ERRORS)(
  "%s is refused, naming the key, what was found and what is expected",
  (written, key, found, expected) => {
    const required = REQUIRED.split("\n").filter((line) => line.split(" ")[0] !== written.split(" ")[0]);
    const errors = findErrors(`${required.join("\n")}\n${written}\n`);
    expect(errors).toEqual([{ key, found, expected: expect.stringContaining(expected) }]);
  },
);

const UNKNOWN: [written: string, key: string, found: string, expected: string][] = [
  ["[email]\nlifetme = 3", "email.lifetme", "an unknown key", "a known key (did you mean email.lifetime?)"],
  ['[email]\nbounceHost = "x"', "email.bounceHost", "an unknown key", "a known key (did you mean email.bounce_host?)"],
  ['lifetime = "1h"', "lifetime", "an unknown key", "a known key (did you mean email.lifetime?)"],
  ['[email]\nlisten = "x"', "email.listen", "an unknown key", "a known key (did you mean http.listen?)"],
  [
    "[plans.launch]\nbatches = 3",
    "plans.launch.batches",
    "an unknown key",
    "a known key (did you mean plans.launch.batch?)",
  ],
  ["[htpp]\n", "htpp", "an unknown table", "a known key (did you mean http?)"],
  ["[log]\ncolour = 1", "log.colour", "an unknown key", "one of: addresses"],
  ['["a.b"]\n', '"a.b"', "an unknown table", "one of: hostname, data_dir, http,"],
  ["__proto__ = 1", "__proto__", "an unknown key", "one of: hostname,"],
  ["toString = 1", "toString", "an unknown key", "one of: hostname,"],
];

test.each(UNKNOWN)("%s is an unknown key", (written, key, found, expected) => {
  expect(findErrors(`${REQUIRED}${written}\n`)).toEqual([{ key, found, expected: expect.stringContaining(expected) }]);
});

const FORMER: [table: string, former: string, current: string][] = [
  ["email", "retry", "retry_schedule"],
  ["email", "keep_content", "content_retention"],
  ["email", "provider", "transport"],
  ["email", "allow_addresses", "allow_private_ranges"],
  ["webhooks", "allow_addresses", "allow_private_ranges"],
  ["webhooks", "keep", "retention"],
  ["idempotency", "keep", "retention"],
  ["http", "max_other_body", "max_body_default"],
  ["rate_limits", "failed_keys_per_minute", "failed_auth_per_minute"],
  ["sms", "unknown_wait", "lost_response_wait"],
  ["[sms.routes]", "unknown", "on_lost_response"],
  ["[sms.routes]", "overdue", "missing_receipt_status"],
  ["[sms.routes]", "ids", "message_id_format"],
  ["[sms.routes]", "dcs0_charset", "default_charset"],
];

test.each(FORMER)("[%s] %s is refused with its new name %s", (table, former, current) => {
  expect(findErrors(`${REQUIRED}[${table}]\n${former} = "x"\n`)).toContainEqual({
    key: `${table.replace("[sms.routes]", "sms.routes[0]")}.${former}`,
    found: "a former name",
    expected: `${current}, the new name of this key`,
  });
});

test("all errors come at once, the missing keys among them", () => {
  const errors = findErrors(
    '[http]\nlisten = "x"\n[email]\nlifetime = 3\nretry_schedule = ["x"]\nfoo = 1\n[plans.launch]\nsms = 2\n',
  );
  expect(errors.map(({ key }) => key)).toEqual([
    "hostname",
    "data_dir",
    "http.listen",
    "email.lifetime",
    "email.retry_schedule[0]",
    "email.foo",
    "plans.launch.sms",
  ]);
  expect(errors[0]?.found).toBe("nothing");
  const lines = formatConfigErrors("/etc/pombo.toml", errors).split("\n");
  expect(lines).toHaveLength(errors.length);
  expect(lines[2]).toBe(
    '/etc/pombo.toml: http.listen: found "x"; expected an address and a port such as "127.0.0.1:8080" or "[::1]:8080"',
  );
});

test("an empty file is told what it lacks", () => {
  expect(findErrors("").map(({ key, found }) => [key, found])).toEqual([
    ["hostname", "nothing"],
    ["data_dir", "nothing"],
  ]);
});
