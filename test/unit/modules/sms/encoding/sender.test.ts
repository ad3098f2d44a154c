import { expect, test } from "bun:test";
import { sourceAddress } from "../../../../../src/modules/sms/encoding/source-address.ts";
import { type SenderKind, senderKind } from "../../../../../src/modules/workspaces/sender-kind.ts";

const IDS: [id: string, kind: SenderKind | null, ton: number, npi: number, address: string][] = [
  ["Loja Maria", "alphanumeric", 5, 0, "Loja Maria"],
  ["ABCDEFGHIJK", "alphanumeric", 5, 0, "ABCDEFGHIJK"],
  ["1A", "alphanumeric", 5, 0, "1A"],
  ["123", "short", 3, 0, "123"],
  ["84567", "short", 3, 0, "84567"],
  ["12345678", "short", 3, 0, "12345678"],
  ["123456789", "long", 1, 1, "123456789"],
  ["258841234567", "long", 1, 1, "258841234567"],
  ["+258841234567", "long", 1, 1, "258841234567"],
  ["+1234567", "long", 1, 1, "1234567"],
];

for (const [id, kind, ton, npi, address] of IDS) {
  test(`${id} is ${kind}, sent as ${ton}/${npi} ${address}`, () => {
    expect(senderKind(id)).toBe(kind);
    expect(sourceAddress(id)).toEqual({ ton, npi, address });
  });
}

test("what cannot be assigned has no kind and no address", () => {
  for (const id of ["", "12", "ABCDEFGHIJKL", "Água", " Loja", "...", "1234567890123456", "+12"])
    expect([id, senderKind(id), sourceAddress(id)]).toEqual([id, null, null]);
});

test("a route may name other types of number", () => {
  const types = { short: { ton: 0, npi: 1 } };
  expect(sourceAddress("84567", types)).toEqual({ ton: 0, npi: 1, address: "84567" });
  expect(sourceAddress("Loja", types)).toEqual({ ton: 5, npi: 0, address: "Loja" });
});
