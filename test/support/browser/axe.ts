// What axe-core finds on a page: WCAG 2.2 A and AA, and best practice.

import { source } from "axe-core";
import type { Page } from "playwright-core";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];
const OPTIONS = { iframes: false, resultTypes: ["violations"] };
/** What depends on the theme. */
const COLOURS = ["color-contrast", "link-in-text-block"];

interface Violation {
  id: string;
  help: string;
  nodes: { target: unknown[]; failureSummary?: string }[];
}

/** One line for each place; of `colours` alone where all else was looked at. Colours that move must have come to rest. */
export async function listViolations(page: Page, what: "everything" | "colours" = "everything"): Promise<string[]> {
  // An animation that never ends, such as a spinner's, is looked at as it is.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations().filter((each) => each.effect.getComputedTiming().iterations !== Infinity).map((each) => each.finished))`,
  );
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(source);
  const options = JSON.stringify({ ...OPTIONS, runOnly: what === "colours" ? COLOURS : TAGS });
  const violations: Violation[] = await page.evaluate(
    `axe.run(document, ${options}).then((found) => found.violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary = "" }) =>
        `${id}: ${help}: ${target.join(" ")}: ${failureSummary.split("\n").slice(1, 2).join("").trim()}`,
    ),
  );
}
