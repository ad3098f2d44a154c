import { describe, expect, test } from "bun:test";
import { parseRanges } from "../../../../../src/platform/ip/address.ts";
import {
  type LookUpAddresses,
  parseTarget,
  resolveTarget,
  type TargetRules,
} from "../../../../../src/modules/webhooks/delivery/target.ts";

const STRICT: TargetRules = { allowHttp: false, allowed: parseRanges([]) };

/** Every special range, in every spelling that leads to it. */
const SPECIAL: [range: string, urls: string[]][] = [
  [
    "loopback",
    [
      "https://127.0.0.1/",
      "https://127.1/",
      "https://2130706433/",
      "https://0x7f000001/",
      "https://0177.0.0.1/",
      "https://127.0.0.1./",
      "https://[::1]/",
      "https://[0:0:0:0:0:0:0:1]/",
    ],
  ],
  ["v4-mapped", ["https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:10.0.0.1]/"]],
  [
    "private",
    [
      "https://10.0.0.1/",
      "https://172.16.0.1/",
      "https://172.31.255.255/",
      "https://192.168.1.1/",
      "https://0xc0a80101/",
      "https://3232235777/",
      "https://0300.0250.1.1/",
      "https://[fd00::1]/",
      "https://[fc00::1]/",
    ],
  ],
  [
    "link-local",
    ["https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://[fe80::1]/", "https://[fec0::1]/"],
  ],
  ["carrier-grade NAT", ["https://100.64.0.1/", "https://100.127.255.254/"]],
  ["unspecified", ["https://0.0.0.0/", "https://0/", "https://[::]/"]],
  [
    "multicast, reserved, broadcast",
    ["https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/", "https://[ff02::1]/"],
  ],
  [
    "documentation, benchmarking",
    [
      "https://192.0.2.1/",
      "https://198.51.100.1/",
      "https://203.0.113.1/",
      "https://198.18.0.1/",
      "https://[2001:db8::1]/",
    ],
  ],
  [
    "NAT64, 6to4, Teredo",
    ["https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/", "https://[2001::1]/"],
  ],
  ["IPv4-compatible", ["https://[::127.0.0.1]/", "https://[::7f00:1]/"]],
];

for (const [range, urls] of SPECIAL) {
  test(`${range} addresses are refused in every spelling`, () => {
    for (const url of urls) expect([url, parseTarget(url, STRICT).kind]).toEqual([url, "fault"]);
  });

  test(`names that lead to ${range} addresses are refused when they are looked up`, async () => {
    for (const url of urls) {
      const address = new URL(url).hostname.replace(/^\[|\]$|\.$/g, "");
      const parsed = parseTarget("https://innocent.test/hook", STRICT);
      if (parsed.kind === "fault") throw new Error(parsed.message);
      const look: LookUpAddresses = async () => ({ kind: "found", addresses: ["93.184.215.14", address] });
      expect([address, (await resolveTarget(parsed.target, STRICT, look)).kind]).toEqual([address, "refused"]);
    }
  });
}

