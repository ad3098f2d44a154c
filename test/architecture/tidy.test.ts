// Properties of the code itself: what a reviewer would have to look for each time.

import { expect, test } from "bun:test";
import { MAY_NAME_SYSTEM_EDGES, OWN_DATABASES, SOURCES_OF_CHANGE } from "./tidy/environment.ts";
import { PURE } from "./tidy/pure.ts";
import { codeMatching, importsOf, pathsOf, readSource, sourcesOf } from "./tidy/sources.ts";

const SRC = sourcesOf("src", ".ts");
const CODE = [...SRC, ...sourcesOf("test", ".ts"), ...sourcesOf("bench", ".ts")];
const MAX_LINES = 400;

/** The path within src. */
const inside = (path: string) => path.replace(/^src\//, "");
const isAmong = (path: string, places: string[]) =>
  places.some((place) => inside(path) === place || (place.endsWith("/") && inside(path).startsWith(place)));

test("src imports no test, bench or script, and nothing outside the project", () => {
  const strangers = SRC.flatMap((source) =>
    importsOf(source)
      .filter(({ specifier, to }) => specifier.startsWith(".") && !to.startsWith("src/"))
      .filter(({ to }) => !/^(migrations\/\d{4}_\w+\.sql|config\.example\.toml|monitoring\/[\w.-]+)$/.test(to))
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  );
  expect(strangers).toEqual([]);
});

const OUTSIDE_WORLD =
  /^(node:(net|dgram|tls|fs|fs\/promises|http|https|child_process|worker_threads|os|process|timers.*)|bun|bun:sqlite)$/;
/** Of node:net, the functions that only look at text. */
const TEXT_FUNCTIONS = ["isIP", "isIPv4", "isIPv6"];
const TIME_AND_CHANCE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|(?<![\w.])(setTimeout|setInterval)\(|\bperformance\.|\bgetRandomValues\b|\brandomBytes\b|\brandomUUID\b|\brandomInt\b|\bBun\.(sleep|nanoseconds)|\bnanoseconds\(|\bhrtime\b|(?<![\w.])fetch\(/;
const OTHER_EFFECTS =
  /(?<![\w.])(setImmediate|queueMicrotask)\(|\bprocess\.|\bBun\.(file|write|spawn|spawnSync|serve|connect|listen|udpSocket|env|argv|\$)|\bnew (WebSocket|Worker)\(/;

test("pure files exist, import only pure files, and touch nothing of the outside world", () => {
  expect(PURE.filter((place) => !SRC.some((source) => isAmong(source.path, [place])))).toEqual([]);
  const impure = SRC.filter((source) => isAmong(source.path, PURE)).flatMap((source) => [
    ...importsOf(source)
      .filter((found) => !found.isType)
      .filter((found) =>
        found.to === "node:net"
          ? !found.names.every((name) => TEXT_FUNCTIONS.includes(name))
          : OUTSIDE_WORLD.test(found.to) || (found.to.startsWith("src/") && !isAmong(found.to, PURE)),
      )
      .map(({ clause, specifier }) => `${source.path} imports ${clause} from ${specifier}`),
    ...codeMatching(source, TIME_AND_CHANCE),
    ...codeMatching(source, OTHER_EFFECTS),
  ]);
  expect(impure).toEqual([]);
});

test("time, chance, timers and fetch come in as arguments", () => {
  const places = Object.keys(SOURCES_OF_CHANGE);
  // A browser's code has the browser's own, and is tried in one.
  const elsewhere = [...places, "dashboard/web/"];
  expect(
    SRC.filter((source) => !isAmong(source.path, elsewhere)).flatMap((source) => codeMatching(source, TIME_AND_CHANCE)),
  ).toEqual([]);
  const idle = places.filter((place) => codeMatching(readSource(`src/${place}`), TIME_AND_CHANCE).length === 0);
  expect(idle).toEqual([]);
});

test("the machine's own clock and randomness are named by commands only", () => {
  const users = SRC.filter((source) => !isAmong(source.path, MAY_NAME_SYSTEM_EDGES))
    .flatMap((source) => importsOf(source).map((found) => ({ source, names: found.names })))
    .filter(({ names }) => names.some((name) => ["systemClock", "steadyClock", "systemRandom"].includes(name)))
    .map(({ source }) => source.path);
  expect(users).toEqual([]);
});

/** SQL in a string; prose such as "updated from" is not written in capitals. */
const SQL_TEXT =
  /\b(SELECT\b.+\bFROM|INSERT (OR \w+ )?INTO|REPLACE INTO|UPDATE \w+ SET|DELETE FROM|(CREATE|DROP|ALTER) (UNIQUE )?(TABLE|INDEX)|PRAGMA \w|BEGIN (IMMEDIATE|EXCLUSIVE)|SAVEPOINT)\b/;
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

test("only store.ts files, platform/db/ and the files with a database of their own hold SQL or name tables", () => {
  const others = SRC.filter(
    ({ path }) => !/[/-]store\.ts$/.test(path) && !isAmong(path, ["platform/db/", ...OWN_DATABASES]),
  );
  const trespasses = others.flatMap((source) => [
    ...importsOf(source)
      .filter(
        ({ to, names }) =>
          /^(drizzle-orm(\/.*)?|bun:sqlite)$/.test(to) ||
          (to.startsWith("src/platform/db/schema/") && !names.every((name) => CONSTANT.test(name))),
      )
      .map(({ specifier, clause }) => `${source.path} imports ${clause} from ${specifier}`),
    ...codeMatching(source, SQL_TEXT),
    ...codeMatching(source, /\.orm\b|\bsql`/),
  ]);
  expect(trespasses).toEqual([]);
});

test("every RFC that src cites is in the table of docs/standards.md, and every RFC there is cited", () => {
  const cited = new Set(
    SRC.flatMap(({ text }) => [...text.matchAll(/\bRFC ?(\d{3,5})\b/g)].map(([, number]) => Number(number))),
  );
  const { text: table } = readSource("docs/standards.md");
  const listed = new Set(
    [...table.matchAll(/^\| RFC ([\d, ]+) \|/gm)].flatMap(([, numbers = ""]) => numbers.split(", ").map(Number)),
  );
  const ascending = (numbers: Iterable<number>) => [...numbers].toSorted((a, b) => a - b);
  expect({ notListed: ascending(cited.difference(listed)), notCited: ascending(listed.difference(cited)) }).toEqual({
    notListed: [],
    notCited: [],
  });
});

test("every rule that a comment or test cites by its number is in docs/sending-rules.md, and every rule there is cited", () => {
  const cited = new Set(CODE.flatMap(({ text }) => [...text.matchAll(/\bR(\d{1,2})\b/g)].map(([, number]) => number)));
  const rules = readSource("docs/sending-rules.md").text.matchAll(/^\| R(\d+) \|/gm);
  const listed = new Set([...rules].map(([, number]) => number));
  expect({ notListed: [...cited.difference(listed)], notCited: [...listed.difference(cited)] }).toEqual({
    notListed: [],
    notCited: [],
  });
});

test("every file and folder of src that the documents name is there", () => {
  const places = new Set(
    SRC.flatMap(({ path }) => path.split("/").map((_, at, all) => all.slice(1, at + 1).join("/"))),
  );
  const documents = [...pathsOf("docs"), "ARCHITECTURE.md", "CONTRIBUTING.md"].map(readSource);
  const missing = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/`([a-z]+)(\/[a-z/-]+)(\.ts)?\/?`/g)]
      .filter(([, room = ""]) => places.has(room))
      .map(([, room = "", rest = "", ending = ""]) => `${room}${rest.replace(/\/$/, "")}${ending}`)
      .filter((place) => !places.has(place))
      .map((place) => `${path}: ${place}`),
  );
  expect(missing).toEqual([]);
});

test("no file is longer than 400 lines", () => {
  const scripts = pathsOf("script").map(readSource);
  const long = [...CODE, ...scripts]
    .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES);
  expect(long).toEqual([]);
});

test("exports are named, and imports of our own files say .ts", () => {
  const loose = CODE.filter(({ path }) => !path.endsWith(".d.ts")).flatMap((source) => [
    ...codeMatching(source, /^export default\b|\bas default\b/),
    ...importsOf(source)
      .filter(
        ({ specifier }) =>
          specifier.startsWith(".") && !/\.(tsx?|sql|toml|json|html|css|js|md|txt|yml)$/.test(specifier),
      )
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  ]);
  expect(loose).toEqual([]);
});

test("no test is switched off or alone: skipIf with a condition is the one way not to run", () => {
  const tests = sourcesOf("test", ".test.ts");
  expect(tests.flatMap((source) => codeMatching(source, /\b(test|describe|it)(\.\w+)*\.(only|skip|todo)\b/))).toEqual(
    [],
  );
});

test("tests wait for events, never for time", () => {
  const sleepers = sourcesOf("test", ".test.ts")
    .filter(({ path }) => !path.startsWith("test/e2e/"))
    .flatMap((source) => codeMatching(source, /\bBun\.sleep\w*\(|\bsleepSync\(|setTimeout\((resolve|done)\b/));
  expect(sleepers).toEqual([]);
});

test("nothing tells of the machine it was written on", () => {
  // In parts, so that this file passes its own test.
  const places = [
    ["", "work", ""],
    ["", "home", ""],
    ["", "tmp", "contracts"],
    ["shared", "design"],
    ["shared", "spec"],
  ].map((parts) => parts.join("/"));
  const telling = pathsOf("")
    .map(readSource)
    .flatMap(({ path, text }) => places.filter((place) => text.includes(place)).map((place) => `${path}: ${place}`));
  expect(telling).toEqual([]);
});

test("the lockfile names no package address of its own, so that every registry will do", () => {
  const addresses = [...readSource("bun.lock").text.matchAll(/"https?:\/\/[^"]*"/g)].map(([address]) => address);
  expect(addresses).toEqual([]);
});
