import { expect, test } from "bun:test";
import { readAddress, REASONS_OF } from "../../../../src/modules/suppressions/address.ts";

/** Spellings of one address, and the form in which it is kept. */
const SAME: [kept: string, ...spellings: string[]][] = [
  ["maria@example.com", "Maria@Example.COM", "MARIA@example.com", '"maria"@example.com', '"m\\aria"@Example.com'],
  ["maria+loja@example.com", "Maria+Loja@example.com"],
  ["+tag@example.com", "+TAG@example.com"],
  ["a.b@example.com", '"a.b"@example.com'],
  ['"a b"@example.com', '"A B"@EXAMPLE.com', '"a\\ b"@example.com'],
  ['"a@b"@example.com', '"A@B"@example.com'],
  ["a/b@example.com", "A/B@example.com"],
  ["a%b@example.com", "A%B@example.com"],
  ["maria@xn--bcher-kva.de", "maria@bücher.de", "maria@BÜCHER.de", "maria@xn--BCHER-kva.de", "maria@bu\u0308cher.de"],
  ["joão@example.com", "joa\u0303o@example.com", "JOÃO@example.com"],
  ["用户@xn--r8jz45g.xn--zckzah", "用户@例え.テスト", "用户@例え。テスト"],
  ["+258841234567"],
];

test("an address is the same however it is written, and its kept form is read as itself", () => {
  for (const [kept, ...spellings] of SAME) {
    const channel = kept.includes("@") ? "email" : "sms";
    for (const spelling of [kept, ...spellings])
      expect([spelling, readAddress(spelling)]).toEqual([spelling, { kind: "address", channel, address: kept }]);
  }
});

test("what differs in more than spelling is another address: plus-tags, dots, hosts", () => {
  const all = [
    ...SAME.map(([kept]) => kept),
    ...["mar.ia@example.com", "maria@mail.example.com", "maria+@example.com", "joao@example.com"],
    ...['"a  b"@example.com', "maria@example.com.br", "+258841234568"],
  ];
  const kept = all.map((text) => {
    const read = readAddress(text);
    return read.kind === "address" ? read.address : text;
  });
  expect(new Set(kept).size).toBe(all.length);
});

const REFUSED: [text: string, says: RegExp][] = [
  ["", /neither an email address nor a phone number/],
  ["maria", /neither an email address nor a phone number/],
  ["maria@example.com.", /the domain ends with a dot/],
  ["maria.@example.com", /dot/],
  ["maria@localhost", /needs a dot/],
  ["maria@[192.0.2.1]", /IP address/],
  [" maria@example.com", /space/],
  ["Maria <maria@example.com>", /not allowed|space/],
  ["maria@example.com\n", /invisible/],
  ["maria\u200b@example.com", /invisible/],
  ["a@example.com,b@example.com", /exactly one/],
  ["258841234567", /not a phone number: write \+/],
  ["+258 84 123 4567", /only digits/],
  ["(84) 123-4567", /only digits/],
  ["+0841234567", /not a phone number/],
  ["+123456", /not a phone number/],
  ["+1234567890123456", /not a phone number/],
  ["+２５８８４１２３４５６７", /neither/],
  ["@", /nothing before/],
  [`${"x".repeat(65)}@example.com`, /longer than 64/],
  ["x".repeat(20_000), /neither/],
  [`${"x".repeat(20_000)}@example.com`, /too long/],
];

test("what is no address is refused with what to write instead", () => {
  for (const [text, says] of REFUSED) {
    const read = readAddress(text);
    expect([text.slice(0, 40), read.kind]).toEqual([text.slice(0, 40), "fault"]);
    if (read.kind === "fault") expect(read.message).toMatch(says);
  }
});

test("whatever letter is in an address, its kept form is read as itself", () => {
  const unstable: string[] = [];
  // The scripts that have capitals, and a part of the others.
  const ranges = [
    [0x21, 0x3100],
    [0xa640, 0xac00],
    [0xff00, 0x1_0600],
  ];
  const letters = ranges.flatMap(([from = 0, to = 0]) =>
    Array.from({ length: to - from }, (_, index) => String.fromCodePoint(from + index)),
  );
  for (const letter of letters) {
    for (const text of [`${letter}@example.com`, `a${letter}Σ@example.com`, `a@b${letter}c.example.com`]) {
      const read = readAddress(text);
      if (read.kind === "fault") continue;
      const again = readAddress(read.address);
      if (again.kind === "fault" || again.address !== read.address) unstable.push(text);
    }
  }
  expect(unstable).toEqual([]);
});

test("every channel has the reason that a person gives", () => {
  for (const reasons of Object.values(REASONS_OF)) expect(reasons).toContain("manual");
});
