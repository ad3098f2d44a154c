// A browser by the names in its User-Agent, for people: "Firefox on Linux". It proves nothing.

const BROWSERS: [RegExp, string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bFirefox\//, "Firefox"],
  [/\bFxiOS\//, "Firefox"],
  [/\b(Headless)?Chrome\//, "Chrome"],
  [/\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const SYSTEMS: [RegExp, string][] = [
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** Null: none of those that are known. */
export function describeBrowser(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS);
  const system = find(SYSTEMS);
  if (browser === undefined) return system ?? null;
  return system === undefined ? browser : `${browser} · ${system}`;
}
