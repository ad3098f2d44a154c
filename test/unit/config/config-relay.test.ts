import { expect, test } from "bun:test";
import { type Config, formatConfigErrors, parseConfig } from "../../../src/config/config.ts";
import type { ConfigError } from "../../../src/config/toml.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';
const BY_RELAY = `${REQUIRED}[email]\ntransport = "relay"\n`;

type Environment = Record<string, string>;

function configOf(text: string, env: Environment = {}): Config {
  const result = parseConfig(text, { file: "pombo.toml", env });
  if (result.kind === "errors") throw new Error(formatConfigErrors("pombo.toml", result.errors));
  return result.config;
}

function mistakesOf(text: string, env: Environment = {}): ConfigError[] {
  const result = parseConfig(text, { file: "pombo.toml", env });
  return result.kind === "errors" ? result.errors : [];
}

/** Tables `[[relay]]`, each a host and these lines. */
function relays(...tables: string[]): string {
  return tables.map((lines, at) => `[[relay]]\nhost = "smtp${at}.example.net"\n${lines}\n`).join("");
}

test("without a [[relay]] there is none, and a relay's defaults are the strictest", () => {
  expect(configOf(REQUIRED).relay).toEqual([]);
  expect(configOf(BY_RELAY + relays("")).relay).toEqual([
    {
      host: "smtp0.example.net",
      port: 587,
      tls: "starttls",
      verify: true,
      caFile: null,
      username: null,
      password: null,
      passwordFile: null,
      domains: [],
    },
  ]);
});

test("implicit TLS has a port of its own unless one is given (RFC 8314 §3.3)", () => {
  const ports = configOf(
    BY_RELAY + relays('tls = "implicit"', 'tls = "implicit"\nport = 2465\ndomains = ["a.test"]'),
  ).relay.map(({ port }) => port);
  expect(ports).toEqual([465, 2465]);
});

test("domains are exceptions beside direct delivery, and beside a relay for all others", () => {
  expect(configOf(REQUIRED + relays('domains = ["Loja.test", "xn--caf-dma.example"]')).relay[0]?.domains).toEqual([
    "loja.test",
    "xn--caf-dma.example",
  ]);
  expect(configOf(BY_RELAY + relays('domains = ["loja.test"]', "")).relay).toHaveLength(2);
});

test("a host may be a name of one label or an address", () => {
  for (const host of ["postfix", "localhost", "10.0.0.5", "fd00::5", "SMTP.Example.net"]) {
    const [relay] = configOf(`${BY_RELAY}[[relay]]\nhost = ${JSON.stringify(host)}\n`).relay;
    expect(relay?.host).toBe(host.toLowerCase());
  }
});

test("the password may come from the environment, for the one relay that has a username and none", () => {
  const env = { POMBO_RELAY_PASSWORD: "geheim" };
  const text = BY_RELAY + relays('username = "a"', 'username = "b"\npassword_file = "/b"\ndomains = ["b.test"]');
  expect(configOf(text, env).relay.map(({ password }) => password)).toEqual(["geheim", null]);
  expect(configOf(BY_RELAY + relays('username = "a"\npassword = "own"'), env).relay[0]?.password).toBe("own");
  expect(configOf(BY_RELAY + relays(""), env).relay[0]?.password).toBeNull();
});

test("a password goes without TLS to this machine alone", () => {
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1"]) {
    const text = `${BY_RELAY}[[relay]]\nhost = "${host}"\ntls = "none"\nusername = "a"\npassword = "b"\n`;
    expect(configOf(text).relay[0]?.tls).toBe("none");
  }
  expect(configOf(BY_RELAY + relays('tls = "none"')).relay[0]?.tls).toBe("none");
});

