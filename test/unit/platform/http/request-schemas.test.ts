import { describe, expect, test } from "bun:test";
import { Type, type TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import {
  type FieldError,
  findFieldErrors,
  integerText,
  checkName,
  objectWith,
  ruled,
  text,
  uuid,
} from "../../../../src/platform/http/request-schemas.ts";
import { cpuTime } from "../../../support/cpu-time.ts";

/** Whether `value` fits, and what is told when it does not. */
function check(schema: TSchema, value: unknown): string[] {
  const checker = TypeCompiler.Compile(schema);
  if (checker.Check(value)) return [];
  const faults = findFieldErrors(checker, value);
  // What is refused is always told why.
  expect(faults.length).toBeGreaterThan(0);
  return faults.map(({ path, message }) => `${JSON.stringify(path)} ${message}`);
}

const messages = (schema: TSchema, value: unknown) =>
  check(schema, value).map((fault) => fault.slice(fault.indexOf(" ") + 1));

describe("a text", () => {
  const field = text({ minLength: 1, maxLength: 3 });

  test.each([
    ["within its limits", "abc", []],
    ["of characters beyond the first plane, each of which counts once", "😀😀😀", []],
    ["one longer", "😀😀😀😀", ["must have at most 3 characters"]],
    ["far longer", "x".repeat(1_000_000), ["must have at most 3 characters"]],
    ["of combining marks, each of which counts", "e\u0301e\u0301", ["must have at most 3 characters"]],
    ["that is empty", "", ["must not be empty"]],
    ["with half a surrogate pair", "\ud83d", ["must be valid Unicode: it holds half of a surrogate pair"]],
    [
      "with the halves in the wrong order",
      "\ude00\ud83d",
      ["must be valid Unicode: it holds half of a surrogate pair"],
    ],
    ["that is a number", 5, ["must be a string, not a number"]],
    ["that is null", null, ["must be a string, not null"]],
    ["that is a list", ["a"], ["must be a string, not an array"]],
    ["that is an object", { length: 2 }, ["must be a string, not an object"]],
    ["that is true", true, ["must be a string, not true or false"]],
  ])("%s", (_, value, told) => {
    expect(messages(field, value)).toEqual(told);
  });

  test("has a lower limit in characters too", () => {
    const two = text({ minLength: 2, maxLength: 10 });
    expect(messages(two, "😀")).toEqual(["must have at least 2 characters"]);
    expect(messages(two, "😀😀")).toEqual([]);
    expect(messages(two, "ab")).toEqual([]);
  });

  test("may have a rule of its own, asked only once the rest is right", () => {
    const asked: string[] = [];
    const picky = text({ minLength: 1, maxLength: 5 }, (value) => {
      asked.push(value);
      return value === "no" ? "must not be no" : null;
    });
    expect(messages(picky, "no")).toEqual(["must not be no"]);
    expect(messages(picky, "yes")).toEqual([]);
    asked.length = 0;
    for (const wrong of ["", "toolong", 7, "\ud800"]) messages(picky, wrong);
    expect(asked).toEqual([]);
  });

  test("says its limits in the API docs", () => {
    expect(JSON.parse(JSON.stringify(text({ minLength: 1, maxLength: 3, format: "email", description: "x" })))).toEqual(
      {
        type: "string",
        minLength: 1,
        maxLength: 3,
        format: "email",
        description: "x",
      },
    );
  });
});

describe("a whole number in a query", () => {
  const field = integerText({ minimum: 1, maximum: 100, default: 20 });

  test.each(["1", "20", "100", "007"])("%p is one", (value) => {
    expect(check(field, value)).toEqual([]);
  });

  test.each([
    "0",
    "101",
    "-1",
    "1.5",
    "1e1",
    "0x10",
    "",
    " 1",
    "1\n",
    "١",
    "9".repeat(400),
    5,
    null,
    { list: ["1", "2"] },
    {},
  ])("%p is none", (value) => {
    const isList = typeof value === "object" && value !== null && "list" in value;
    expect(check(field, isList ? value.list : value)).toHaveLength(1);
  });
});

test.each([
  ["019aa5f0-1234-7abc-8def-0123456789ab", true],
  ["019AA5F0-1234-7ABC-8DEF-0123456789AB", true],
  ["019aa5f0-1234-7abc-8def-0123456789a", false],
  ["019aa5f012347abc8def0123456789ab", false],
  ["019aa5f0-1234-7abc-8def-0123456789ab\n", false],
  ["g19aa5f0-1234-7abc-8def-0123456789ab", false],
  [7, false],
  [null, false],
])("%p as a UUID: %p", (value, isOne) => {
  expect(messages(uuid(), value)).toEqual(isOne ? [] : ["must be a UUID"]);
});

const Person = objectWith(
  Type.Object(
    { name: text({ minLength: 1, maxLength: 5 }), nick: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  (value) =>
    value.nick !== undefined && value.name === value.nick ? { path: ["nick"], message: "must not be the name" } : null,
);

describe("the faults of an object", () => {
  test("are all told at once, one for each place", () => {
    expect(check(Person, { name: 5, nick: 6, other: 1 })).toEqual([
      '["other"] is not a member of this request',
      '["name"] must be a string, not a number',
      '["nick"] must be a string, not a number',
    ]);
  });

  test("name a missing member once, as missing", () => {
    expect(check(Person, {})).toEqual(['["name"] is required']);
  });

  test("include those of the rule over several members", () => {
    expect(check(Person, { name: "a", nick: "a" })).toEqual(['["nick"] must not be the name']);
    expect(check(Person, { name: "a", nick: "b" })).toEqual([]);
  });

  test("are one when it is none", () => {
    for (const value of [null, 5, "x", [], [{}], undefined]) {
      expect(check(Person, value)).toEqual([expect.stringMatching(/^\[\] must be an object, not /)]);
    }
  });

  test("tell of a stranger by its own name, however strange", () => {
    for (const name of ["", " ", "a.b", "a/b~c~1", "__proto__", "constructor", "12", "é", "x\ny"]) {
      const value = JSON.parse(`{"name":"a",${JSON.stringify(name)}:1}`) as unknown;
      expect(check(Person, value)).toEqual([`${JSON.stringify([name])} is not a member of this request`]);
    }
  });
});

describe("the faults within a list", () => {
  const People = Type.Object(
    { people: Type.Array(Person, { minItems: 1, maxItems: 3 }) },
    { additionalProperties: false },
  );

  test("name the item by its index", () => {
    expect(check(People, { people: [{ name: "a" }, { name: "" }, { name: "b", 0: 1 }] })).toEqual([
      '["people",1,"name"] must not be empty',
      '["people",2,"0"] is not a member of this request',
    ]);
  });

  test("tell of a list that is too short or too long", () => {
    expect(check(People, { people: [] })).toEqual(['["people"] must hold at least 1 item']);
    expect(check(People, { people: Array.from({ length: 4 }, () => ({ name: "a" })) })).toEqual([
      '["people"] must hold at most 3 items',
    ]);
  });

  test("do not grow with the items of a list that is far too long", () => {
    const startedAt = cpuTime();
    const faults = check(People, { people: Array.from({ length: 300_000 }, () => ({ x: 1 })) });
    expect(faults[0]).toBe('["people"] must hold at most 3 items');
    expect(faults.length).toBeLessThan(20_000);
    expect(cpuTime() - startedAt).toBeLessThan(2_000);
  });

  test("do not grow with the strangers in an object without end", () => {
    const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`m${i}`, 1]));
    expect(check(Person, value).length).toBeLessThan(20_000);
  });
});

