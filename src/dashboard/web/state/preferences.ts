// Language and theme: all that the dashboard keeps in the browser.

import { signal } from "@preact/signals";
import { currentLanguage, LANGUAGES, type Language, loadLanguage } from "../i18n/index.ts";
import { findLanguage } from "../i18n/find-language.ts";

export { currentLanguage as language };

export type Theme = "system" | "light" | "dark";
const THEMES: Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>("system");

/** Before anything is shown. */
export async function startPreferences(): Promise<void> {
  const kept = read("pombo-theme");
  setTheme(THEMES.find((each) => each === kept) ?? "system");
  currentLanguage.subscribe((chosen) => void (document.documentElement.lang = chosen));
  await loadLanguage(findChosen() ?? findLanguage(navigator.languages));
}

/** The language of the account, where none was chosen in this browser; null: the account has none. */
export async function followLanguage(language: Language | null): Promise<void> {
  if (language !== null && language !== currentLanguage.value && findChosen() === undefined)
    await loadLanguage(language);
}

function findChosen(): Language | undefined {
  const kept = read("pombo-language");
  return LANGUAGES.find((each) => each === kept);
}

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  keep("pombo-theme", chosen === "system" ? null : chosen);
}

/** Null: the browser's. */
export async function setLanguage(chosen: Language | null): Promise<void> {
  keep("pombo-language", chosen);
  await loadLanguage(chosen ?? findLanguage(navigator.languages));
}

/** A browser may forbid storage; nothing depends on it. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // As above.
  }
}
