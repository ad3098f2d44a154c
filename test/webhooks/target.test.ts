import { expect, test } from "bun:test";
import { parseRanges } from "../../src/net/address.ts";
import { type Look, parseTarget, reach, type TargetRules } from "../../src/webhooks/target.ts";

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
      const look: Look = async () => ({ kind: "found", addresses: ["93.184.215.14", address] });
      expect([address, (await reach(parsed.target, STRICT, look)).kind]).toEqual([address, "refused"]);
    }
  });
}

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
  expect(await reach(parsed.target, rules, async () => ({ kind: "found", addresses: ["10.1.9.9"] }))).toEqual({
    kind: "addresses",
    addresses: ["10.1.9.9"],
  });
});
