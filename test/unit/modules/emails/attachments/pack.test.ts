import { createHash, randomBytes as noise } from "node:crypto";
import { expect, test } from "bun:test";
import { listPieces, packAttachment, unpackPiece } from "../../../../../src/modules/emails/attachments/pack.ts";

const MIB = 1024 * 1024;
const words = (bytes: number) => Buffer.alloc(bytes, "a bill that says the same on every line\n");

const pack = (text: string) => packAttachment({ base64: new TextEncoder().encode(text) });

function packed(content: Buffer) {
  const result = pack(content.toString("base64"));
  if (result.kind !== "packed") throw new Error("it is base64");
  return result;
}

test.each([
  ["nothing", Buffer.alloc(0), 0, "plain"],
  ["a byte", Buffer.from("x"), 1, "plain"],
  ["noise", noise(100_000), 1, "plain"],
  ["words", words(100_000), 1, "zstd"],
  ["as much noise as a piece holds", noise(MIB), 1, "plain"],
  ["a byte more", noise(MIB + 1), 2, "plain"],
  ["many words", words(3 * MIB + 5), 4, "zstd"],
] as const)("%s: its bytes come back piece by piece", (_, content, pieces, encoding) => {
  const file = packed(content);
  expect([file.bytes, file.pieceBytes.length, file.encoding]).toEqual([content.length, pieces, encoding]);
  expect(Buffer.from(file.sha256).toString("hex")).toBe(createHash("sha256").update(content).digest("hex"));
  const parts = listPieces(file).map((piece) => unpackPiece(piece, file.encoding));
  expect(Buffer.concat(parts).equals(content)).toBe(true);
  expect(parts.every((part) => part.length <= MIB)).toBe(true);
  expect(listPieces(file).reduce((sum, { length }) => sum + length, 0)).toBe(file.stored.length);
});

test.each([
  ["QQ==", true],
  ["QUI=", true],
  ["", true],
  ["QQ", false],
  ["QQ=", false],
  ["QQ===", false],
  ["====", false],
  ["Q=Q=", false],
  ["QQ==\n", false],
  ["QQ\n==", false],
  ["QQ==QQ==", false],
  ["Q Q=", false],
  ["-_-_", false],
  ["data:application/pdf;base64,QQ==", false],
  ["QUJ\u0141", false],
  ["QU\0A", false],
])("%j is base64: %p", (text, isBase64) => {
  expect(pack(text).kind === "packed").toBe(isBase64);
});
