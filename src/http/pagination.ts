import { Type } from "@sinclair/typebox";
import type { AppError } from "../errors.ts";
import { integerText, text } from "./rules.ts";
import { validationError } from "./errors.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const MAX_CURSOR = 512;
/** Pages that can be asked for; a page past the end is empty. */
const MAX_PAGE = 1_000_000_000;

const limit = integerText({
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  description: "How many items a page holds.",
});

export const PageQuery = Type.Object({
  page: Type.Optional(integerText({ minimum: 1, maximum: MAX_PAGE, default: 1, description: "Which page, from 1." })),
  limit: Type.Optional(limit),
});

export const CursorQuery = Type.Object({
  cursor: Type.Optional(
    text({ minLength: 1, maxLength: MAX_CURSOR, description: "`meta.next_cursor` of the page before." }),
  ),
  limit: Type.Optional(limit),
});

export const PageMeta = Type.Object({
  total: Type.Integer({ minimum: 0 }),
  perPage: Type.Integer({ minimum: 1, maximum: MAX_LIMIT }),
  page: Type.Integer({ minimum: 1 }),
  lastPage: Type.Integer({ minimum: 1 }),
});

export const CursorMeta = Type.Object({
  has_more: Type.Boolean(),
  next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Null on the last page." }),
});

export function pageOf(query: { page?: string; limit?: string }): { page: number; limit: number; offset: number } {
  const page = Number(query.page ?? 1);
  const perPage = Number(query.limit ?? DEFAULT_LIMIT);
  return { page, limit: perPage, offset: (page - 1) * perPage };
}

export function pageMeta(total: number, page: { page: number; limit: number }): typeof PageMeta.static {
  return { total, perPage: page.limit, page: page.page, lastPage: Math.max(1, Math.ceil(total / page.limit)) };
}

/** Where a page of a list ended: newest first, so the next page holds what is older than this. */
export interface Position {
  createdAt: number;
  id: number;
}

/** Newer than everything: before the first page. */
export const NEWEST: Position = { createdAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/**
 * Where the page that is asked for begins; null: at the newest. `list` names the list, as cursorPage() was told it.
 * Throws for a cursor that was not given out for that list, or is not whole.
 */
export function cursorOf(
  query: { cursor?: string; limit?: string },
  list = "",
): { before: Position | null; limit: number } {
  const perPage = Number(query.limit ?? DEFAULT_LIMIT);
  if (query.cursor === undefined) return { before: null, limit: perPage };
  const match = /^(\d{1,16})\.(\d{1,16})\./.exec(Buffer.from(query.cursor, "base64url").toString("latin1"));
  if (match === null) throw badCursor();
  const before = { createdAt: Number(match[1]), id: Number(match[2]) };
  // Made again, to the letter: one that was cut, or has something in it that base64 skips over, is not that.
  if (cursorTo(before, list) !== query.cursor) throw badCursor();
  return { before, limit: perPage };
}

/** The checksum makes a part of a cursor, and another list's, no cursor; it keeps nothing secret. */
function cursorTo({ createdAt, id }: Position, list: string): string {
  const place = `${createdAt}.${id}`;
  const checksum = Bun.hash.crc32(`${list} ${place}`).toString(16).padStart(8, "0");
  return Buffer.from(`${place}.${checksum}`).toString("base64url");
}

function badCursor(): AppError {
  return validationError([
    { path: ["cursor"], message: "is not one that this list gave out", hint: "Start again without a cursor." },
  ]);
}

/** Cuts a list that was read one item too long into a page and its meta; its cursor is good for `list` alone. */
export function cursorPage<Row extends Position>(
  rows: Row[],
  perPage: number,
  list = "",
): { rows: Row[]; meta: typeof CursorMeta.static } {
  const page = rows.slice(0, perPage);
  const last = page.at(-1);
  const hasMore = rows.length > perPage;
  const next = hasMore && last !== undefined ? cursorTo(last, list) : null;
  return { rows: page, meta: { has_more: hasMore, next_cursor: next } };
}
