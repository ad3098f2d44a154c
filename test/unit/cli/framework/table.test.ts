import { expect, test } from "bun:test";
import { type Column, tableLines } from "../../../../src/cli/framework/table.ts";
import { getWidth } from "../../../../src/cli/framework/screen.ts";
import { jsonLine, plain, say, timeText } from "../../../../src/cli/framework/text.ts";

interface Row {
  id: string;
  at: string | null;
  count: number;
  name: string;
}

const COLUMNS: Column<Row>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "CREATED", of: ({ at }) => at, kind: "time" },
  { title: "COUNT", of: ({ count }) => count },
  { title: "NAME", of: ({ name }) => name },
];

const ROWS: Row[] = [
  { id: "one", at: "2026-01-31T08:15:00.123Z", count: 7, name: "Loja da Maria" },
  { id: "another", at: null, count: 1200, name: "世界" },
];

test("on a screen columns stand under their titles, numbers to the right, times in UTC", () => {
  expect(tableLines(ROWS, COLUMNS, WIDE)).toEqual([
    "ID       CREATED (UTC)        COUNT  NAME",
    "one      2026-01-31 08:15:00      7  Loja da Maria",
    "another  -                     1200  世界",
  ]);
});

const WIDE = { width: 80, now: Date.parse("2026-03-01T12:00:00Z") };

test("on a narrow screen a text is cut, and no letter is halved", () => {
  const rows = [{ id: "i".repeat(60), at: null, count: 1, name: "👩‍🍳".repeat(12) }];
  const [, line = ""] = tableLines(rows, COLUMNS, { ...WIDE, width: 60 });
  expect(line).toStartWith(`${"i".repeat(20)}…  `);
  expect(line).toEndWith(`  ${"👩‍🍳".repeat(10)}…`);
  expect(getWidth(line)).toBeLessThanOrEqual(60);
});

test("where the whole times do not fit, a time within a day is the time alone, and another one its day", () => {
  const rows = ["2026-03-01T08:15:00.000Z", "2026-03-02T11:00:00.000Z", "2026-02-28T11:59:59.000Z"].map((at) => {
    return { id: "one", at, count: 7, name: "Loja" };
  });
  expect(tableLines(rows, COLUMNS, { ...WIDE, width: 34 })).toEqual([
    "ID   CREATED     COUNT  NAME",
    "one  08:15:00Z       7  Loja",
    "one  11:00:00Z       7  Loja",
    "one  2026-02-28      7  Loja",
  ]);
});

test("prose that does not fit stands beneath its row, wrapped at words; columns that do not fit follow from the right", () => {
  const columns: Column<Row>[] = [
    { title: "NAME", of: ({ name }) => name, kind: "status" },
    { title: "COUNT", of: ({ count }) => count },
    { title: "WHY", of: ({ id }) => id, kind: "prose" },
  ];
  const why = "451 4.7.1 Greylisted, come back in five minutes";
  const rows = [
    { id: why, at: null, count: 1, name: "delayed" },
    { id: "", at: null, count: 12, name: "due" },
  ];
  expect(tableLines(rows, columns, { ...WIDE, width: 30 })).toEqual([
    "NAME     COUNT",
    "delayed      1",
    "  WHY 451 4.7.1 Greylisted,",
    "    come back in five minutes",
    "due         12",
  ]);
  expect(tableLines(rows, columns, { ...WIDE, width: 12 }).slice(0, 4)).toEqual([
    "NAME",
    "delayed",
    "  COUNT 1",
    "    WHY 451",
  ]);
});

test("an id is as long as it must be to tell it from the others, and whole for programs", () => {
  const ids = ["01a20775-deb9-752e-b713-b27f80d0fe4b", "01a20775-deb9-752e-b7ff-b27f80d0fe4b"];
  const shown = (kind: "id" | "message", some: string[]) =>
    tableLines(some, [{ title: "ID", of: (id) => id, kind }], WIDE).slice(1);
  expect(shown("id", ids.slice(0, 1))).toEqual(["01a20775-deb9"]);
  expect(shown("message", ids.slice(0, 1))).toEqual(["01a20775-deb9-752e"]);
  expect(shown("id", ids)).toEqual(["01a20775-deb9-752e-b71", "01a20775-deb9-752e-b7f"]);
  expect(shown("id", [ids[0]!, ids[0]!])).toEqual(["01a20775-deb9", "01a20775-deb9"]);
  expect(tableLines(ids, [{ title: "ID", of: (id) => id, kind: "id" }], null)).toEqual(ids);
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
  for (const frame of [null, WIDE]) {
    const [line] = tableLines([{ id: evil, at: null, count: 1, name: evil }], COLUMNS, frame).slice(-1);
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
