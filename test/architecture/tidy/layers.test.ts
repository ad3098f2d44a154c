// Which file may import which, readable from the tree of src alone.

import { expect, test } from "bun:test";
import { importsOf, sourcesOf } from "./sources.ts";

/** Imports go to the right only; those of one layer do not know each other. */
const LAYERS = [
  "main.ts",
  "cli",
  "server",
  "backup api dashboard sandbox",
  "modules",
  "config",
  "protocols",
  "platform",
];
const MAX_FILES = 20;

const IMPORTS = new Map(
  [...sourcesOf("src", ".ts"), ...sourcesOf("src", ".tsx")].map((source) => [
    source.path,
    importsOf(source)
      .map(({ to }) => to)
      .filter((to) => to.startsWith("src/")),
  ]),
);
const roomOf = (path: string) => path.split("/")[1] ?? "";
const layerOf = (path: string) => LAYERS.findIndex((rooms) => rooms.split(" ").includes(roomOf(path)));

test("each file stands in a layer, and imports its own room or lower layers", () => {
  expect([...IMPORTS.keys()].filter((path) => layerOf(path) < 0)).toEqual([]);
  const upward = [...IMPORTS].flatMap(([path, imports]) =>
    imports
      .filter((to) => roomOf(to) !== roomOf(path) && layerOf(to) <= layerOf(path))
      .map((to) => `${path} imports ${to}`),
  );
  expect(upward).toEqual([]);
});

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

test("no folder is a heap", () => {
  const folders = Map.groupBy(IMPORTS.keys(), (path) => path.slice(0, path.lastIndexOf("/")));
  const heaps = [...folders].filter(([, files]) => files.length > MAX_FILES).map(([folder]) => folder);
  expect(heaps).toEqual([]);
});
