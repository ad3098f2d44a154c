// The daemon's control socket. Every question ends within its limit, answered or not.

import { existsSync } from "node:fs";
import { explainNoCredentials } from "./daemon-log.ts";

const LIMIT_MS = 5_000;
/** What an answer that the daemon gives at the end of its own limit takes. */
const SLACK_MS = 1_000;

export interface DaemonState {
  /** When what there was had last been copied, Unix ms; null: not yet. */
  lastSyncAt: number | null;
  /** The number of the last transaction that it has seen; null: what it holds of that here cannot be read. */
  transaction: number | null;
  /** Why the last look at the database failed; null: it did not, or one is under way. */
  fault: string | null;
  /** It is at it: what it says of the last time holds, and nothing of this one. */
  isAtIt: boolean;
}

export interface DaemonControl {
  /** The process that answers; null: none does. */
  pid(): Promise<number | null>;
  /** Null: it does not answer, or does not know the database yet. */
  state(database: string): Promise<DaemonState | null>;
  /** Has all that is committed copied; the number of the last transaction in the replica then; null: not within `limitMs`. */
  sync(database: string, limitMs: number): Promise<number | null>;
}

interface Answers {
  pid?: unknown;
  txid?: unknown;
  replicated_txid?: unknown;
  databases?: { path?: unknown; last_sync_at?: unknown; error?: unknown; active?: unknown }[];
}

export function openControl(socket: string): DaemonControl {
  /** Null: no answer; "refused": an error is the answer. */
  async function ask(path: string, body: object | null, limitMs = LIMIT_MS): Promise<Answers | "refused" | null> {
    if (!existsSync(socket)) return null;
    try {
      const response = await fetch(`http://localhost${path}`, {
        unix: socket,
        keepalive: false, // a connection to a daemon that has ended must not be used for its successor
        method: body === null ? "GET" : "POST",
        ...(body === null ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(limitMs),
      });
      return response.ok ? ((await response.json()) as Answers) : "refused";
    } catch {
      return null; // no daemon, or it hangs: the supervisor counts
    }
  }
  async function askWell(path: string): Promise<Answers | null> {
    const answer = await ask(path, null);
    return answer === "refused" ? null : answer;
  }
  return {
    async pid() {
      const found = await askWell("/info");
      return typeof found?.pid === "number" ? found.pid : null;
    },
    async state(database) {
      const query = `?path=${encodeURIComponent(database)}`;
      const [list, position, diagnosis] = await Promise.all([
        askWell("/list"),
        ask(`/txid${query}`, null),
        askWell(`/debug/sync-status${query}`),
      ]);
      const row = list?.databases?.find(({ path }) => path === database);
      const transaction = position === "refused" ? null : position?.txid;
      if (row === undefined || (transaction !== null && typeof transaction !== "number")) return null;
      const lastSyncAt = typeof row.last_sync_at === "string" ? Date.parse(row.last_sync_at) : Number.NaN;
      const fault = diagnosis?.databases?.[0]?.error;
      return {
        lastSyncAt: Number.isNaN(lastSyncAt) ? null : lastSyncAt,
        transaction,
        fault: typeof fault === "string" && fault !== "" ? explainNoCredentials(fault) : null,
        isAtIt: diagnosis?.databases?.[0]?.active === true,
      };
    },
    async sync(database, limitMs) {
      const timeout = Math.ceil(limitMs / 1_000);
      const answer = await ask("/sync", { path: database, wait: true, timeout }, limitMs + SLACK_MS);
      const last = answer === null || answer === "refused" ? 0 : answer.replicated_txid;
      // The daemon may have seen more by the end; what had been committed before is in the replica all the same.
      return typeof last === "number" && last > 0 ? last : null;
    },
  };
}
