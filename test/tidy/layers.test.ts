// Which file may import which, readable from the tree of src alone.

import { expect, test } from "bun:test";
import { importsOf, sourcesOf } from "./sources.ts";

const IMPORTS = new Map(
  sourcesOf("src", ".ts").map((source) => [
    source.path,
    importsOf(source)
      .map(({ to }) => to)
      .filter((to) => to.startsWith("src/")),
  ]),
);

test("no import goes round in a circle, types included", () => {
  const circles: string[] = [];
  const seen = new Set<string>();
  const visit = (path: string, way: string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (seen.has(path)) return;
    seen.add(path);
    for (const to of IMPORTS.get(path) ?? []) visit(to, [...way, path]);
  };
  for (const path of IMPORTS.keys()) visit(path, []);
  expect(circles).toEqual([]);
});
