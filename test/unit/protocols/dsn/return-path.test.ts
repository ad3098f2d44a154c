import { createHmac } from "node:crypto";
import { describe, expect, test } from "bun:test";
import {
  isReturnPathOver,
  readReturnPath,
  RETURN_PATH_LIFE_MS,
  returnPath,
} from "../../../../src/protocols/dsn/return-path.ts";
import { isGenuine } from "../../../../src/protocols/dsn/signed-token.ts";
import { idTime, idToBytes, newId } from "../../../../src/platform/uuid.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { seeded } from "../../../support/db/temporary.ts";

// R43.

const KEY = new Uint8Array(32).fill(7);
const ID = "019aa5f0-1234-7abc-8def-0123456789ab";
const RECIPIENT = "maria@example.com";
const MADE = returnPath({ id: ID, recipient: RECIPIENT }, "bounce.loja.test", KEY);
const LOCAL = MADE.slice(0, MADE.indexOf("@"));

/** Whether mail to this local part is believed to be about a message of ours to `recipient`. */
function isTrustedReport(localPart: string, recipient = RECIPIENT, key = KEY): boolean {
  const read = readReturnPath(localPart);
  return read.kind === "token" && isGenuine(read, recipient, key);
}

test("a return path has a local part of 44 lower-case characters and the host that it was made for", () => {
  expect(LOCAL).toMatch(/^b\+[a-z2-7]{42}$/);
  expect(LOCAL).toHaveLength(44);
  expect(MADE).toBe(`${LOCAL}@bounce.loja.test`);
});

test("it is the same for each attempt, and another for each email, recipient and key", () => {
  expect(returnPath({ id: ID, recipient: RECIPIENT }, "bounce.loja.test", KEY)).toBe(MADE);
  const others = [
    returnPath({ id: ID.replace("1234", "1235"), recipient: RECIPIENT }, "bounce.loja.test", KEY),
    returnPath({ id: ID, recipient: "joao@example.com" }, "bounce.loja.test", KEY),
    returnPath({ id: ID, recipient: RECIPIENT }, "bounce.loja.test", new Uint8Array(32).fill(8)),
  ];
  expect(new Set([MADE, ...others]).size).toBe(4);
});

test("its proof is the beginning of an HMAC-SHA-256 of the id and the recipient", () => {
  for (const [length, recipient] of [
    [1, "a@b.test"],
    [32, RECIPIENT],
    [64, "joão@exemplo.test"],
    [32, "x".repeat(300)],
  ] as const) {
    const key = systemRandom.bytes(length);
    const made = returnPath({ id: ID, recipient }, "bounce.loja.test", key);
    const read = readReturnPath(made.slice(0, made.indexOf("@")));
    const expected = createHmac("sha256", key).update(idToBytes(ID)).update(recipient).digest().subarray(0, 10);
    expect(read.kind === "token" ? [...read.mac] : null).toEqual([...expected]);
  }
});

test("it tells which email it is about, and until when", () => {
  expect(readReturnPath(LOCAL)).toMatchObject({ kind: "token", id: ID });
  const isOver = (now: number, sendAt: number | null = null) => isReturnPathOver({ id: ID, sendAt }, now);
  const end = idTime(ID) + RETURN_PATH_LIFE_MS;
  expect([isOver(end - 1), isOver(end), isOver(end + 6, idTime(ID) + 7), isOver(end + 7, idTime(ID) + 7)]).toEqual([
    ...[false, true, false, true],
  ]);
  expect(RETURN_PATH_LIFE_MS).toBe(30 * 24 * 3_600_000);
  expect(isTrustedReport(LOCAL)).toBe(true);
});

test("it survives servers that fold the case of local parts", () => {
  expect(isTrustedReport(LOCAL.toUpperCase())).toBe(true);
  const mixed = [...LOCAL].map((character, i) => (i % 2 === 0 ? character.toUpperCase() : character)).join("");
  expect(isTrustedReport(mixed)).toBe(true);
  expect(readReturnPath(mixed)).toEqual(readReturnPath(LOCAL));
});

test("it is believed for the recipient that it was made for only, and under our key only", () => {
  expect(isTrustedReport(LOCAL, "joao@example.com")).toBe(false);
  expect(isTrustedReport(LOCAL, "")).toBe(false);
  expect(isTrustedReport(LOCAL, RECIPIENT, new Uint8Array(32).fill(8))).toBe(false);
});

test("no character of it can be changed", () => {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  for (let at = 2; at < LOCAL.length; at++) {
    for (const other of alphabet) {
      if (other === LOCAL.charAt(at)) continue;
      const forged = LOCAL.slice(0, at) + other + LOCAL.slice(at + 1);
      if (isTrustedReport(forged)) throw new Error(`${forged} is believed`);
    }
  }
});

test("the bits that the last character does not need have one spelling only", () => {
  const last = LOCAL.charAt(43);
  const spellings = [..."abcdefghijklmnopqrstuvwxyz234567"].filter(
    (other) => readReturnPath(LOCAL.slice(0, 43) + other).kind === "token",
  );
  expect(spellings).toContain(last);
  expect(spellings).toHaveLength(8); // 3 of its 5 bits count
});

describe("a local part of another form is none of ours", () => {
  test.each([
    ["empty", ""],
    ["another mailbox", "postmaster"],
    ["without the prefix", LOCAL.slice(2)],
    ["with another prefix", `c+${LOCAL.slice(2)}`],
    ["one character short", LOCAL.slice(0, -1)],
    ["one character long", `${LOCAL}a`],
    ["with characters that base32 does not have", `b+${"0".repeat(42)}`],
    ["with padding", `${LOCAL.slice(0, -1)}=`],
    ["with a space", `${LOCAL.slice(0, 20)} ${LOCAL.slice(21)}`],
    ["with a line end", `${LOCAL}\n`],
    ["with the host", MADE],
    ["of a megabyte", `b+${"a".repeat(1_000_000)}`],
    ["whose length changes with its case", `b+${"İ".repeat(21)}`],
  ])("%s", (_, localPart) => {
    expect(readReturnPath(localPart)).toEqual({ kind: "other" });
  });
});

test("a thousand random emails are each recognised, and none for another", () => {
  const paths = Array.from({ length: 1_000 }, (_, i) => {
    const id = newId(Date.UTC(2026, 0, 1) + i, systemRandom);
    const recipient = `r${i}@example.com`;
    return { id, recipient, local: returnPath({ id, recipient }, "h", KEY).slice(0, 44) };
  });
  for (const [i, { id, recipient, local }] of paths.entries()) {
    expect(readReturnPath(local)).toMatchObject({ kind: "token", id });
    expect(isTrustedReport(local, recipient)).toBe(true);
    expect(isTrustedReport(local, paths[(i + 1) % 1_000]!.recipient)).toBe(false);
  }
});

test("noise is refused without a throw, and what is read is written again in the same way", () => {
  const random = seeded(9);
  const characters = "abcdefghijklmnopqrstuvwxyz234567ABC+=b \0é";
  for (let round = 0; round < 5_000; round++) {
    const length = random() < 0.7 ? 42 : Math.floor(random() * 60);
    const noise = Array.from({ length }, () =>
      characters.charAt(Math.floor(random() * (random() < 0.5 ? 32 : characters.length))),
    ).join("");
    expect(isTrustedReport(`b+${noise}`)).toBe(false);
  }
});
