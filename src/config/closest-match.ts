// Suggests a known word for a misspelled one: a key of the configuration, or a command.

/** Close enough for a typing error: one edit in a short word, up to three in a long one. */
function isSimilar(word: string, candidate: string): boolean {
  const allowed = candidate.length <= 4 ? 1 : candidate.length <= 8 ? 2 : 3;
  return Math.abs(word.length - candidate.length) <= allowed && editDistance(word.toLowerCase(), candidate) <= allowed;
}

/** The closest word; null: none is similar. */
export function nearest(word: string, known: readonly string[]): string | null {
  const distance = (candidate: string) => editDistance(word.toLowerCase(), candidate);
  const similar = known.filter((candidate) => isSimilar(word, candidate));
  return similar.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
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
