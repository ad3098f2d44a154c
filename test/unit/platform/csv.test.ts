import { expect, test } from "bun:test";
import { csvLine, readCsv } from "../../../src/platform/csv.ts";
import { seeded } from "../../support/db/temporary.ts";
import { cpuTime } from "../../support/cpu-time.ts";

const records = (text: string) => [...readCsv(text)];

test.each([
  [
    "a,b\r\nc,d\r\n",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  [
    "a,b\nc,d",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  [
    "a,b\rc,d\r",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  ['"a,b","c ""d"""', [["a,b", 'c "d"']]],
  ['"a\r\nb",c', [["a\r\nb", "c"]]],
  [' a , "b " ,c\t', [["a", "b ", "c"]]],
  [",", [["", ""]]],
  ["a,,", [["a", "", ""]]],
  ['""', []],
  ["", []],
  ["\n\r\n\n", []],
  ['"",x', [["", "x"]]],
  ["olá@exemplo.test,ção", [["olá@exemplo.test", "ção"]]],
] as [string, string[][]][])("%j is read as %j", (text, expected) => {
  expect(records(text).map((record) => ("fields" in record ? record.fields : record))).toEqual(expected);
});

test("a record is known by the number of the line that it begins on, blank ones counted", () => {
  const text = 'a\n\r\n"b\nb\r\nb",c\rd\n\n\ne';
  expect(records(text).map(({ line }) => line)).toEqual([1, 3, 6, 9]);
});

test("a fault costs its own line alone", () => {
  expect(records('good,1\nba"d,2\n"bad"x,3\ngood,4\n')).toEqual([
    { line: 1, fields: ["good", "1"] },
    { line: 2, fault: expect.stringContaining("a value that is not quoted") },
    { line: 3, fault: expect.stringContaining("between a closing quotation mark and the comma") },
    { line: 4, fields: ["good", "4"] },
  ]);
});

test("a quotation mark that is never closed ends the reading, and is told with its line", () => {
  expect(records('good\n\n"bad\nnot read\n')).toEqual([
    { line: 1, fields: ["good"] },
    { line: 3, fault: "a quotation mark is opened and never closed" },
  ]);
});

test("a hundred thousand lines and a quoted value of a megabyte are read in a moment", () => {
  const startedAt = cpuTime();
  const long = "x".repeat(1_000_000);
  const text = `${"maria@example.com,email,manual,\r\n".repeat(100_000)}"${long.replaceAll("x", 'x""')}"`;
  const all = records(text);
  expect(all).toHaveLength(100_001);
  expect(all.at(-1)).toEqual({ line: 100_001, fields: [long.replaceAll("x", 'x"')] });
  expect(cpuTime() - startedAt).toBeLessThan(5_000);
});

test.each([
  [["a", "b"], "a,b"],
  [["a,b", 'say "x"'], '"a,b","say ""x"""'],
  [["two\nlines", "a\rb"], '"two\nlines","a\rb"'],
  [[" spaces ", "in between"], '" spaces ",in between'],
  [["", ""], ","],
  // What a spreadsheet would compute.
  [["=1+1", "+a@x", "-a@x", "@sum(a1)"], "'=1+1,'+a@x,'-a@x,'@sum(a1)"],
  [["\t=1", "\r=1", '=cmd|"/c calc"!a1'], `'\t=1,"'\r=1","'=cmd|""/c calc""!a1"`],
  [["'=1", "''=1", "'a", "a=1", "o'neil@x"], "''=1,'''=1,'a,a=1,o'neil@x"],
  // Phone numbers are numbers.
  [["+258841234567", "-12", "+", "+1+1"], "+258841234567,-12,'+,'+1+1"],
])("%j is written as %j", (fields, line) => {
  expect(csvLine(fields)).toBe(line);
});

const PIECES = [
  "a",
  "@",
  ",",
  '"',
  '""',
  "\n",
  "\r\n",
  "\r",
  " ",
  "\t",
  "é",
  "😀",
  "=",
  ";",
  "'",
  "+",
  "-",
  "1",
  "x".repeat(300),
];

test("what is written is read back, whatever the values hold", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = seeded(seed);
    const pick = (below: number) => Math.floor(random() * below);
    const value = () => Array.from({ length: pick(6) }, () => PIECES[pick(PIECES.length)]).join("");
    const width = 2 + pick(4);
    const rows = Array.from({ length: 1 + pick(20) }, () => Array.from({ length: width }, value));
    for (const end of ["\r\n", "\n"]) {
      const read = records(rows.map((row) => csvLine(row) + end).join(""));
      expect([seed, read.map((record) => ("fields" in record ? record.fields : record))]).toEqual([seed, rows]);
    }
  }
});
