import { expect, test } from "bun:test";
import { isAbout, isSameSender } from "../../src/sms/receipt-match.ts";

test("a receipt is about the text that begins as it says", () => {
  expect(isAbout("O seu codigo: 482913", "O seu codigo: 482913. Nao o partilhe.")).toBe(true);
  expect(isAbout("o seu  codigo 4829", "O seu codigo: 482913.")).toBe(true);
  expect(isAbout("O seu codigo: 111111", "O seu codigo: 482913.")).toBe(false);
  expect(isAbout("Ola", "Ola")).toBe(true);
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
