// The language of a page for people who have no account: Portuguese or English, as their browser asks for.

export type Language = "en" | "pt";

const MAX_RANGES = 50;

/** The first of the heaviest in Accept-Language (RFC 9110 §12.5.4); English where it asks for neither. */
export function chooseLanguage(header: string | null): Language {
  const ranges = (header ?? "")
    .toLowerCase()
    .split(",", MAX_RANGES)
    .map((range) => {
      const [tag = "", parameter = ""] = range.split(";", 2);
      const weight = /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1] ?? "1";
      return { language: tag.trim().split("-", 1)[0], weight: Number(weight) };
    });
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight);
  return wanted.find(({ language }) => language === "pt" || language === "en")?.language === "pt" ? "pt" : "en";
}
