// Writes a picture of every page in each language, theme and width: `DIR [NAME…]`; or those of the documents: `--docs`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchChromium } from "../../support/browser/chromium.ts";
import { LANGUAGES, LOOKS } from "../../support/browser/looks.ts";
import { openPage, PAGES } from "../../support/browser/pages.ts";
import { PICTURES } from "../../support/browser/pictures.ts";
import { populate } from "../../support/browser/populated.ts";
import { type Look, Visitor } from "../../support/browser/visitor.ts";
import { makeFolder, runProgram } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

/** On a phone the content scrolls between its bars. */
const PAGE_HEIGHT = `(() => {
  const { scrollHeight } = document.documentElement;
  const content = document.getElementById("content");
  return scrollHeight + (content === null ? 0 : content.scrollHeight - content.clientHeight);
})()`;

const OF_DOCS = { folder: join(import.meta.dir, "../../../docs/images"), maxHeight: 900, quality: 70 };

interface Order {
  folder: string;
  names: string[];
  isForDocs: boolean;
  languages: string[];
  looks: Required<Pick<Look, "scheme" | "width" | "height">>[];
}

function readOrder([first, ...names]: string[]): Order | null {
  if (first === "--docs")
    return {
      folder: OF_DOCS.folder,
      names: PICTURES,
      isForDocs: true,
      languages: ["en-GB"],
      looks: LOOKS.filter(({ scheme, width }) => scheme === "light" && width > 320),
    };
  const all = PAGES.map(({ name }) => name);
  if (first === undefined || first.startsWith("-")) return null;
  return {
    folder: first,
    names: names.length === 0 ? all : names,
    isForDocs: false,
    languages: LANGUAGES,
    looks: LOOKS,
  };
}

/** As small as it can be read: it is in the repository. */
async function photographForDocs({ context, page }: Visitor, path: string): Promise<void> {
  const session = await context.newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: OF_DOCS.quality });
  await Bun.write(path, Buffer.from(data, "base64"));
}

await runProgram(async (cleanup) => {
  const order = readOrder(process.argv.slice(2));
  if (order === null) {
    console.error("usage: script/screenshots DIR [NAME…] | --docs");
    return 2;
  }
  const { folder, names, isForDocs } = order;
  mkdirSync(folder, { recursive: true });
  const sandbox = await startSandbox(join(makeFolder("screenshots", cleanup), "sandbox.log"), cleanup);
  const browser = await launchChromium();
  cleanup.add(() => browser.close());
  const open = () => Visitor.open(browser, sandbox.origin);
  const world = await populate(sandbox, open);
  for (const language of order.languages) {
    for (const page of PAGES.filter(({ name }) => names.includes(name))) {
      const look = { language, storageState: world.cookies[page.who] };
      const visitor = await Visitor.open(browser, sandbox.origin, look);
      await openPage(visitor, page, world);
      for (const { scheme, width, height } of order.looks) {
        await visitor.page.emulateMedia({ colorScheme: scheme });
        await visitor.page.setViewportSize({ width, height });
        // A window as high as the page: what sticks to its edge stands there once.
        const whole = Number(await visitor.page.evaluate(PAGE_HEIGHT));
        await visitor.page.setViewportSize({ width, height: isForDocs ? Math.min(whole, OF_DOCS.maxHeight) : whole });
        const path = join(folder, isForDocs ? `${page.name}.webp` : `${page.name}-${language}-${scheme}-${width}.png`);
        if (isForDocs) await photographForDocs(visitor, path);
        else await visitor.page.screenshot({ path, animations: "disabled" });
        console.log(path);
      }
      await visitor.context.close();
    }
  }
  return 0;
});