/** The first and last address of each special range of IPv4, and one between, as IANA lists them. */
const SPECIAL_V4 = [
  ...["0.0.0.0", "0.1.2.3", "0.255.255.255", "10.0.0.0", "10.20.30.40", "10.255.255.255"],
  ...["100.64.0.0", "100.100.1.1", "100.127.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.255"],
  ...["169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.20.0.1", "172.31.255.255"],
  ...["192.0.0.0", "192.0.0.170", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0", "192.88.99.255"],
  ...["192.168.0.0", "192.168.1.1", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.0"],
  ...["198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "233.252.0.1", "239.255.255.255"],
  ...["240.0.0.0", "250.1.2.3", "255.255.255.254", "255.255.255.255"],
];

/** Beside each of them, outside: what may be called. */
const PUBLIC_V4 = [
  "1.0.0.0",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
];
const MORE_PUBLIC_V4 = [
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
];

/** Every way in which a URL may spell an address. */
const SPELLINGS: [name: string, spell: (bytes: number[], number: number) => string][] = [
  ["dotted", (bytes) => bytes.join(".")],
  ["dotted, with a dot at the end", (bytes) => `${bytes.join(".")}.`],
  ["decimal", (_, number) => String(number)],
  ["octal", (_, number) => `0${number.toString(8)}`],
  ["octal bytes", (bytes) => bytes.map((byte) => `0${byte.toString(8)}`).join(".")],
  ["hex", (_, number) => `0x${number.toString(16)}`],
  ["hex bytes", (bytes) => bytes.map((byte) => `0X${byte.toString(16)}`).join(".")],
  ["two parts", ([first = 0], number) => `${first}.${number % 2 ** 24}`],
  ["three parts", ([first = 0, second = 0], number) => `${first}.${second}.${number % 2 ** 16}`],
  ["percent signs", (bytes) => bytes.join(".").replaceAll(/\d/g, (digit) => `%3${digit}`)],
  ["wide digits", (bytes) => bytes.join(".").replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))],
];

/** Every IPv6 address that carries one of IPv4 to somebody who unpacks it. */
const CARRIERS: [name: string, carry: (high: string, low: string) => string][] = [
  ["v4-mapped", (high, low) => `::ffff:${high}:${low}`],
  ["v4-compatible", (high, low) => `::${high}:${low}`],
  ["v4-translated", (high, low) => `::ffff:0:${high}:${low}`],
  ["NAT64", (high, low) => `64:ff9b::${high}:${low}`],
  ["local NAT64", (high, low) => `64:ff9b:1::${high}:${low}`],
  ["6to4", (high, low) => `2002:${high}:${low}::1`],
  ["Teredo", (high, low) => `2001:0:${high}:${low}::1`],
];

const SPECIAL_V6 = [
  ...["::", "::1", "100::", "100::ffff", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1", "2001:db8:ffff::"],
  ...["3fff::1", "5f00::1", "fc00::", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1", "4000::1"],
];

for (const [name, spell] of SPELLINGS) {
  test(`no special IPv4 address may be called, spelled in ${name}`, () => {
    const kindOf = (address: string) => {
      const bytes = address.split(".").map(Number);
      return parseTarget(`https://${spell(bytes, Buffer.from(bytes).readUInt32BE(0))}/hook`, STRICT).kind;
    };
    for (const address of SPECIAL_V4) expect([address, kindOf(address)]).toEqual([address, "fault"]);
    for (const address of [...PUBLIC_V4, ...MORE_PUBLIC_V4])
      expect([address, kindOf(address)]).toEqual([address, "target"]);
  });
}

for (const [name, carry] of CARRIERS) {
  test(`no special IPv4 address may be called inside an IPv6 one: ${name}`, async () => {
    const parsed = parseTarget("https://innocent.test/hook", STRICT);
    if (parsed.kind === "fault") throw new Error(parsed.message);
    for (const address of SPECIAL_V4) {
      const hex = Buffer.from(address.split(".").map(Number)).toString("hex");
      const carrier = carry(hex.slice(0, 4), hex.slice(4));
      expect([carrier, parseTarget(`https://[${carrier}]/`, STRICT).kind]).toEqual([carrier, "fault"]);
      const look: LookUpAddresses = async () => ({ kind: "found", addresses: [carrier] });
      expect([carrier, (await resolveTarget(parsed.target, STRICT, look)).kind]).toEqual([carrier, "refused"]);
    }
  });
}

test("no special address may be called by a name that DNS leads there, alone or among public ones", async () => {
  const parsed = parseTarget("https://innocent.test/hook", STRICT);
  if (parsed.kind === "fault") throw new Error(parsed.message);
  for (const address of [...SPECIAL_V4, ...SPECIAL_V6])
    for (const addresses of [[address], ["93.184.215.14", address], [address, "2606:2800:21f::1"]]) {
      const look: LookUpAddresses = async () => ({ kind: "found", addresses });
      expect([addresses, (await resolveTarget(parsed.target, STRICT, look)).kind]).toEqual([addresses, "refused"]);
    }
});

test("no special IPv6 address may be called", () => {
  for (const address of SPECIAL_V6)
    expect([address, parseTarget(`https://[${address}]/`, STRICT).kind]).toEqual([address, "fault"]);
});

test("public addresses and names may be called", () => {
  for (const url of [
    "https://example.com/hook?x=1",
    "https://93.184.215.14/",
    "https://[2606:2800:21f:cb07::1]:8443/",
    "https://EXAMPLE.com",
  ])
    expect([url, parseTarget(url, STRICT).kind]).toEqual([url, "target"]);
});

test("a target holds what is dialled and what is asked for", () => {
  expect(parseTarget("https://Example.com:8443/a/../b?c=d", STRICT)).toEqual({
    kind: "target",
    target: {
      isSecure: true,
      hostname: "example.com",
      isAddress: false,
      port: 8443,
      path: "/b?c=d",
      host: "example.com:8443",
    },
  });
  expect(parseTarget("https://[2606:2800:21F::1]/", STRICT)).toMatchObject({
    target: { hostname: "2606:2800:21f::1", isAddress: true, port: 443, host: "[2606:2800:21f::1]" },
  });
});

/** Each with a word of its fault. */
const FAULTS: [url: string, word: string][] = [
  ["http://example.com/", "https"],
  ["ftp://example.com/", "https"],
  ["file:///etc/passwd", "https"],
  ["javascript:alert(1)", "https"],
  ["https://user@example.com/", "user name"],
  ["https://user:secret@example.com/", "user name"],
  ["https://@example.com/", "user name"],
  ["https://example.com/#a", "fragment"],
  ["https://exa mple.com/", "spaces"],
  ["https://example.com\\@evil.test/", "backslashes"],
  ["https://example.com/\n", "control"],
  ["https://", "URL"],
  ["example.com", "URL"],
  ["https://example.com:0/", "URL"],
  ["https://example.com:99999/", "URL"],
  [`https://example.com/${"x".repeat(2048)}`, "2048"],
];

test("what is no callable URL is refused with what is wrong", () => {
  for (const [url, word] of FAULTS) {
    const parsed = parseTarget(url, STRICT);
    expect([url.slice(0, 40), parsed.kind === "fault" ? parsed.message : "none"]).toEqual([
      url.slice(0, 40),
      expect.stringContaining(word),
    ]);
  }
});

test("the operator can allow http and ranges of the own network", async () => {
  const rules: TargetRules = { allowHttp: true, allowed: parseRanges(["10.1.0.0/16"]) };
  expect(parseTarget("http://10.1.2.3:3000/hook", rules).kind).toBe("target");
  expect(parseTarget("http://10.2.2.3/hook", rules).kind).toBe("fault");
  const parsed = parseTarget("http://inside.test/", rules);
  if (parsed.kind === "fault") throw new Error(parsed.message);
  expect(await resolveTarget(parsed.target, rules, async () => ({ kind: "found", addresses: ["10.1.9.9"] }))).toEqual({
    kind: "addresses",
    addresses: ["10.1.9.9"],
  });
});

describe("this server itself is not called", () => {
  const OWN: TargetRules = { ...STRICT, own: { addresses: ["8.8.4.4", "2606:2800::1"], names: ["mail.own.test"] } };
  const dns: Record<string, string[]> = { "mail.own.test": ["9.9.9.9"], "away.test": ["1.1.1.1"] };
  const look: LookUpAddresses = async (name) =>
    dns[name] === undefined
      ? { kind: "failed", reason: "no", isTimeout: false }
      : { kind: "found", addresses: dns[name] };
  const reached = (url: string, rules: TargetRules, by: LookUpAddresses = look) => {
    const parsed = parseTarget(url, rules);
    if (parsed.kind === "fault") throw new Error(parsed.message);
    return resolveTarget(parsed.target, rules, by);
  };

  test("by its addresses, in any spelling", () => {
    for (const host of ["8.8.4.4", "134743044", "0x08080404", "[::ffff:8.8.4.4]", "[2606:2800:0::1]"])
      expect(parseTarget(`https://${host}/`, OWN)).toMatchObject({ kind: "fault" });
    expect(parseTarget("https://8.8.4.5/", OWN).kind).toBe("target");
  });

  test("by a name that leads to one of them, at creation and at each call", async () => {
    for (const address of ["8.8.4.4", "::ffff:8.8.4.4", "::ffff:808:404", "2606:2800::1", "2606:2800:0:0:0:0:0:1"]) {
      const led: LookUpAddresses = async () => ({ kind: "found", addresses: [address] });
      expect(await reached("https://sly.test/", OWN, led)).toMatchObject({ kind: "refused" });
    }
  });

  test("by the address that the world finds our name at, though no interface has it", async () => {
    expect(await reached("https://mail.own.test/", OWN)).toMatchObject({ kind: "refused" });
    expect(await reached("https://9.9.9.9/", OWN)).toMatchObject({ kind: "refused" });
    dns["sly.test"] = ["9.9.9.9"];
    expect(await reached("https://sly.test/", OWN)).toMatchObject({ kind: "refused" });
    expect((await reached("https://away.test/", OWN)).kind).toBe("addresses");
  });

  test("unless the operator allows it; and a name of ours that nobody can look up refuses nothing", async () => {
    const allowing = { ...OWN, allowed: parseRanges(["8.8.4.0/24"]) };
    expect((await reached("https://8.8.4.4/", allowing)).kind).toBe("addresses");
    const unknown = { ...OWN, own: { addresses: [], names: ["gone.test"] } };
    expect((await reached("https://away.test/", unknown)).kind).toBe("addresses");
  });
});
