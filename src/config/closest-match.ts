// Suggests a known word for a misspelled one: a key of the configuration, or a command.

/** The closest word; null: none is close enough for a typing error, one edit in a short word, up to three in a long one. */
export function nearest(word: string, known: readonly string[]): string | null {
  const measured = known.map((candidate) => ({ candidate, edits: editDistance(word.toLowerCase(), candidate) }));
  const allowed = ({ length }: string) => (length <= 4 ? 1 : length <= 8 ? 2 : 3);
  const similar = measured.filter(({ candidate, edits }) => edits <= allowed(candidate));
  return similar.toSorted((a, b) => a.edits - b.edits)[0]?.candidate ?? null;
}

/** Levenshtein distance. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
