import { expect, test } from "bun:test";
import { parseJsonObject } from "../../../../../src/platform/http/body/json.ts";
import { LargeText } from "../../../../../src/platform/http/body/large-text.ts";
import { freeOctets } from "../../../../../src/platform/free-octets.ts";

const LARGE = "QUJD".repeat(200_000);
const PLACEHOLDER = "\u{10fffd}large 0";

const parse = (text: string | Uint8Array) => parseJsonObject(Buffer.from(text)).value as Record<string, unknown>;

function read(text: unknown): string {
  if (!(text instanceof LargeText)) return `not large, but ${typeof text}`;
  const octets = new Uint8Array(text.length);
  text.copyTo(octets, 0, text.length);
  return Buffer.from(octets).toString("latin1");
}

test("a large member content is left as it came, and the rest is what JSON says", () => {
  const rest = { subject: "Olá 😀", "content ": "x", list: [1, null, { content: "short" }] };
  const json = `{"content" :\n "${LARGE}", "more":[{"content":"${LARGE}A"}], ${JSON.stringify(rest).slice(1)}`;
  const { content, more, ...others } = parse(json) as { content: unknown; more: { content: unknown }[] };
  expect(others).toEqual(rest);
  expect(read(content) === LARGE).toBe(true);
  expect(read(more[0]?.content) === `${LARGE}A`).toBe(true);
});

test("in a smaller body it is left too, where it is large itself", () => {
  expect(read(parse(`{"content":"${"QUJD".repeat(30_000)}"}`)["content"])).toBe("QUJD".repeat(30_000));
  expect(parse(`{"content":"${"QUJD".repeat(15_000)}"}`)).toEqual({ content: "QUJD".repeat(15_000) });
});

test.each([
  ["one with an escape", `{"content":"${LARGE}\\/"}`, `${LARGE}/`],
  ["another member", `{"html":"${LARGE}"}`, LARGE],
  ["one whose name is an escape's end", `{"x\\"content":"${LARGE}"}`, LARGE],
  ["one that is replaced by a later one", `{"content":"${LARGE}","content":"later"}`, "later"],
  ["one beside its placeholder", `{"content":"${LARGE}","a":"${PLACEHOLDER}"}`, LARGE],
  ["one beside its placeholder in escapes", `{"content":"${LARGE}","a":"\\udbff\\udffdlarge 0"}`, LARGE],
] as const)("%s is a string", (_, json, expected) => {
  const [value] = Object.values(parse(json));
  expect([typeof value, value === expected]).toEqual(["string", true]);
});

test.each([
  ["its end", `{"content":"${LARGE}`],
  ["a comma", `{"content":"${LARGE}" "a":1}`],
  ["the brace", `{"content":"${LARGE}"`],
])("JSON without %s is none", (_, json) => {
  expect(() => parse(json)).toThrow("not JSON");
});

test("the rest must be UTF-8; whoever reads a large text sees its octets, and none of a body that is gone", () => {
  const octets = Buffer.concat([Buffer.from(`{"content":"${LARGE}`), Buffer.of(0xff), Buffer.from('"}')]);
  expect(read(parse(octets)["content"]) === `${LARGE}\xff`).toBe(true);
  const broken = Buffer.concat([Buffer.from(`{"content":"${LARGE}","a":"`), Buffer.of(0xff), Buffer.from('"}')]);
  expect(() => parse(broken)).toThrow("it is not UTF-8");
  const body = new Uint8Array(Buffer.from(`{"content":"${LARGE}"}`));
  const { content } = parseJsonObject(body).value as { content: LargeText };
  freeOctets(body);
  expect(() => content.copyTo(new Uint8Array(LARGE.length), 0, LARGE.length)).toThrow("answered");
});
