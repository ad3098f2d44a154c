// Folding: replaces letters that no GSM alphabet has, so that a text needs fewer segments. Pure.
// Off unless a workspace asks for it: `avó` and `avô` become the same word.

/** `punctuation`: quotes, dashes, ellipsis, spaces. `portuguese`: these and the accents of Portuguese; `à é Ç É ü Ü` are GSM's own and stay. */
export type Folding = "none" | "punctuation" | "portuguese";

const PUNCTUATION: Record<string, string> = {
  ...each("“”„‟″«»", '"'),
  ...each("‘’‚‛′", "'"),
  ...each("‐‑‒–—―−", "-"),
  "…": "...",
  // No-break and typographic spaces, which come with text from word processors.
  ...each("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f", " "),
  // Nothing to be seen: zero-width space, word joiner, byte order mark, soft hyphen.
  ...each("\u200b\u2060\ufeff\u00ad", ""),
};

const LETTERS: Record<string, string> = {
  ...each("áâã", "a"),
  ...each("ÀÁÂÃ", "A"),
  ç: "c",
  ê: "e",
  Ê: "E",
  í: "i",
  Í: "I",
  ...each("óôõ", "o"),
  ...each("ÓÔÕ", "O"),
  ú: "u",
  Ú: "U",
  ª: "a",
  º: "o",
};

const TABLES: Record<Folding, ReadonlyMap<string, string>> = {
  none: new Map(),
  punctuation: new Map(Object.entries(PUNCTUATION)),
  portuguese: new Map(Object.entries({ ...PUNCTUATION, ...LETTERS })),
};

function each(characters: string, replacement: string): Record<string, string> {
  return Object.fromEntries([...characters].map((character) => [character, replacement]));
}

/** Folds a text in its normal form. Whether that saves anything is for the caller to see. */
export function fold(text: string, folding: Folding): string {
  const table = TABLES[folding];
  if (table.size === 0) return text;
  return Array.from(text, (character) => table.get(character) ?? character).join("");
}