test("a rule of one's own is checked in the same pass, and its faults stand under their place", () => {
  const even = ruled<number>(
    { type: "integer" },
    {
      isValid: (value) => typeof value === "number" && value % 2 === 0,
      findErrors: (value): FieldError[] => [
        { path: [], message: `must be even, not ${String(value)}` },
        { path: ["deep", 0], message: "is told too" },
      ],
    },
  );
  expect(check(Type.Object({ a: even, b: even }), { a: 2, b: 3 })).toEqual([
    '["b"] must be even, not 3',
    '["b","deep",0] is told too',
  ]);
});

test.each([
  [Type.Boolean(), "yes", "must be true or false, not a string"],
  [Type.Array(Type.String()), {}, "must be an array, not an object"],
  [Type.Object({}), null, "must be an object, not null"],
  [Type.Union([Type.Literal("a"), Type.Literal("b")], { description: "a or b" }), "c", "must be a or b"],
  [Type.Union([Type.Literal("a"), Type.Literal("b")]), "c", "has none of the allowed values"],
])("a value of another kind is told in words (%#)", (schema, value, told) => {
  expect(messages(schema, value)).toEqual([told]);
});

test("a name has something to see in it, by its pattern as by its rule", () => {
  const name = text({ minLength: 1, maxLength: 20 }, checkName);
  const pattern = new RegExp((name as unknown as { pattern: string }).pattern, "u");
  for (const fitting of ["Loja", " Loja da Maria ", "1", "é", "😀"]) {
    expect([fitting, messages(name, fitting), pattern.test(fitting)]).toEqual([fitting, [], true]);
  }
  for (const blank of [" ", "   ", "\u00a0", "\u3000 \u2003"]) {
    expect([blank, messages(name, blank), pattern.test(blank)]).toEqual([blank, ["must not be blank"], false]);
  }
  expect(messages(name, "a\tb")).toEqual(["must not hold control characters or line breaks"]);
});
