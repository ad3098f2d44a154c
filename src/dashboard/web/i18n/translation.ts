// The keys of all languages, which English has first.

import type { en } from "./en/index.ts";

/** The same keys, each with words of another language: a missing or foreign one does not compile. */
type Translation<Words> = {
  [Key in keyof Words]: Words[Key] extends string
    ? string
    : Words[Key] extends (...values: infer Values) => string
      ? (...values: Values) => string
      : Translation<Words[Key]>;
};

export type Messages = Translation<typeof en>;
