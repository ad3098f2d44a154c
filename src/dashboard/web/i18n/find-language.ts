// Chooses the language for somebody who has not chosen one.

import type { Language } from "./languages.ts";

/** The first of a person's languages that there is; Portuguese of other places is closer to Portugal's. */
export function findLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted.map((each) => each.toLowerCase())) {
    if (tag === "pt-br") return "pt-BR";
    if (tag === "pt" || tag.startsWith("pt-")) return "pt-PT";
    if (tag === "en" || tag.startsWith("en-")) return "en";
  }
  return "en";
}
