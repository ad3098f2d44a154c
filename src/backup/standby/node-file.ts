// The file standby.json in the data directory: which node this is, of which term its database is, and what it wrote last.

import { join } from "node:path";
import { readPlainFile, replaceFile } from "../../platform/data-files.ts";

export interface NodeState {
  /** A UUID, made at the first start. */
  node: string;
  /** The term whose database is here; null: of none. */
  term: number | null;
  /** See LeaseHolderDeps. */
  nonces: readonly string[];
  /** The last term that was seen; null: none. */
  seen: number | null;
  /** The database here went on without the lease; null: it did not. */
  alone: Alone | null;
}

/** Behind which lease a database went on without it. */
export interface Alone {
  /** The nonce of the record; null: it could not be read. */
  after: string | null;
  /** Where it could not be read: the last term that was seen before. */
  term: number | null;
  /** It has started so: what follows is no database that was put back. */
  isStarted: boolean;
}

/** The state of a machine that was never started. */
export function newNode(node: string): NodeState {
  return { node, term: null, nonces: [], seen: null, alone: null };
}

const MAX_BYTES = 64 * 1024;

const getFile = (dataDir: string) => join(dataDir, "standby.json");

/** Null: there is none, or half a one. */
export function readNodeState(dataDir: string): NodeState | null {
  try {
    const { node, term, nonces, seen, alone } = JSON.parse(
      readPlainFile(getFile(dataDir), MAX_BYTES) ?? "",
    ) as Partial<NodeState>;
    if (typeof node !== "string" || !Array.isArray(nonces)) return null;
    return {
      node,
      term: typeof term === "number" ? term : null,
      nonces: nonces.map(String),
      seen: seen ?? null,
      alone:
        alone instanceof Object
          ? { after: alone.after ?? null, term: alone.term ?? null, isStarted: alone.isStarted }
          : null,
    };
  } catch {
    return null;
  }
}

export function writeNodeState(dataDir: string, state: NodeState): void {
  replaceFile(getFile(dataDir), JSON.stringify(state));
}
