// Every page of the dashboard in each language, theme and width: axe finds nothing, and nothing is wider than the
// window, which at 320 px is that of 1280 px zoomed to 400 %.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { LANGUAGES } from "../../support/browser/looks.ts";
import { openPage, PAGES } from "../../support/browser/pages.ts";
import { populate } from "../../support/browser/populated.ts";

const sandbox = useSandbox();

journey(
  "everybody can use every page",
  async ({ visit }) => {
    const { origin } = sandbox();
    const owner = await visit(origin);
    const world = await populate(sandbox(), owner, [await visit(origin), await visit(origin)]);
    const storageState = await owner.context.storageState();
    const faults: string[] = [];
    for (const language of LANGUAGES) {
      const signedIn = await visit(origin, { language, storageState });
      const nobody = await visit(origin, { language });
      nobody.allow(/^answer: POST \/api\/v1\/auth\/links\/inspect 410$/);
      for (const page of PAGES) {
        const visitor = page.isSignedIn ? signedIn : nobody;
        await openPage(visitor, page, world);
        faults.push(...(await listFaultsOfLooks(visitor)).map((fault) => `${page.name} ${language} ${fault}`));
      }
    }
    expect(faults).toEqual([]);
  },
  300_000,
);
