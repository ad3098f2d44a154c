import { expect, test } from "bun:test";
import { isAbout, isSameSender, isSubmittedIn } from "../../../../../src/modules/sms/receipts/match.ts";

test("a receipt is about the text that begins as it says", () => {
  expect(isAbout("O seu codigo: 482913", "O seu codigo: 482913. Nao o partilhe.")).toBe(true);
  expect(isAbout("o seu  codigo 4829", "O seu codigo: 482913.")).toBe(true);
  expect(isAbout("O seu codigo: 111111", "O seu codigo: 482913.")).toBe(false);
  expect(isAbout("Ola", "Ola")).toBe(true);
  expect(isAbout("Ola", "Outra coisa")).toBe(false);
});

test("what it does not say, or what is mangled on the way, is neither for it nor against", () => {
  expect(isAbout(null, "O seu codigo")).toBeNull();
  expect(isAbout("O", "O seu codigo")).toBeNull();
  expect(isAbout("?\u0000", "Código")).toBeNull();
  expect(isAbout("Pague at\u00e9", "Pague até amanhã")).toBe(true);
  expect(isAbout("Pague at?", "Pague até amanhã")).toBe(true);
  expect(isAbout("\u6c34", "Água fria hoje")).toBeNull();
});

test("a sender is the same without its + and in capitals", () => {
  expect([isSameSender("+258840000000", "258840000000"), isSameSender("Loja", "LOJA")]).toEqual([true, true]);
  expect(isSameSender("Loja", "Banco")).toBe(false);
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("a submit date is that of the time of the submit, in any zone while the SMSC's is not known", () => {
  const at = Date.UTC(2026, 0, 1, 12, 7, 30);
  const span = { from: at, to: at };
  for (const zone of [-12, -3.5, 0, 2, 5.75, 14])
    for (const off of [-119, 0, 119]) expect(isSubmittedIn(at + zone * HOUR + off * 1_000, span, null)).toBe(true);
  for (const off of [-15 * HOUR, -6 * MINUTE, 6 * MINUTE, 15 * HOUR, 86_400_000])
    expect(isSubmittedIn(at + off, span, null)).toBe(false);
  expect(isSubmittedIn(null, span, null)).toBeNull();
});

test("once the SMSC's clock is known, no other zone is taken for it, nor a clock that is right for a wrong one", () => {
  const at = Date.UTC(2026, 0, 1, 12, 7, 30);
  const span = { from: at, to: at };
  expect(isSubmittedIn(at + 2 * HOUR, span, 2 * HOUR)).toBe(true);
  expect(isSubmittedIn(at + HOUR, span, 2 * HOUR)).toBe(false);
  expect(isSubmittedIn(at + 7 * MINUTE, span, 7 * MINUTE)).toBe(true);
  // Sent twice: any time between the two.
  expect(isSubmittedIn(at + HOUR, { from: at, to: at + 2 * HOUR }, 0)).toBe(true);
  expect(isSubmittedIn(at - HOUR, { from: at, to: at + 2 * HOUR }, 0)).toBe(false);
});
