// The project's own files, as text, for the tests of test/architecture/tidy.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const ROOT = join(import.meta.dir, "../../..");

/** What is made or brought, never written: it is in .gitignore or belongs to git. */
const NOT_OURS = new Set([".git", ".tools", ".bench", "node_modules", "dist"]);

export interface Source {
  /** From the project's root, with "/": "src/protocols/smtp/replies/reply.ts". */
  path: string;
  text: string;
}

export interface Import {
  /** From the project's root for our own files ("src/platform/uuid.ts"), else as written ("node:net", "elysia"). */
  to: string;
  specifier: string;
  /** What stands between import and from: "type { Clock }". */
  clause: string;
  /** The names as exported there, types included; "default" and "*" too. */
  names: string[];
  /** Gone after compilation: it names types only. */
  isType: boolean;
}

export function readSource(path: string): Source {
  return { path, text: readFileSync(join(ROOT, path), "utf8") };
}

/** Every file of the project under `folder` ("" for all) whose path ends with `ending`, sorted. */
export function sourcesOf(folder: string, ending: string): Source[] {
  return pathsOf(folder)
    .filter((path) => path.endsWith(ending))
    .toSorted()
    .map(readSource);
}

export function pathsOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : pathsOf(path);
    return entry.isFile() && !entry.name.endsWith(".log") ? [path] : [];
  });
}

const FROM =
  /^(?:import|export)\s+(type\s+)?((?:[\w$]+\s*,?\s*)?(?:\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?)?)\s*from\s*"([^"]+)"/gm;
const BARE = /^import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;

/** Everything a file imports, re-exports and imports while running. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  for (const [, type = "", clause = "", specifier = ""] of source.text.matchAll(FROM)) {
    const written = namesIn(clause);
    found.push({
      to: targetOf(source.path, specifier),
      specifier,
      clause: `${type}${clause}`,
      names: written.map((name) => name.replace(/^type /, "")),
      isType: type !== "" || (written.length > 0 && written.every((name) => name.startsWith("type "))),
    });
  }
  for (const [, statement, expression] of source.text.matchAll(BARE)) {
    const specifier = statement ?? expression ?? "";
    found.push({ to: targetOf(source.path, specifier), specifier, clause: "", names: ["*"], isType: false });
  }
  return found;
}

/** "type Db", "text": the exported side of every name of an import clause. */
function namesIn(clause: string): string[] {
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? "";
  const outside = clause.replace(/\{[^}]*\}/, "").trim();
  const named = braces
    .split(",")
    .map((name) => name.trim().split(/\s+as\s+/)[0] ?? "")
    .filter((name) => name !== "");
  if (outside.startsWith("*")) return ["*"];
  return outside.replace(",", "").trim() === "" ? named : ["default", ...named];
}

function targetOf(path: string, specifier: string): string {
  return specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : specifier;
}

/** The lines with their comments blanked, so that what is only talked about does not count. */
function codeLines(source: Source): string[] {
  let isInComment = false;
  return source.text.split("\n").map((line) => {
    if (isInComment) {
      isInComment = !line.includes("*/");
      return "";
    }
    const start = line.trimStart();
    if (start.startsWith("//")) return "";
    if (start.startsWith("/*")) {
      isInComment = !start.includes("*/");
      return "";
    }
    return line.replace(/\s\/\/\s.*$/, "");
  });
}

/** "src/protocols/smtp/replies/reply.ts:12: <line>" for each line of code that matches. */
export function codeMatching(source: Source, pattern: RegExp): string[] {
  return codeLines(source).flatMap((line, index) =>
    pattern.test(line) ? [`${source.path}:${index + 1}: ${line.trim()}`] : [],
  );
}
