// The pictures that the documents show: each is there, none is left over, and none is large.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { PAGES } from "../support/browser/pages.ts";
import { PICTURES } from "../support/browser/pictures.ts";

const PROJECT = join(import.meta.dir, "../..");
const IMAGES = "docs/images";
/** Everybody who clones the repository gets every picture that it ever had. */
const MAX_BYTES = 60_000;

const list = (folder: string) => readdirSync(join(PROJECT, folder), { recursive: true }) as string[];
const documents = ["README.md", ...list("docs").map((path) => join("docs", path))].filter((path) =>
  path.endsWith(".md"),
);
const shown = documents.flatMap((path) =>
  [...readFileSync(join(PROJECT, path), "utf8").matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(
    ([, words = "", to = ""]) => ({ path, words, picture: join(dirname(path), to) }),
  ),
);

test("every picture that a document shows is there and has words for those who do not see it", () => {
  const faults = shown.filter(({ words, picture }) => words.length < 20 || !existsSync(join(PROJECT, picture)));
  expect(faults).toEqual([]);
});

test("the pictures of docs/images are those of the list, each shown and small", () => {
  const files = list(IMAGES).toSorted();
  expect(files).toEqual(PICTURES.map((name) => `${name}.webp`).toSorted());
  const named = new Set(shown.map(({ picture }) => picture));
  expect(files.filter((file) => !named.has(join(IMAGES, file)))).toEqual([]);
  expect(files.filter((file) => statSync(join(PROJECT, IMAGES, file)).size > MAX_BYTES)).toEqual([]);
});

test("each is of a page that is tested", () => {
  const pages = new Set(PAGES.map(({ name }) => name));
  expect(PICTURES.filter((name) => !pages.has(name))).toEqual([]);
});
