// What every page must hold in every theme and width: axe finds nothing, and nothing is wider than the window.

import { listViolations } from "./axe.ts";
import { LOOKS } from "./looks.ts";
import type { Visitor } from "./visitor.ts";

/** One line for each fault of the page as it stands, in each of these looks; in dark only the colours are others. */
export async function listFaultsOfLooks({ page }: Visitor, looks = LOOKS): Promise<string[]> {
  const faults: string[] = [];
  for (const { scheme, width, height } of looks) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height });
    const overflow = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    const found = await listViolations(page, scheme === "dark" ? "colours" : "everything");
    if (overflow > 0) found.push(`${overflow} px wider than the window`);
    faults.push(...found.map((each) => `${scheme} ${width} px: ${each}`));
  }
  return faults;
}
