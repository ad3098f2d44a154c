import { expect, test } from "bun:test";
import {
  canonicalBody,
  type Canonicalization,
  canonicalField,
  selectFields,
  splitMessage,
} from "../../../../src/protocols/dkim/canonicalize.ts";

const body = (text: string, form: Canonicalization) =>
  Buffer.from(canonicalBody(Buffer.from(text, "latin1"), form)).toString("latin1");

const BODIES: [what: string, text: string, simple: string, relaxed: string][] = [
  ["the example of RFC 6376 §3.4.5", " C \r\nD \t E\r\n\r\n\r\n", " C \r\nD \t E\r\n", " C\r\nD E\r\n"],
  ["no body", "", "\r\n", ""],
  ["empty lines only", "\r\n\r\n", "\r\n", ""],
  ["white space only", " \t\r\n \r\n", " \t\r\n \r\n", ""],
  ["white space without a line end", " \t", " \t\r\n", ""],
  ["no line end at the end", "a \t", "a \t\r\n", "a\r\n"],
  ["empty lines between", "a\r\n\r\n b", "a\r\n\r\n b\r\n", "a\r\n\r\n b\r\n"],
  ["a CR that stands alone is content", "a \rb \r\r\n", "a \rb \r\r\n", "a \rb \r\r\n"],
  ["CRs at the end are content", "a\r\r\n\r", "a\r\r\n\r\r\n", "a\r\r\n\r\r\n"],
  ["an LF that stands alone is content", "a \nb \n", "a \nb \n\r\n", "a \nb \n\r\n"],
  ["only space and tab are white space", "a\v\f\xa0\x85 \r\n", "a\v\f\xa0\x85 \r\n", "a\v\f\xa0\x85\r\n"],
];

for (const [what, text, simple, relaxed] of BODIES) {
  test(`canonical body (R60): ${what}`, () => {
    expect(body(text, "simple")).toBe(simple);
    expect(body(text, "relaxed")).toBe(relaxed);
  });
}

function relaxByExpression(text: string): string {
  const lines = text.split("\r\n").map((line) => line.replace(/[ \t]+/g, " ").replace(/ $/, ""));
  return `${lines.join("\r\n").replace(/(?:\r\n)+$/, "")}\r\n`.replace(/^\r\n$/, "");
}

test("a relaxed body holds for every combination of spaces and line ends, against a regular expression", () => {
  const alphabet = [" ", "\t", "\r\n", "x", "\r"];
  for (let n = 0; n < 5 ** 6; n++) {
    const text = Array.from({ length: 6 }, (_, i) => alphabet[Math.floor(n / 5 ** i) % 5]).join("");
    const wanted = relaxByExpression(text);
    if (body(text, "relaxed") !== wanted) expect([text, body(text, "relaxed")]).toEqual([text, wanted]);
  }
});

const FIELDS: [raw: string, relaxed: string][] = [
  ["A: X", "a:X"],
  ["B : Y\t\r\n\tZ  ", "b:Y Z"],
  ["SUBJect:  a \r\n  b\t\tc ", "subject:a b c"],
  ["Subject:", "subject:"],
  ["Subject: \r\n ", "subject:"],
  ["X-Nbsp: \xa0x\xa0", "x-nbsp:\xa0x\xa0"],
];

test("a relaxed body holds around long stretches without white space, whatever their length and end", () => {
  for (const length of [4_095, 4_096, 4_097, 4_098, 8_191, 8_192, 8_193, 12_300]) {
    for (const unit of ["x", `${"y".repeat(76)}\r\n`, "\r\n\r\nz", "\r"]) {
      const stretch = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
      for (const end of ["", " ", "\r\n", "\r\n\r\n", " \r\n", "\r\n x", "\t\r\n\r\n\r\n", "\n", "\r"]) {
        const text = `a  b \r\n${stretch}${end}${stretch} \r\n${stretch}${end}`;
        expect(body(text, "relaxed") === relaxByExpression(text)).toBe(true);
      }
    }
  }
});

for (const [raw, relaxed] of FIELDS) {
  test(`relaxed field ${JSON.stringify(raw)}`, () => {
    expect(canonicalField(raw, "relaxed")).toBe(relaxed);
    expect(canonicalField(raw, "simple")).toBe(raw);
  });
}

/** Raw fields and body. */
function split(text: string) {
  const { fields, body: rest } = splitMessage(Buffer.from(text, "latin1"));
  return [fields.map(({ raw }) => raw), Buffer.from(rest).toString("latin1")];
}

test("a message is split at the first empty line, and may have no body or no header", () => {
  expect(split("A: 1\r\n b\r\nC: 2\r\n\r\nx\r\n\r\ny")).toEqual([["A: 1\r\n b", "C: 2"], "x\r\n\r\ny"]);
  expect(split("A: 1\r\n\r\n")).toEqual([["A: 1"], ""]);
  expect(split("A: 1\r\n")).toEqual([["A: 1"], ""]);
  expect(split("A: 1")).toEqual([["A: 1"], ""]);
  expect(split("\r\nx")).toEqual([[], "x"]);
  expect(split("")).toEqual([[], ""]);
});

test("repeated fields are taken from the last upwards, and a name beyond them is nothing (R58)", () => {
  const { fields } = splitMessage(Buffer.from("A: 1\r\nB: x\r\na: 2\r\n\r\n", "latin1"));
  expect(selectFields(fields, ["a", "A", "a", "c"], "relaxed")).toBe("a:2\r\na:1\r\n");
});
