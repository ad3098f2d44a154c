import { expect, test } from "bun:test";
import { createPasswords } from "../../../../src/modules/accounts/factors/passwords.ts";
import { findPasswordFault } from "../../../../src/modules/accounts/factors/password-rules.ts";
import { AppError } from "../../../../src/platform/errors.ts";

test("a password is stored as argon2id of 19 MiB, and known however its accents were typed", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("Palavra-passe é boa");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify("Palavra-passe e\u0301 boa", hash)).toBe(true);
  expect(await passwords.verify("palavra-passe é boa", hash)).toBe(false);
  expect(await passwords.verify("Palavra-passe é boa", null)).toBe(false);
});

test("two are checked at once and eight wait; the next are refused, and later ones are not", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("x");
  const ended = await Promise.allSettled(Array.from({ length: 13 }, () => passwords.verify("x", hash)));
  const refused = ended.filter((each) => each.status === "rejected");
  expect(refused).toHaveLength(3);
  for (const { reason } of refused) {
    expect(reason).toBeInstanceOf(AppError);
    expect(reason).toMatchObject({ code: "UNAVAILABLE", retryAfterS: 2 });
  }
  expect(await passwords.verify("x", hash)).toBe(true);
});

test("who was here before goes before those who guess from anywhere, and has a place beside theirs", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("x");
  const ended: string[] = [];
  const check = async (name: string, isKnown: boolean) => {
    await passwords.verify("x", hash, isKnown);
    ended.push(name);
  };
  const guesses = Array.from({ length: 10 }, () => check("guess", false));
  await Promise.all([...guesses, check("known", true)]);
  expect(ended.indexOf("known")).toBeLessThanOrEqual(4);
});

const OWNER = {
  email: "ana.macuacua@example.com",
  names: ["Ana Macuácua", "Loja da Maria", "mail.example.net"],
  hasSecondFactor: true,
};

test("a password has twelve characters with a second factor, fifteen without", () => {
  expect(findPasswordFault("éééabcdefgh", OWNER)).toMatch(/12/);
  expect(findPasswordFault("éééabcdefghi", OWNER)).toBeNull();
  expect(findPasswordFault("éééabcdefghijk", { ...OWNER, hasSecondFactor: false })).toMatch(/15/);
  expect(findPasswordFault("éééabcdefghijkl", { ...OWNER, hasSecondFactor: false })).toBeNull();
});

test("it is not an address, or a name of the person, workspace or server, with little beside it", () => {
  for (const password of [
    "ana.macuacua@example.com",
    "AnaMacuacua!!",
    "loja da maria 1",
    "Mail.Example.Net",
    "1mail-example-net2",
  ])
    expect([password, findPasswordFault(password, OWNER)]).toEqual([password, expect.stringMatching(/^must not be/)]);
  for (const password of ["a loja da maria abre cedo", "analfabetos calmos"])
    expect([password, findPasswordFault(password, OWNER)]).toEqual([password, null]);
});

test("it is none that many have, nor one made of few characters", () => {
  for (const password of [
    "password1234",
    "Password1234!",
    "1234567890123",
    "qwertyuiop12",
    "aaaaaaaaaaaaaa",
    "abcabcabcabcabc",
    "iloveyou12345",
  ])
    expect([password, findPasswordFault(password, OWNER)]).toEqual([password, expect.stringMatching(/^must not be/)]);
});
