import { expect, test } from "bun:test";
import { parseConfig } from "../../../src/config/config.ts";

const HEAD = `hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n`;
const read = (text: string, head = HEAD) => parseConfig(head + text, { file: "config.toml", env: {} });
const EGRESS = `[[egress]]\nname = "lisbon"\naddress = "203.0.113.9"\nhostname = "mail2.example.net"\n`;

function faultsOf(text: string, head = HEAD): { key: string; found: string }[] {
  const parsed = read(text, head);
  return parsed.kind === "errors" ? parsed.errors.map(({ key, found }) => ({ key, found })) : [];
}

test("an egress has a name, an address and a host name, and the rest has defaults", () => {
  const parsed = read(`${EGRESS}proxy = "socks5://maria@192.0.2.9:1080"\npassword = "vento"\n`);
  expect(parsed).toMatchObject({
    config: {
      egress: [
        {
          name: "lisbon",
          address: "203.0.113.9",
          hostname: "mail2.example.net",
          proxy: { address: "192.0.2.9", port: 1080, username: "maria" },
          password: "vento",
          passwordFile: null,
          share: 1,
          domains: [],
        },
      ],
    },
  });
  expect(read(`${EGRESS}proxy = "socks5://[2001:db8::9]:1080"\n`)).toMatchObject({
    config: { egress: [{ proxy: { address: "2001:db8::9", port: 1080, username: null } }] },
  });
});

test.each([
  ["proxy = 'http://192.0.2.9:1080'", "egress[0].proxy"],
  ["proxy = 'socks5://proxy.example.net:1080'", "egress[0].proxy"],
  ["proxy = 'socks5://192.0.2.9'", "egress[0].proxy"],
  ["proxy = 'socks5://192.0.2.9:0'", "egress[0].proxy"],
  // A password in an address ends in lists of processes, and in logs.
  ["proxy = 'socks5://maria:vento@192.0.2.9:1080'", "egress[0].proxy"],
  ["proxy = 'socks5://maria@192.0.2.9:1080'", "egress[0].proxy"],
  ["password = 'vento'", "egress[0].proxy"],
  ["share = 0", "egress[0].share"],
])("%s is refused", (line, key) => {
  expect(faultsOf(`${EGRESS}${line}\n`)).toMatchObject([{ key }]);
});

test("a password in the address of a proxy is not shown again", () => {
  const parsed = read(`${EGRESS}proxy = "socks5://maria:vento@192.0.2.9:1080"\n`);
  expect(JSON.stringify(parsed)).toContain("not shown");
  expect(JSON.stringify(parsed)).not.toContain("vento");
});

test("two of a name, and a domain that a relay has, are refused with the other place", () => {
  expect(faultsOf(EGRESS + EGRESS)).toEqual([{ key: "egress[1].name", found: '"lisbon"' }]);
  const relay = `[[relay]]\nhost = "smtp.example.org"\ndomains = ["loja.test"]\n`;
  expect(faultsOf(`${relay}${EGRESS}domains = ["loja.test"]\n`)).toEqual([
    { key: "egress[0].domains[0]", found: '"loja.test"' },
  ]);
});

test("where a relay takes all other mail an egress names its domains", () => {
  const relayed = `${HEAD}[email]\ntransport = "relay"\n[[relay]]\nhost = "smtp.example.org"\n`;
  expect(faultsOf(EGRESS, relayed)).toMatchObject([{ key: "egress[0].domains" }]);
  expect(faultsOf(`${EGRESS}domains = ["loja.test"]\n`, relayed)).toEqual([]);
});