/** Each row: the file, the key of its one mistake, what was found and what is expected. */
const MISTAKES: [text: string, key: string, found: string, expected: string][] = [
  [
    `${REQUIRED}[relay]\nhost = "smtp.example.net"\n`,
    "relay",
    "a table",
    "a list of 0 to 20 values, each a table (each begins with [[relay]])",
  ],
  [`relay = [3]\n${BY_RELAY}`, "relay[0]", "3", "a table"],
  [`${BY_RELAY}[[relay]]\n`, "relay[0].host", "nothing", 'a host name such as "smtp.example.net"'],
  [
    `${BY_RELAY}[[relay]]\nhost = "smtp.example.net:25"\n`,
    "relay[0].host",
    '"smtp.example.net:25"',
    "a host name such as",
  ],
  [`${BY_RELAY}[[relay]]\nhost = "[::1]"\n`, "relay[0].host", '"[::1]"', "without brackets"],
  [`${BY_RELAY}[[relay]]\nhost = "1.2.3"\n`, "relay[0].host", '"1.2.3"', "a host name"],
  [BY_RELAY + relays("port = 0"), "relay[0].port", "0", "a whole number from 1 to 65535"],
  [BY_RELAY + relays('tls = "opportunistic"'), "relay[0].tls", '"opportunistic"', '"starttls" or "implicit" or "none"'],
  [BY_RELAY + relays('verify = "no"'), "relay[0].verify", '"no"', "true or false"],
  [BY_RELAY + relays('ca_file = "ca.pem"'), "relay[0].ca_file", '"ca.pem"', "an absolute path"],
  [
    BY_RELAY + relays('user = "a"'),
    "relay[0].user",
    "an unknown key",
    "one of: host, port, tls, verify, ca_file, username,",
  ],
  [BY_RELAY + relays('domain = ["a.test"]'), "relay[0].domain", "an unknown key", "did you mean relay[0].domains?"],
  [BY_RELAY + relays('domains = ["loja"]', ""), "relay[0].domains[0]", '"loja"', "a full host name"],
  [
    BY_RELAY + relays('username = "a\\tb"\npassword = "x"'),
    "relay[0].username",
    '"a\\tb"',
    "without control characters",
  ],
  [BY_RELAY + relays('username = "a"'), "relay[0].username", "no password for it", "POMBO_RELAY_PASSWORD"],
  [BY_RELAY + relays('password = "b"'), "relay[0].username", "nothing", "the user name for the password"],
  [BY_RELAY + relays('password_file = "/b"'), "relay[0].username", "nothing", "the user name"],
  [
    BY_RELAY + relays('username = "a"\npassword = "b"\npassword_file = "/b"'),
    "relay[0].password_file",
    "password as well",
    "only one of the two",
  ],
  [
    BY_RELAY + relays('tls = "none"\nusername = "a"\npassword = "b"'),
    "relay[0].tls",
    '"none" with a username',
    '"starttls" or "implicit"',
  ],
  [
    BY_RELAY,
    "relay",
    "no [[relay]]",
    'a [[relay]] without domains, for the mail of all others, or [email] transport = "direct"',
  ],
  [
    BY_RELAY + relays('domains = ["a.test"]'),
    "relay",
    "no [[relay]] without domains",
    'or [email] transport = "direct"',
  ],
  [BY_RELAY + relays("", ""), "relay[1].domains", "no domains", "relay[0].domains is empty as well"],
  [REQUIRED + relays(""), "relay[0].domains", "no domains", 'or [email] transport = "relay" for all mail'],
  [
    REQUIRED + relays('domains = ["a.test", "b.test"]', 'domains = ["B.test"]'),
    "relay[1].domains[0]",
    '"b.test"',
    "relay[0] has it",
  ],
  [REQUIRED + relays('domains = ["a.test", "a.test"]'), "relay[0].domains[1]", '"a.test"', "relay[0] has it"],
  [
    REQUIRED + relays(...Array.from({ length: 21 }, (_, at) => `domains = ["d${at}.test"]`)),
    "relay",
    "a list of 21",
    "a list of 0 to 20",
  ],
];

test.each(MISTAKES)("%j is refused with its key and the cure", (text, key, found, expected) => {
  expect(mistakesOf(text)).toEqual([{ key, found, expected: expect.stringContaining(expected) }]);
});

test("a password in the environment that could be meant for two relays is refused", () => {
  const text = BY_RELAY + relays('username = "a"', 'username = "b"\ndomains = ["b.test"]');
  expect(mistakesOf(text, { POMBO_RELAY_PASSWORD: "geheim" })).toEqual([
    {
      key: "environment variable POMBO_RELAY_PASSWORD",
      found: "2 relays without a password",
      expected: expect.stringContaining("at most one [[relay]]"),
    },
  ]);
});

test("all errors of all relays come at once", () => {
  const text = REQUIRED + relays('port = "x"\nusername = "a"', 'tls = "none"\nusername = "a"\npassword = "b"\nfoo = 1');
  expect(mistakesOf(text).map(({ key }) => key)).toEqual([
    "relay[0].port",
    "relay[1].foo",
    "relay[0].username",
    "relay[1].tls",
    "relay[0].domains",
    "relay[1].domains",
  ]);
});

test("no message shows a password, whatever is wrong with it or with its line", () => {
  const secret = "s3cretW0rd";
  const texts = [
    relays(`username = "a"\npassword = ["${secret}"]`),
    relays(`username = "a"\npassword = "${secret}\\u0007"`),
    relays(`username = "a"\npassword = "${secret}`),
    relays(`username = "a"\npassword = ${secret}`),
    relays(`username = "a"\n"password" = ${secret}`),
    relays(`username = "a"\npassword = '${secret}'x`),
    relays(`username = "a"\npassword = """\n${secret}`),
    relays(`username = "a"\npassword: "${secret}"`),
    relays(`username = "a"\npassword = "${secret}"\npassword = "${secret}"`),
    relays(`pasword = "${secret}"`),
    relays(`password = "${secret}"`),
    `relay = [{ host = "x", username = "a", password = "${secret}" port = 3 }]\n`,
  ];
  for (const text of texts) {
    const errors = mistakesOf(
      BY_RELAY.replace("[email]", `${text.startsWith("relay =") ? text : ""}[email]`) +
        (text.startsWith("relay =") ? "" : text),
    );
    expect([text, errors.length]).not.toEqual([text, 0]);
    expect(formatConfigErrors("pombo.toml", errors)).not.toContain(secret);
  }
});
