// The words of the dashboard in three languages, and numbers as each writes them.

import { batch, signal } from "@preact/signals";
import type { Language } from "./languages.ts";
import { type Section, SECTIONS } from "./sections.ts";
import type { FirstMessages, Messages } from "./translation.ts";

export { type Language, LANGUAGE_NAMES, LANGUAGES } from "./languages.ts";
export type { Section };

const LOADERS: Record<Language, () => Promise<FirstMessages>> = {
  en: async () => (await import("./en/index.ts")).en,
  "pt-PT": async () => (await import("./pt-pt/index.ts")).ptPt,
  "pt-BR": async () => (await import("./pt-br/index.ts")).ptBr,
};

export const currentLanguage = signal<Language>("en");
const messages = signal<FirstMessages | null>(null);
/** Sections whose pages were opened. */
const opened = new Set<Section>();

export async function loadLanguage(language: Language): Promise<void> {
  const first = LOADERS[language]();
  const sections = await Promise.all(Array.from(opened, async (section) => SECTIONS[section][language]()));
  const words = { ...(await first) };
  for (const each of sections) Object.assign(words, each);
  batch(() => {
    messages.value = words;
    currentLanguage.value = language;
  });
}

/** The words of a section, before its pages are drawn. */
export async function loadSection(section: Section): Promise<void> {
  const language = currentLanguage.value;
  const words = await SECTIONS[section][language]();
  opened.add(section);
  // Another language was chosen while these came.
  if (language !== currentLanguage.value) return loadLanguage(currentLanguage.value);
  messages.value = Object.assign({}, t(), words);
}

/** The words of the language; a component that reads them is drawn again when it changes. */
export function t(): FirstMessages {
  if (messages.value === null) throw new Error("no language is loaded");
  return messages.value;
}

/** For pages, which are drawn when the words of their section are there. */
export function tellPage(): Messages {
  return t() as Messages;
}

/** For times and numbers: English is written as in the browser's own country. */
export function findLocale(): string {
  const language = currentLanguage.value;
  // Outside of browsers there are none.
  return navigator.languages?.find((each) => each.startsWith(`${language}-`)) ?? language;
}

export function formatNumber(value: number, options: Intl.NumberFormatOptions = {}): string {
  return new Intl.NumberFormat(findLocale(), options).format(value);
}

const UNITS = ["kilobyte", "megabyte", "gigabyte", "terabyte"];

export function formatBytes(bytes: number): string {
  const thousands = Math.floor(Math.log10(Math.max(bytes, 1)) / 3);
  const power = Math.min(UNITS.length, Math.max(1, thousands));
  return formatNumber(bytes / 1_000 ** power, {
    style: "unit",
    unit: UNITS[power - 1],
    unitDisplay: "short",
    maximumFractionDigits: 1,
  });
}
