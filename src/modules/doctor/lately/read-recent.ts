// Reads the newest rows of a table back to a time, in pages, so that no read holds others up.

/** Rows that one look reads at most, and in one go. */
const MAX_READ = 20_000;
const PAGE = 1_000;

export interface Recent<T> {
  rows: T[];
  /** There are more since then. */
  isCut: boolean;
}

/** `list`: rows before an id, the newest first. `rest` lets others have a turn between pages. */
export async function readRecent<T extends { createdAt: number }>(
  list: (before: number, limit: number) => T[],
  idOf: (row: T) => number,
  { since, rest }: { since: number; rest: () => Promise<void> },
): Promise<Recent<T>> {
  const rows: T[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  while (rows.length < MAX_READ) {
    const page = list(before, PAGE);
    const recent = page.filter(({ createdAt }) => createdAt >= since);
    rows.push(...recent);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE || recent.length === 0) return { rows, isCut: false };
    before = idOf(last);
    await rest();
  }
  return { rows, isCut: true };
}
