// A list that does not move under the reader's eyes: its rows stay while newer ones come, and are as they are now.

import { type Data, useRef, useState } from "../../../kit.ts";
import type { LIST } from "./filter.ts";

type Rows = Data<typeof LIST>;

interface Steady {
  rows: Rows | undefined;
  /** Newer ones that are not shown. */
  hidden: number;
  showAll: () => void;
}

/** `key`: of the question; another one is another list. */
export function useSteady(key: string, newest: Rows | undefined): Steady {
  const kept = useRef<{ key: string; rows: Rows }>({ key: "", rows: [] });
  const [, redraw] = useState(0);
  if (newest === undefined) return { rows: undefined, hidden: 0, showAll: () => {} };
  // An empty list has no place that could be lost.
  if (kept.current.key !== key || kept.current.rows.length === 0) kept.current = { key, rows: newest };
  const { rows } = kept.current;
  const now = new Map(newest.map((row) => [row.id, row]));
  const shown = new Set(rows.map(({ id }) => id));
  const oldest = rows.at(-1)?.createdAt ?? "";
  return {
    rows: rows.map((row) => now.get(row.id) ?? row),
    hidden: newest.filter(({ id, createdAt }) => !shown.has(id) && createdAt > oldest).length,
    showAll() {
      kept.current = { key, rows: newest };
      redraw((count) => count + 1);
    },
  };
}
