// What axe-core finds on a page: WCAG 2.2 A and AA, and best practice.

import { source } from "axe-core";
import type { Page } from "playwright-core";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];
const OPTIONS = JSON.stringify({ runOnly: TAGS, iframes: false, resultTypes: ["violations"] });

interface Violation {
  id: string;
  help: string;
  nodes: { target: unknown[]; failureSummary?: string }[];
}

/** One line for each place. Colours that move to others must have come there. */
export async function listViolations(page: Page): Promise<string[]> {
  // An animation that never ends, such as a spinner's, is looked at as it is.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations().filter((each) => each.effect.getComputedTiming().iterations !== Infinity).map((each) => each.finished))`,
  );
  await page.evaluate(source);
  const violations: Violation[] = await page.evaluate(
    `axe.run(document, ${OPTIONS}).then((found) => found.violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary = "" }) =>
        `${id}: ${help}: ${target.join(" ")}: ${failureSummary.split("\n").slice(1, 2).join("").trim()}`,
    ),
  );
}
