// Every page and dialog of the dashboard in its languages, themes and widths: axe finds nothing, and nothing is wider than
// the window, which at 320 px is that of 1280 px zoomed to 400 %.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { LANGUAGES, looksIn, pagesIn } from "../../support/browser/looks.ts";
import { openPage, PAGES } from "../../support/browser/pages.ts";
import { type Populated, populate } from "../../support/browser/populated.ts";

const sandbox = useSandbox();

/** Once for all languages. */
let populated: Promise<Populated> | undefined;

for (const language of LANGUAGES)
  journey(
    `everybody can use every page in ${language}`,
    async ({ visit }) => {
      const { origin } = sandbox();
      const world = await (populated ??= populate(sandbox(), () => visit(origin)));
      const visitors = {
        nobody: await visit(origin, { language }),
        owner: await visit(origin, { language, storageState: world.cookies.owner }),
        late: await visit(origin, { language, storageState: world.cookies.late }),
      };
      visitors.nobody.allow(/^answer: POST \/api\/v1\/auth\/links\/inspect 410$/);
      const faults: string[] = [];
      for (const page of pagesIn(language, PAGES)) {
        const visitor = visitors[page.who];
        await openPage(visitor, page, world);
        faults.push(...(await listFaultsOfLooks(visitor, looksIn(language))).map((fault) => `${page.name} ${fault}`));
      }
      expect(faults).toEqual([]);
    },
    300_000,
  );
