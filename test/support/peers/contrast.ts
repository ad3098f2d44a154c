// Words on a page that are hard to read, as WCAG 2.2 §1.4.3 measures it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserPage } from "./browser.ts";

const SCRIPT = readFileSync(join(import.meta.dir, "faint-words.js"), "utf8");

/** One line for each. Colours that move to others must have come there. */
export async function listFaintWords(page: BrowserPage): Promise<string[]> {
  await page.until("no colour moves", `document.getAnimations().every(({ playState }) => playState !== "running")`);
  return page.evaluate(`(() => { ${SCRIPT.replace("export ", "")}; return listFaintWords(); })()`);
}
