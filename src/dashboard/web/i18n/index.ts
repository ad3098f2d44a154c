// The words of the dashboard in three languages, and numbers as each writes them.

import { signal } from "@preact/signals";
import type { Messages } from "./translation.ts";

export const LANGUAGES = ["en", "pt-PT", "pt-BR"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each says its own name. */
export const LANGUAGE_NAMES: Record<Language, string> = {
  en: "English",
  "pt-PT": "Português (Portugal, África)",
  "pt-BR": "Português (Brasil)",
};

const LOADERS: Record<Language, () => Promise<Messages>> = {
  en: async () => (await import("./en/index.ts")).en,
  "pt-PT": async () => (await import("./pt-pt/index.ts")).ptPt,
  "pt-BR": async () => (await import("./pt-br/index.ts")).ptBr,
};

export const currentLanguage = signal<Language>("en");
const messages = signal<Messages | null>(null);

export async function loadLanguage(language: Language): Promise<void> {
  messages.value = await LOADERS[language]();
  currentLanguage.value = language;
}

/** The words of the language; a component that reads them is drawn again when it changes. */
export function t(): Messages {
  if (messages.value === null) throw new Error("no language is loaded");
  return messages.value;
}

/** For times and numbers: English is written as in the browser's own country. */
export function findLocale(): string {
  const language = currentLanguage.value;
  return navigator.languages.find((each) => each.startsWith(`${language}-`)) ?? language;
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
