/**
 * The sandbox's inbox: every message its MX took, in a small SQLite file of its own (sandbox/sandbox-store.ts), so
 * that `pombo dev --data DIR` still shows yesterday's mail.
 */
import type { DkimVerdict } from "../../protocols/dkim/verify.ts";
import { countChanges, type Layout, openClearedUntil, openSandboxDatabase } from "../sandbox-store.ts";

/** Messages that one `list` gives when nothing else is asked. */
export const DEFAULT_LIST_LIMIT = 100;

/** `pass`: signed, and every signature verifies; `fail`: one does not; `none`: not signed. */
export type DkimSummary = "pass" | "fail" | "none";

/** What the MX knows about a message it took, for one recipient. */
export interface ReceivedMessage {
  /** Return path, `""` for the null sender. */
  envelopeFrom: string;
  /** Author as the From header shows it, decoded; `""` when there is none. */
  from: string;
  /** Envelope recipient as given at RCPT. */
  to: string;
  /** Decoded subject; `""` when there is none. */
  subject: string;
  /** Unix milliseconds. */
  receivedAt: number;
  /** TLS protocol of the connection, such as `TLSv1.3`; null in clear text. */
  tls: string | null;
  dkim: DkimSummary;
  /** One verdict per DKIM signature; empty for a message without any. */
  signatures: DkimVerdict[];
  /** The message as it came, without the dots of SMTP. */
  raw: Uint8Array;
}

/** A message in the inbox without its content, which `raw` fetches. */
export interface StoredMessage extends Omit<ReceivedMessage, "raw"> {
  /** Number in decimal, later messages higher, never used twice. */
  id: string;
  sizeBytes: number;
}

/** Messages and bytes of raw messages kept; the oldest messages go first. */
const LIMITS = {
  maxMessages: 10_000,
  /** The default data directory is temporary, and often in memory. */
  maxBytes: 512 * 1024 * 1024,
};

export type Inbox = ReturnType<typeof openInbox>;

/** Opens the inbox in a file (made when missing, 0600), or in memory with `":memory:"`. `limits`: for tests. */
export function openInbox(file: string, limits = LIMITS) {
  const database = openSandboxDatabase(file, LAYOUT);
  const clearedUntil = openClearedUntil(database);
  const totals = database.query<{ count: number; bytes: number }, []>(SELECT_TOTALS).get() ?? { count: 0, bytes: 0 };

  function makeRoom(): void {
    // The newest message always stays, even one larger than the whole allowance.
    while (totals.count > 1 && (totals.count > limits.maxMessages || totals.bytes > limits.maxBytes)) {
      const oldest = database.query<{ sizeBytes: number }, []>(DELETE_OLDEST).get();
      if (oldest === null) return;
      totals.count -= 1;
      totals.bytes -= oldest.sizeBytes;
    }
  }

  return {
    /** Keeps a message and returns its id; the oldest ones leave when a limit is passed. */
    add(message: ReceivedMessage): string {
      const { lastInsertRowid } = database.query(INSERT_MESSAGE).run({
        ...message,
        recipientKey: message.to.toLowerCase(),
        signatures: JSON.stringify(message.signatures),
        sizeBytes: message.raw.byteLength,
      });
      totals.count += 1;
      totals.bytes += message.raw.byteLength;
      makeRoom();
      return String(lastInsertRowid);
    },

    /** Newest first; `to` is compared without regard to case. */
    list({ to, limit = DEFAULT_LIST_LIMIT }: { to?: string | undefined; limit?: number | undefined } = {}) {
      const recipientKey = to?.toLowerCase() ?? null;
      return database
        .query<MessageRow, { limit: number; recipientKey: string | null }>(
          recipientKey === null ? SELECT_NEWEST : SELECT_NEWEST_TO,
        )
        .all({ limit, recipientKey })
        .map(toMessage);
    },

    /** One message, or null when there is none of that id. */
    get(id: string): StoredMessage | null {
      const row = database.query<MessageRow, [string]>(SELECT_MESSAGE).get(id);
      return row === null ? null : toMessage(row);
    },

    /** The bytes of one message, or null when there is none of that id. */
    raw: (id: string): Uint8Array<ArrayBuffer> | null =>
      database.query<{ raw: Uint8Array<ArrayBuffer> }, [string]>(SELECT_RAW).get(id)?.raw ?? null,

    /** Removes every message and returns how many there were. `until`: when pombo accepted its newest email, Unix ms. */
    clear(until: number): number {
      const { count } = totals;
      database.query(DELETE_ALL).run();
      clearedUntil.write(until);
      Object.assign(totals, { count: 0, bytes: 0 });
      return count;
    },

    clearedUntil: clearedUntil.read,

    countChanges: (): number => countChanges(database),

    close: (): void => database.close(),
  };
}

/** One word for all signatures of a message, none for the empty list. */
export function summarize(signatures: DkimVerdict[]): DkimSummary {
  if (signatures.length === 0) return "none";
  // One good signature satisfies a receiver (RFC 6376 §4.2), but here all of them are ours: one
  // that fails is a fault to show, not to hide behind its neighbour.
  return signatures.every((signature) => signature.result === "pass") ? "pass" : "fail";
}

type MessageRow = Omit<StoredMessage, "id" | "signatures"> & { id: number; signatures: string };

function toMessage({ id, signatures, ...rest }: MessageRow): StoredMessage {
  return { ...rest, id: String(id), signatures: JSON.parse(signatures) as DkimVerdict[] };
}

// AUTOINCREMENT: after the inbox was emptied an open page must not meet another message under
// the id it still shows.
const CREATE_TABLE = `CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  envelope_from TEXT NOT NULL,
  author TEXT NOT NULL,
  recipient TEXT NOT NULL,
  recipient_key TEXT NOT NULL,
  subject TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  tls TEXT,
  dkim TEXT NOT NULL,
  signatures TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  raw BLOB NOT NULL
) STRICT`;

const LAYOUT: Layout = {
  version: 1,
  table: "messages",
  make: [CREATE_TABLE, "CREATE INDEX messages_by_recipient ON messages (recipient_key, id)"],
};

const COLUMNS = `id, envelope_from AS envelopeFrom, author AS "from", recipient AS "to", subject,
  received_at AS receivedAt, tls, dkim, signatures, size_bytes AS sizeBytes`;

const INSERT_MESSAGE = `INSERT INTO messages (envelope_from, author, recipient, recipient_key,
  subject, received_at, tls, dkim, signatures, size_bytes, raw)
  VALUES ($envelopeFrom, $from, $to, $recipientKey, $subject, $receivedAt, $tls, $dkim,
  $signatures, $sizeBytes, $raw)`;

const SELECT_TOTALS = "SELECT count(*) AS count, coalesce(sum(size_bytes), 0) AS bytes FROM messages";
const SELECT_NEWEST = `SELECT ${COLUMNS} FROM messages ORDER BY id DESC LIMIT $limit`;
const SELECT_NEWEST_TO = `SELECT ${COLUMNS} FROM messages WHERE recipient_key = $recipientKey
  ORDER BY id DESC LIMIT $limit`;
const SELECT_MESSAGE = `SELECT ${COLUMNS} FROM messages WHERE id = ?`;
const SELECT_RAW = "SELECT raw FROM messages WHERE id = ?";
const DELETE_OLDEST = `DELETE FROM messages WHERE id = (SELECT min(id) FROM messages)
  RETURNING size_bytes AS sizeBytes`;
const DELETE_ALL = "DELETE FROM messages";
