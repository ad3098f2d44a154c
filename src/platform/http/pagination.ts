// Pages of lists, by number or by cursor.

import { Type } from "@sinclair/typebox";
import { createCursorCipher } from "./cursor.ts";
import { integerText, text } from "./request-schemas.ts";
import type { AppError } from "../errors.ts";
import { validationError } from "./errors.ts";
import { namedObject } from "./openapi.ts";
import { orNull } from "./answer-schemas.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const MAX_CURSOR = 512;
/** A page past the end is empty. */
const MAX_PAGE = 1_000_000_000;

const limit = integerText({
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  description: "The number of items on a page.",
});

export const PageQuery = Type.Object({
  page: Type.Optional(integerText({ minimum: 1, maximum: MAX_PAGE, default: 1, description: "The page, from 1." })),
  limit: Type.Optional(limit),
});

export const CursorQuery = Type.Object({
  cursor: Type.Optional(
    text({ minLength: 1, maxLength: MAX_CURSOR, description: "`meta.next_cursor` of the previous page." }),
  ),
  limit: Type.Optional(limit),
});

export const PageMeta = namedObject("PageMeta", {
  total: Type.Integer({ minimum: 0, description: "Items on all pages.", examples: [1] }),
  perPage: Type.Integer({
    minimum: 1,
    maximum: MAX_LIMIT,
    description: "The number of items on a page.",
    examples: [20],
  }),
  page: Type.Integer({ minimum: 1, description: "This page." }),
  lastPage: Type.Integer({ minimum: 1, description: "The last page with items, at least 1." }),
});

export const CursorMeta = namedObject("CursorMeta", {
  has_more: Type.Boolean({ description: "Whether there is a next page." }),
  next_cursor: orNull(Type.String(), "Null on the last page."),
});

export function parsePage(query: { page?: string; limit?: string }): { page: number; limit: number; offset: number } {
  const page = Number(query.page ?? 1);
  const perPage = Number(query.limit ?? DEFAULT_LIMIT);
  return { page, limit: perPage, offset: (page - 1) * perPage };
}

export function buildPageMeta(total: number, page: { page: number; limit: number }): typeof PageMeta.static {
  return { total, perPage: page.limit, page: page.page, lastPage: Math.max(1, Math.ceil(total / page.limit)) };
}

/** Where a page of a list ended: newest first, so that the next page is older. */
export interface Position {
  createdAt: number;
  id: number;
}

/** Of a page, and one row more when there are more. */
export interface ListedRows<Row> {
  rows: (Row & Position)[];
  /** Older rows were not looked at, whatever is among them; null or absent: all were. */
  lookedUpTo?: Position | null;
}

/** Answers pages of lists; a cursor is only valid for the list of its name. */
export type ListPages = ReturnType<typeof createListPages>;

/** Cursors hold the place, see cursor.ts, and a checksum of the list's name. `key`: 32 bytes for this use only. */
export function createListPages(key: Uint8Array) {
  const cipher = createCursorCipher(key);
  const write = ({ createdAt, id }: Position, list: string) =>
    cipher.write({ place: [createdAt, id], list: Bun.hash.crc32(list) });
  const read = (cursor: string, list: string): Position => {
    const known = cipher.read(cursor);
    if (known?.list !== Bun.hash.crc32(list)) throw badCursor();
    const [createdAt, id] = known.place;
    return { createdAt, id };
  };
  return {
    write,
    /** Throws for a cursor of another list. */
    read,
    /** `readRows` reads a page and one row more, from the newest (null) or older than `before`. Throws for a cursor of another list. */
    list<Row, Shown>(
      query: { cursor?: string; limit?: string },
      name: string,
      readRows: (before: Position | null, limit: number) => (Row & Position)[] | ListedRows<Row>,
      show: (row: Row) => Shown,
    ): { data: Shown[]; meta: typeof CursorMeta.static } {
      const perPage = Number(query.limit ?? DEFAULT_LIMIT);
      const found = readRows(query.cursor === undefined ? null : read(query.cursor, name), perPage);
      const { rows, lookedUpTo = null } = Array.isArray(found) ? { rows: found } : found;
      const page = rows.slice(0, perPage);
      const next = rows.length > perPage ? (page.at(-1) ?? null) : lookedUpTo;
      return {
        data: page.map((row) => show(row)),
        meta: { has_more: next !== null, next_cursor: next === null ? null : write(next, name) },
      };
    },
  };
}

/** The error for a cursor that was not given out for the list. */
export function badCursor(): AppError {
  return validationError([
    { path: ["cursor"], message: "is not a cursor of this list", hint: "Start again without a cursor." },
  ]);
}
