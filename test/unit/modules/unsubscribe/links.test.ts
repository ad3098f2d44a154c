import { describe, expect, test } from "bun:test";
import { createUnsubscribeLinks } from "../../../../src/modules/unsubscribe/links.ts";
import { returnPath } from "../../../../src/protocols/dsn/return-path.ts";
import { seeded } from "../../../support/db/temporary.ts";

// RFC 2369 §3.2, RFC 8058 §3.1: the address is opaque and hard to forge.

const KEY = new Uint8Array(32).fill(7);
const ID = "019aa5f0-1234-7abc-8def-0123456789ab";
const settings = { findOrigin: () => "https://mail.example.net", mailHost: "bounce.example.net", key: KEY };
const links = createUnsubscribeLinks(settings);
const made = links.build(ID);
const TOKEN = made?.url.slice("https://mail.example.net/u/".length) ?? "";
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

test("an email has a page and an address for mail, with the same token", () => {
  expect(made).toEqual({ url: `https://mail.example.net/u/${TOKEN}`, mail: `u+${TOKEN}@bounce.example.net` });
  expect(TOKEN).toMatch(/^[a-z2-7]{42}$/);
  expect(links.readToken(TOKEN)).toBe(ID);
  expect(links.readLocalPart(`u+${TOKEN}`)).toBe(ID);
});

test("without a public URL there is none, and without incoming mail no address for it", () => {
  const none = createUnsubscribeLinks({ ...settings, findOrigin: () => null });
  expect([none.build(ID), none.isHosted(), links.isHosted()]).toEqual([null, false, true]);
  // What was sent before stays good.
  expect(none.readToken(TOKEN)).toBe(ID);
  expect(createUnsubscribeLinks({ ...settings, mailHost: null }).build(ID)).toEqual({
    url: made?.url ?? "",
    mail: null,
  });
});

test("it survives programs that fold the case", () => {
  expect(links.readToken(TOKEN.toUpperCase())).toBe(ID);
  expect(links.readLocalPart(`U+${TOKEN.toUpperCase()}`)).toBe(ID);
});

test("the token of a return path is none, though it names the same email and has the same form", () => {
  const path = returnPath({ id: ID, recipient: "maria@example.com" }, "h", KEY).slice(2, 44);
  const other = returnPath({ id: ID, recipient: "maria@example.com" }, "h", new Uint8Array(32).fill(8)).slice(2, 44);
  for (const token of [path, other]) expect([token.length, links.readToken(token)]).toEqual([42, null]);
});

test("no character of it can be changed, and no other key makes it", () => {
  for (let at = 0; at < TOKEN.length; at++) {
    for (const character of ALPHABET) {
      const forged = TOKEN.slice(0, at) + character + TOKEN.slice(at + 1);
      if (forged !== TOKEN && links.readToken(forged) !== null) throw new Error(`${forged} is believed`);
    }
  }
  const stranger = createUnsubscribeLinks({ ...settings, key: new Uint8Array(32).fill(8) });
  expect(stranger.readToken(TOKEN)).toBeNull();
});

describe("what is none of ours leads nowhere", () => {
  test.each([
    ["empty", ""],
    ["one character short", TOKEN.slice(0, -1)],
    ["one character long", `${TOKEN}a`],
    ["with the prefix of mail", `u+${TOKEN}`],
    ["with padding", `${TOKEN.slice(0, -1)}=`],
    ["with a NUL", `${TOKEN.slice(0, 20)}\0${TOKEN.slice(21)}`],
    ["with a line end", `${TOKEN.slice(0, -1)}\n`],
    ["of a megabyte", "a".repeat(1_000_000)],
    ["whose length changes with its case", "İ".repeat(42)],
    ["of digits that base32 does not have", "0".repeat(42)],
    ["of an id with any proof", `${TOKEN.slice(0, 26)}${"a".repeat(16)}`],
  ])("%s", (_, token) => {
    expect([links.readToken(token), links.readLocalPart(token.startsWith("u+") ? "u+" : `u+${token}`)]).toEqual([
      null,
      null,
    ]);
  });

  test("noise", () => {
    const random = seeded(11);
    for (let round = 0; round < 5_000; round++) {
      const noise = Array.from({ length: 42 }, () => ALPHABET.charAt(Math.floor(random() * 32))).join("");
      expect(links.readToken(noise)).toBeNull();
    }
  });
});

test("proofs are compared in constant time", async () => {
  const source = await Bun.file(new URL("../../../../src/protocols/dsn/signed-token.ts", import.meta.url)).text();
  const [, body = ""] = /export function isGenuine\(.*?\{\n(.*?)\n\}/s.exec(source) ?? [];
  expect(body).toContain("timingSafeEqual(token.mac, expected)");
  expect(body.replaceAll("token.mac.length === expected.length", "")).not.toContain("==");
});
