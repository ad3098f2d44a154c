import { expect, test } from "bun:test";
import { exampleOf } from "../../src/docs/examples.ts";
import type { Json, Members } from "../../src/http/document.ts";

const object = (properties: Members, required: string[]): Members => ({ type: "object", properties, required });

test.each<[what: string, schema: Members, example: Json | undefined]>([
  ["its own", { type: "string", example: "a" }, "a"],
  ["its own before its members'", { ...object({ a: { example: 1 } }, ["a"]), example: { a: 2 } }, { a: 2 }],
  ["those of its members", object({ a: { example: 1 }, b: { example: null } }, ["a"]), { a: 1, b: null }],
  [
    "without members that have none and need not be",
    object({ a: { example: 1 }, b: { type: "string" } }, ["a"]),
    { a: 1 },
  ],
  ["a required choice's first", object({ a: { type: "string", enum: ["x", "y"] } }, ["a"]), { a: "x" }],
  ["yes, where it is required", object({ a: { type: "boolean" }, b: { type: "boolean" } }, ["a"]), { a: true }],
  ["a list of its item's", { type: "array", items: object({ a: { example: 1 } }, ["a"]) }, [{ a: 1 }]],
  ["none, when a required member has none", object({ a: { type: "string" }, b: { example: 1 } }, ["a"]), undefined],
  ["none of a list whose items have none", { type: "array", items: { type: "string" } }, undefined],
])("an example is %s", (_what, schema, example) => {
  expect(exampleOf(schema)).toEqual(example);
});
