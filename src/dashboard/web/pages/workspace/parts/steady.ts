// A list that does not move under the reader's eyes: its rows stay while newer ones come, and are as they are now.

import { useRef, useState } from "../../../kit.ts";

interface Listed {
  id: string;
  createdAt: string;
}

interface Steady<Row> {
  rows: Row[] | undefined;
  /** Newer ones that are not shown. */
  hidden: number;
  showAll: () => void;
}

/** `key`: of the question; another one is another list. */
export function useSteady<Row extends Listed>(key: string, newest: Row[] | undefined): Steady<Row> {
  const kept = useRef<{ key: string; rows: Row[] }>({ key: "", rows: [] });
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
