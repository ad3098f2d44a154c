// The languages of the dashboard.

export const LANGUAGES = ["en", "pt-PT", "pt-BR"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each says its own name. */
export const LANGUAGE_NAMES: Record<Language, string> = {
  en: "English",
  "pt-PT": "Português (Portugal, África)",
  "pt-BR": "Português (Brasil)",
};
