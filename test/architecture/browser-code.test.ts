// The dashboard's code in the browser: what it may import, and what it must never do.

import { describe, expect, test } from "bun:test";
import { codeMatching, importsOf, sourcesOf } from "./tidy/sources.ts";

const WEB = "src/dashboard/web/";
const SOURCES = [...sourcesOf("src/dashboard/web", ".ts"), ...sourcesOf("src/dashboard/web", ".tsx")];

describe("the browser's code", () => {
  test("takes only types from the server's", () => {
    const foreign = SOURCES.flatMap((source) =>
      importsOf(source)
        .filter(({ to, isType }) => to.startsWith("src/") && !to.startsWith(WEB) && !isType)
        .map(({ specifier }) => `${source.path} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });

  test("makes no markup or script of text, and puts no style or handler into markup", () => {
    const markup =
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|srcdoc|document\.write|\beval\(|new Function\(|javascript:/i;
    expect(SOURCES.flatMap((source) => codeMatching(source, markup))).toEqual([]);
  });

  test("stores nothing in the browser but theme and language", () => {
    const storage = /localStorage|sessionStorage|indexedDB|document\.cookie|serviceWorker/;
    const users = SOURCES.filter((source) => codeMatching(source, storage).length > 0).map(({ path }) => path);
    expect(users).toEqual([`${WEB}state/preferences.ts`]);
  });
});
