import { expect, test } from "bun:test";
import { buildExample, buildAnswerExample } from "../../src/api/docs/examples.ts";
import type { Json, Members } from "../../src/api/docs/json.ts";

const object = (properties: Members, required: string[]): Members => ({ type: "object", properties, required });

test.each<[what: string, schema: Members, example: Json | undefined]>([
  ["its own", { type: "string", examples: ["a"] }, "a"],
  ["its own before its members'", { ...object({ a: { examples: [1] } }, ["a"]), examples: [{ a: 2 }] }, { a: 2 }],
  ["those of its members", object({ a: { examples: [1] }, b: { examples: [null] } }, ["a"]), { a: 1, b: null }],
  [
    "without members that have none and need not be",
    object({ a: { examples: [1] }, b: { type: "string" } }, ["a"]),
    { a: 1 },
  ],
  ["a required choice's first", object({ a: { type: "string", enum: ["x", "y"] } }, ["a"]), { a: "x" }],
  ["yes, where it is required", object({ a: { type: "boolean" }, b: { type: "boolean" } }, ["a"]), { a: true }],
  ["a list of its item's", { type: "array", items: object({ a: { examples: [1] } }, ["a"]) }, [{ a: 1 }]],
  ["none, when a required member has none", object({ a: { type: "string" }, b: { examples: [1] } }, ["a"]), undefined],
  ["none of a list whose items have none", { type: "array", items: { type: "string" } }, undefined],
])("an example is %s", (_what, schema, example) => {
  expect(buildExample(schema)).toEqual(example);
});

test("of an answer what may be absent is, and ids, times, numbers and nulls are made up", () => {
  const schema = object(
    {
      id: { type: "string", format: "uuid" },
      at: { type: "string", format: "date-time" },
      isMade: { type: "boolean" },
      count: { type: "integer", minimum: 3 },
      state: { type: "string", enum: ["x", "y"] },
      reason: { type: ["string", "null"] },
      inner: { anyOf: [object({ a: { examples: [1] } }, ["a"]), { type: "null" }] },
      hint: { type: "string", examples: ["h"] },
    },
    ["id", "at", "isMade", "count", "state", "reason", "inner"],
  );
  expect(buildAnswerExample(schema)).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    at: expect.stringMatching(/Z$/),
    ...{ isMade: false, count: 3, state: "x", reason: null, inner: null },
  });
  // Words have to be given.
  expect(buildAnswerExample(object({ name: { type: "string" } }, ["name"]))).toBeUndefined();
});
