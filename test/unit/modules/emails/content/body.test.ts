import { expect, test } from "bun:test";
import { packBody, unpackBody } from "../../../../../src/modules/emails/content/body.ts";
import { seeded } from "../../../../support/db/temporary.ts";

const ROUND_TRIPS: [name: string, content: { html: string | null; text: string | null }][] = [
  ["text alone", { html: null, text: "Olá" }],
  ["html alone", { html: "<p>Olá</p>", text: null }],
  ["both", { html: "<p>Olá 😀</p>", text: "Olá 😀" }],
  ["neither", { html: null, text: null }],
  ["empty parts, which are not absent ones", { html: "", text: "" }],
  ["an empty html before a text", { html: "", text: "x" }],
  ["long html", { html: "<p>é</p>".repeat(10_000), text: null }],
  ["long text", { html: null, text: "€".repeat(10_000) }],
  ["long both", { html: "<p>é</p>".repeat(5_000), text: "é\r\n".repeat(5_000) }],
  ["just short of compression", { html: "x".repeat(511), text: null }],
  ["just compressed", { html: "x".repeat(512), text: null }],
  ["line ends of every kind, controls and a byte order mark", { html: "\ufeff\r\n\n\r\t\u0001", text: "\ufeffa" }],
  ["a million characters", { html: "😀<".repeat(333_333), text: null }],
];

test.each(ROUND_TRIPS)("what is packed comes out as it was: %s", async (_, content) => {
  expect(unpackBody(packBody(content))).toEqual(content);
});

test("random parts come out as they were", async () => {
  const random = seeded(3);
  const characters = ["a", "é", "€", "😀", "\n", "<", "\ufeff"];
  const part = () =>
    random() < 0.2
      ? null
      : Array.from({ length: Math.floor(random() * 900) }, () => characters[Math.floor(random() * 7)] ?? "").join("");
  for (let round = 0; round < 300; round++) {
    const content = { html: part(), text: part() };
    expect(unpackBody(packBody(content))).toEqual(content);
  }
});

test("long parts are compressed, short ones are not", async () => {
  expect(packBody({ html: "short", text: "short" }).encoding).toBe("plain");
  const long = packBody({ html: "<p>Hello</p>".repeat(1_000), text: "Hello ".repeat(1_000) });
  expect(long.encoding).toBe("zstd");
  expect(long.content.length).toBeLessThan(1_000);
});
