// Writes a picture of every page in each language, theme and width: `DIR [NAME…]`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchChromium } from "../../support/browser/chromium.ts";
import { LANGUAGES, LOOKS } from "../../support/browser/looks.ts";
import { openPage, PAGES } from "../../support/browser/pages.ts";
import { populate } from "../../support/browser/populated.ts";
import { Visitor } from "../../support/browser/visitor.ts";
import { makeFolder, runProgram } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

/** On a phone the content scrolls between its bars. */
const PAGE_HEIGHT = `(() => {
  const { scrollHeight } = document.documentElement;
  const content = document.getElementById("content");
  return scrollHeight + (content === null ? 0 : content.scrollHeight - content.clientHeight);
})()`;

await runProgram(async (cleanup) => {
  const [folder, ...names] = process.argv.slice(2);
  if (folder === undefined) {
    console.error("usage: script/screenshots DIR [NAME…]");
    return 2;
  }
  mkdirSync(folder, { recursive: true });
  const sandbox = await startSandbox(join(makeFolder("screenshots", cleanup), "sandbox.log"), cleanup);
  const browser = await launchChromium();
  cleanup.add(() => browser.close());
  const open = () => Visitor.open(browser, sandbox.origin);
  const world = await populate(sandbox, open);
  for (const language of LANGUAGES) {
    for (const page of PAGES.filter(({ name }) => names.length === 0 || names.includes(name))) {
      const look = { language, storageState: world.cookies[page.who] };
      const visitor = await Visitor.open(browser, sandbox.origin, look);
      await openPage(visitor, page, world);
      for (const { scheme, width, height } of LOOKS) {
        await visitor.page.emulateMedia({ colorScheme: scheme });
        await visitor.page.setViewportSize({ width, height });
        // A window as high as the page: what sticks to its edge stands there once.
        const whole = Number(await visitor.page.evaluate(PAGE_HEIGHT));
        await visitor.page.setViewportSize({ width, height: whole });
        const path = join(folder, `${page.name}-${language}-${scheme}-${width}.png`);
        await visitor.page.screenshot({ path, animations: "disabled" });
        console.log(path);
      }
      await visitor.context.close();
    }
  }
  return 0;
});
