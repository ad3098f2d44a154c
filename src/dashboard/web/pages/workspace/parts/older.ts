// Lists that grow: the first page as it is now, and the older ones that somebody asked for.

import { ApiError, useState } from "../../../kit.ts";

interface OlderList<Row> {
  rows: Row[] | undefined;
  /** Null: there are no older ones. */
  showOlder: (() => void) | null;
  isBusy: boolean;
  error: ApiError | null;
}

interface Page<Row> {
  data: Row[];
  meta: { has_more: boolean; next_cursor: string | null };
}

/** `load` asks for the page behind a cursor. */
export function useOlder<Row extends { id: string }>(
  first: { data: Row[] | undefined; meta: Page<Row>["meta"] | undefined; error: ApiError | null },
  load: (cursor: string) => Promise<Page<Row>>,
): OlderList<Row> {
  const [older, setOlder] = useState<Page<Row>[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const cursor = (older.at(-1)?.meta ?? first.meta)?.next_cursor ?? null;
  const showOlder = async (from: string) => {
    setBusy(true);
    setError(null);
    try {
      const page = await load(from);
      setOlder((known) => [...known, page]);
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  const seen = new Set<string>();
  const all = first.data === undefined ? undefined : [first.data, ...older.map(({ data }) => data)].flat();
  return {
    // What was made meanwhile moved some of the first page into the second.
    rows: all?.filter(({ id }) => !seen.has(id) && seen.add(id)),
    showOlder: cursor === null ? null : () => void showOlder(cursor),
    isBusy,
    error: error ?? first.error,
  };
}
