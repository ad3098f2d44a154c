import { expect, test } from "bun:test";
import { type Column, tableLines } from "../../../../src/cli/framework/table.ts";
import { jsonLine, plain, say, timeText } from "../../../../src/cli/framework/text.ts";

interface Row {
  id: string;
  at: string | null;
  count: number;
  name: string;
}

const COLUMNS: Column<Row>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "CREATED", of: ({ at }) => at, isTime: true },
  { title: "COUNT", of: ({ count }) => count },
  { title: "NAME", of: ({ name }) => name },
];

const ROWS: Row[] = [
  { id: "one", at: "2026-01-31T08:15:00.123Z", count: 7, name: "Loja da Maria" },
  { id: "another", at: null, count: 1200, name: "世界" },
];

test("on a screen columns stand under their titles, numbers to the right, times in UTC", () => {
  expect(tableLines(ROWS, COLUMNS, 80)).toEqual([
    "ID       CREATED (UTC)        COUNT  NAME",
    "one      2026-01-31 08:15:00      7  Loja da Maria",
    "another  -                     1200  世界",
  ]);
});

test("on a narrow screen the last column is cut, and no letter is halved", () => {
  const rows = [{ id: "x", at: null, count: 1, name: "👩‍🍳👩‍🍳👩‍🍳👩‍🍳👩‍🍳👩‍🍳👩‍🍳" }];
  const [, line = ""] = tableLines(rows, COLUMNS, 30);
  expect(line).toEndWith("👩‍🍳👩‍🍳👩‍🍳👩‍🍳…");
  const wide = tableLines([{ id: "i".repeat(60), at: null, count: 1, name: "n" }], COLUMNS, 80);
  expect(wide[1]).toStartWith(`${"i".repeat(39)}…  `);
});

test("for other programs a row is a line, with one tab between columns, in full and without titles", () => {
  const rows = [...ROWS, { id: "i".repeat(60), at: null, count: -1, name: "tab\there,\nline and   spaces " }];
  expect(tableLines(rows, COLUMNS, null)).toEqual([
    "one\t2026-01-31T08:15:00.123Z\t7\tLoja da Maria",
    "another\t-\t1200\t世界",
    `${"i".repeat(60)}\t-\t-1\ttab here, line and   spaces `,
  ]);
});

test("no name moves a terminal's cursor, turns its text around or begins a line", () => {
  const evil = "a\u001b[2Jb\u009bc\rd\u202ee\u2028f\u0000g\u2067";
  expect(plain(evil)).toBe("a\ufffd[2Jb\ufffdc d\ufffde\ufffdf\ufffdg\ufffd");
  expect(plain("Maria\nID  x")).toBe("Maria ID  x");
  expect(plain("👩‍🍳 Olá")).toBe("👩‍🍳 Olá");
  for (const width of [null, 80]) {
    const [line] = tableLines([{ id: evil, at: null, count: 1, name: evil }], COLUMNS, width).slice(-1);
    expect(line?.replaceAll("\t", "")).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
  }
  expect(say`Workspace ${evil} has ${2}.`).not.toContain("\u001b");
  // A program gets the name as it is, and a terminal that shows the line is left alone.
  const json = jsonLine({ name: evil });
  expect(JSON.parse(json)).toEqual({ name: evil });
  expect(json).toMatch(/^[\x20-\x7e]+$/);
});

test("a time is told to the second, in UTC", () => {
  expect(timeText("2026-01-31T08:15:00.123Z")).toBe("2026-01-31 08:15:00 UTC");
});
