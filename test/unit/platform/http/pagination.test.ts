import { describe, expect, test } from "bun:test";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { AppError } from "../../../../src/platform/errors.ts";
import {
  createListPages,
  type Position,
  CursorQuery,
  buildPageMeta,
  parsePage,
  PageQuery,
} from "../../../../src/platform/http/pagination.ts";
import { seeded } from "../../../support/db/temporary.ts";

const LIST = "list";
const PAGES = createListPages(new Uint8Array(32).fill(7));

/** Where a request begins to read, and how much. */
function readPlace(query: { cursor?: string; limit?: string }, list: string, pages = PAGES) {
  let place: { before: Position | null; limit: number } | null = null;
  const read = (before: Position | null, limit: number): Position[] => {
    place = { before, limit };
    return [];
  };
  pages.list(query, list, read, (row) => row);
  return place!;
}

/** The page that is answered when these rows are read. */
function pageOf<Row extends Position>(rows: Row[], limit: number, list: string) {
  const { data, meta } = PAGES.list(
    { limit: `${limit}` },
    list,
    () => rows,
    (row) => row,
  );
  return { rows: data, meta };
}

describe("pages", () => {
  test("begin at 1 and hold 20 items unless the query says otherwise", () => {
    expect(parsePage({})).toEqual({ page: 1, limit: 20, offset: 0 });
    expect(parsePage({ page: "3", limit: "50" })).toEqual({ page: 3, limit: 50, offset: 100 });
  });

  test("may be as far off as the query's rule allows without leaving whole numbers", () => {
    const checker = TypeCompiler.Compile(PageQuery);
    const far = [9, 10, 15, 16]
      .map((digits) => "9".repeat(digits))
      .filter((page) => checker.Check({ page, limit: "100" }));
    expect(far.length).toBeGreaterThan(0);
    for (const page of far) expect(Number.isSafeInteger(parsePage({ page, limit: "100" }).offset)).toBe(true);
  });

  test.each([
    [0, 20, 1],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [100, 1, 100],
    [199, 100, 2],
  ])("%p items by %p make %p", (total, limit, lastPage) => {
    expect(buildPageMeta(total, { page: 1, limit })).toEqual({ total, perPage: limit, page: 1, lastPage });
  });
});

describe("a cursor", () => {
  test("leads from one page to the next through every item once", () => {
    const all = Array.from({ length: 53 }, (_, i) => ({ createdAt: 1_000 - Math.floor(i / 7), id: 500 - i }));
    const seen: number[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 20; page++) {
      const { before, limit } = readPlace({ limit: "7", ...(cursor === undefined ? {} : { cursor }) }, LIST);
      const rest = all.filter(
        (row) =>
          before === null ||
          row.createdAt < before.createdAt ||
          (row.createdAt === before.createdAt && row.id < before.id),
      );
      const shown = pageOf(rest.slice(0, limit + 1), limit, LIST);
      seen.push(...shown.rows.map((row) => row.id));
      expect(shown.meta.has_more).toBe(shown.meta.next_cursor !== null);
      if (shown.meta.next_cursor === null) break;
      cursor = shown.meta.next_cursor;
    }
    expect(seen).toEqual(all.map((row) => row.id));
  });

  test("is null after the last page, full or not", () => {
    const rows = [
      { createdAt: 1, id: 1 },
      { createdAt: 0, id: 0 },
    ];
    expect(pageOf(rows, 2, LIST)).toEqual({ rows, meta: { has_more: false, next_cursor: null } });
    expect(pageOf([], 2, LIST).meta).toEqual({ has_more: false, next_cursor: null });
  });

  test("fits the query's rule", () => {
    const { next_cursor } = pageOf(
      [
        { createdAt: 2 ** 48 - 1, id: 2 ** 48 - 1 },
        { createdAt: 0, id: 0 },
      ],
      1,
      LIST,
    ).meta;
    expect(TypeCompiler.Compile(CursorQuery).Check({ cursor: next_cursor })).toBe(true);
    expect(readPlace({ cursor: next_cursor! }, LIST).before).toEqual({
      createdAt: 2 ** 48 - 1,
      id: 2 ** 48 - 1,
    });
  });

  const given = (list = LIST): string => {
    const rows = [
      { createdAt: 1_800_000_000_123, id: 456 },
      { createdAt: 0, id: 0 },
    ];
    return pageOf(rows, 1, list).meta.next_cursor ?? "";
  };

  function expectRefused(cursor: string, list = LIST): void {
    let thrown: unknown = null;
    try {
      readPlace({ cursor }, list);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(AppError);
    expect((thrown as AppError).code).toBe("VALIDATION_ERROR");
    expect((thrown as AppError).items?.[0]).toMatchObject({ field: "cursor" });
  }

  test("that was cut anywhere, or has anything more, is refused", () => {
    const cursor = given();
    expect(readPlace({ cursor }, LIST).before).toEqual({ createdAt: 1_800_000_000_123, id: 456 });
    for (let length = 0; length < cursor.length; length++) {
      expectRefused(cursor.slice(0, length));
      expectRefused(cursor.slice(cursor.length - length));
      expectRefused(`${cursor.slice(0, length)}x${cursor.slice(length)}`);
      expectRefused(`${cursor.slice(0, length)}.${cursor.slice(length)}`);
    }
    for (const more of ["=", " ", "A", "\n", cursor]) expectRefused(cursor + more);
  });

  test("with any of its characters changed is refused", () => {
    const cursor = given();
    for (const [index, character] of [...cursor].entries()) {
      for (const other of "AZaz09-_=") {
        if (other !== character) expectRefused(cursor.slice(0, index) + other + cursor.slice(index + 1));
      }
    }
  });

  test("tells nothing of the ids of others: two that follow each other have nothing in common", () => {
    const at = (id: number) =>
      pageOf(
        [
          { createdAt: 5, id },
          { createdAt: 0, id: 0 },
        ],
        1,
        LIST,
      ).meta.next_cursor ?? "";
    expect(at(7)).toBe(at(7));
    expect(Buffer.from(at(7), "base64url").subarray(0, 4)).not.toEqual(Buffer.from(at(8), "base64url").subarray(0, 4));
    expect(() => readPlace({ cursor: at(7) }, LIST, createListPages(new Uint8Array(32).fill(8)))).toThrow();
  });

  test("of another list is refused", () => {
    expect(readPlace({ cursor: given("domains") }, "domains").before?.id).toBe(456);
    for (const [from, to] of [
      ["domains", "keys"],
      ["domains", ""],
      ["", "domains"],
    ])
      expectRefused(given(from), to);
  });

  test.each([
    "",
    "x",
    "MTIz",
    "MS4y.",
    // The place alone.
    Buffer.from("1.2").toString("base64url"),
    Buffer.from("1.2.3").toString("base64url"),
    Buffer.from("-1.2").toString("base64url"),
    Buffer.from("1.2\n").toString("base64url"),
    Buffer.from("1e9.2").toString("base64url"),
    Buffer.from(`${"9".repeat(17)}.1`).toString("base64url"),
    "\u0000",
    "é",
  ])("that nobody gave out is refused with its field: %p", (cursor) => expectRefused(cursor));

  test("of noise is refused", () => {
    const random = seeded(8);
    for (let round = 0; round < 3_000; round++) {
      const length = 1 + Math.floor(random() * 30);
      const codes = Array.from({ length }, () => 32 + Math.floor(random() * 95));
      expectRefused(String.fromCharCode(...codes));
    }
  });
});
