// The looks that every page must stand: themes, languages, widths.

import type { Look } from "./visitor.ts";

const SCHEMES = ["light", "dark"] as const;
const WIDTHS = [320, 1280];

/** Each theme at each width; at 320 px a window of 1280 px is zoomed to 400 %. */
export const LOOKS: Required<Pick<Look, "scheme" | "width" | "height">>[] = SCHEMES.flatMap((scheme) =>
  WIDTHS.map((width) => ({ scheme, width, height: width === 320 ? 640 : 800 })),
);

const isAll = process.env["LOOKS"] === "all";

/** LOOKS=all: the second Portuguese too. */
export const LANGUAGES = ["en-GB", "pt-PT", ...(isAll ? ["pt-BR"] : [])];

/** Of all pages those that are looked at in a language: each in one, in turns. LOOKS=all: all in each. */
export const pagesIn = <T>(language: string, pages: readonly T[]): T[] =>
  pages.filter((_, at) => isAll || LANGUAGES[at % LANGUAGES.length] === language);

/** The first language on the wide screen in the dark, the others on the narrow one in the light. LOOKS=all: everything in everything. */
export const looksIn = (language: string) =>
  LOOKS.filter(({ scheme, width }) => {
    const isNarrow = width === 320;
    return isAll || (language === LANGUAGES[0] ? !isNarrow && scheme === "dark" : isNarrow && scheme === "light");
  });
