/**
 * The texts of the sandbox's phones: what arrived at each number and what was written back from it, in a SQLite
 * file of their own beside the mail's inbox (sandbox/sandbox-store.ts). The oldest make room.
 */
import { countChanges, type Layout, openClearedUntil, openSandboxDatabase } from "../sandbox-store.ts";

const MAX_TEXTS = 10_000;
/** Texts that one `list` gives when nothing else is asked. */
export const DEFAULT_TEXT_LIMIT = 100;

/** `gsm7` and `ucs2` as the API has them; others are not pombo's. */
export type TextEncoding = "gsm7" | "ucs2" | "latin1" | "binary";

export interface PhoneText {
  /** The sender: a name, a short code, or a number with `+`. */
  from: string;
  to: string;
  body: string;
  /** Parts that it came in. */
  segments: number;
  encoding: TextEncoding;
  /** Unix milliseconds. */
  receivedAt: number;
  /** `in`: the phone got it; `out`: it was written there. */
  direction: "in" | "out";
  /** The user_message_reference of its first segment; null: it has none. */
  reference: number | null;
}

export interface StoredText extends PhoneText {
  /** Number in decimal, later texts higher, never used twice. */
  id: string;
}

export interface TextFilter {
  /** The phone that got a message, or that wrote it. */
  phone?: string | undefined;
  limit?: number | undefined;
  /** Those that were written on the phones too. */
  withOut?: boolean | undefined;
}

type TextRow = Omit<StoredText, "id"> & { id: number };

export type Texts = ReturnType<typeof openTexts>;

/** Opens the file (made when missing, 0600), or memory with `":memory:"`. One of another layout is emptied. */
export function openTexts(file: string, maxTexts: number = MAX_TEXTS) {
  const database = openSandboxDatabase(file, LAYOUT);
  const clearedUntil = openClearedUntil(database);
  return {
    /** Keeps a text; the oldest leave when there are too many. */
    add({ from: sender, to: recipient, ...rest }: PhoneText): void {
      const phone = rest.direction === "in" ? recipient : sender;
      const { lastInsertRowid } = database.query(INSERT).run({ sender, recipient, phone, ...rest });
      database.query(DELETE_OLD).run({ upTo: Number(lastInsertRowid) - maxTexts });
    },

    /** Newest first. */
    list: ({ phone, limit = DEFAULT_TEXT_LIMIT, withOut = false }: TextFilter = {}): StoredText[] =>
      database
        .query<TextRow, { phone: string | null; limit: number; withOut: number }>(SELECT)
        .all({ phone: phone ?? null, limit, withOut: withOut ? 1 : 0 })
        .map(({ id, ...rest }) => ({ ...rest, id: String(id) })),

    /** Removes all; how many had arrived. `until`: when pombo accepted its newest SMS, Unix ms. */
    clear(until: number): number {
      const { count } = database.query<{ count: number }, []>(COUNT_IN).get() ?? { count: 0 };
      database.query("DELETE FROM texts").run();
      clearedUntil.write(until);
      return count;
    },

    clearedUntil: clearedUntil.read,

    countChanges: (): number => countChanges(database),

    close: (): void => database.close(),
  };
}

// AUTOINCREMENT: after all were deleted an open page must not meet another text under an id it knows.
const CREATE_TABLE = `CREATE TABLE texts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  phone TEXT NOT NULL,
  body TEXT NOT NULL,
  segments INTEGER NOT NULL,
  encoding TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  direction TEXT NOT NULL,
  reference INTEGER
) STRICT`;

const LAYOUT: Layout = {
  version: 2,
  table: "texts",
  make: [CREATE_TABLE, "CREATE INDEX texts_by_phone ON texts (phone, id)"],
};

const INSERT = `INSERT INTO texts (sender, recipient, phone, body, segments, encoding, received_at,
  direction, reference) VALUES ($sender, $recipient, $phone, $body, $segments, $encoding, $receivedAt, $direction,
  $reference)`;
const SELECT = `SELECT id, sender AS "from", recipient AS "to", body, segments, encoding,
  received_at AS receivedAt, direction, reference FROM texts
  WHERE ($phone IS NULL OR phone = $phone) AND ($withOut = 1 OR direction = 'in') ORDER BY id DESC LIMIT $limit`;
const COUNT_IN = "SELECT count(*) AS count FROM texts WHERE direction = 'in'";
const DELETE_OLD = "DELETE FROM texts WHERE id <= $upTo";
