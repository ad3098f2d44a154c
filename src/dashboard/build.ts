// Builds the browser's code: main.js, a file for each page and language that it loads later, and the style.

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { BunPlugin } from "bun";
import type { Asset, AssetFile, Assets } from "./asset.ts";

const WEB_FOLDER = join(import.meta.dir, "web");
export const SOURCE_FOLDERS = [WEB_FOLDER, join(import.meta.dir, "../platform/web")];

/** Bytes of gzip; a build beyond them fails. */
const BUDGETS = {
  /** main.js, where the pages before one is signed in are, with a language. */
  firstPage: 45_000,
  /** All of it, as one person needs it: in one language. */
  scripts: 140_000,
  style: 14_000,
  /** The words of every page, or of one section. */
  language: 12_000,
};

const OPTIONS = {
  target: "browser",
  minify: true,
  throw: true,
  define: { "process.env.NODE_ENV": '"production"' },
  jsx: { runtime: "automatic", importSource: "preact", development: false },
} as const;

/** Throws where the code does not build, or is larger than the budgets. */
export async function buildAssets(): Promise<Assets> {
  const later = new Set<string>();
  const main = await build(join(WEB_FOLDER, "main.tsx"), takeLater(later));
  const files = [toFile("main.js", main)];
  const exported = new Set(new Bun.Transpiler({ loader: "js" }).scan(main).exports);
  // The bundler resolves on several threads, in another order each time; a release is made twice and compared.
  for (const path of [...later].toSorted()) {
    const name = toFileName(path);
    const text = await build(path, takeKit);
    for (const missing of findImports(text).filter((each) => !exported.has(each)))
      throw new Error(`${name} wants ${missing} of main.js: export it from web/kit.ts`);
    files.push(toFile(name, text));
  }
  files.push(toFile("style.css", await build(join(WEB_FOLDER, "styles/main.css"))));
  requireBudgets(files);
  const hash = createHash("sha256");
  for (const { name, raw } of files) hash.update(name).update(raw);
  return { version: hash.digest("base64url").slice(0, 16), files };
}

async function build(entry: string, ...plugins: BunPlugin[]): Promise<string> {
  const { outputs } = await Bun.build({ ...OPTIONS, entrypoints: [entry], plugins });
  const [output, ...others] = outputs;
  if (output === undefined || others.length > 0) throw new Error(`${entry} became ${outputs.length} files, not one`);
  return output.text();
}

/** "pages/account/index.tsx" becomes account.js; "i18n/pt-pt/index.ts" pt-pt.js, and its account.ts pt-pt-account.js. */
function toFileName(path: string): string {
  const stem = basename(path).replace(/\.tsx?$/, "");
  const folder = basename(join(path, ".."));
  if (stem === "index") return `${folder}.js`;
  return path.includes("/i18n/") ? `${folder}-${stem}.js` : `${stem}.js`;
}

/** Keeps the pages that are imported later out of main.js, and notes their names. */
function takeLater(later: Set<string>): BunPlugin {
  return {
    name: "later",
    setup(builder) {
      builder.onResolve({ filter: /^\./ }, ({ kind, path, importer }) => {
        if (kind !== "dynamic-import" || !importer.startsWith(WEB_FOLDER)) return undefined;
        const file = join(importer, "..", path);
        later.add(file);
        return { path: `./${toFileName(file)}`, external: true };
      });
    },
  };
}

/** Leads the imports that pages share to main.js: a second copy would have a state of its own. */
const takeKit: BunPlugin = {
  name: "kit",
  setup(builder) {
    builder.onResolve({ filter: /^(preact|preact-iso|@preact\/signals)(\/|$)/ }, () => ({
      path: "./main.js",
      external: true,
    }));
    builder.onResolve({ filter: /^\./ }, ({ path, importer }) => {
      if (!importer.startsWith(WEB_FOLDER)) return undefined;
      const file = join(importer, "..", path);
      if (file === join(WEB_FOLDER, "kit.ts")) return { path: "./main.js", external: true };
      if (!/\/(pages|i18n)\//.test(file)) throw new Error(`${importer} imports ${path}: pages take it from web/kit.ts`);
      return undefined;
    });
  },
};

/** The names that a built file imports from main.js. */
function findImports(script: string): string[] {
  return [...script.matchAll(/import\{([^}]*)\}from"\.\/main\.js"/g)].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.split(" as ")[0]?.trim() ?? ""),
  );
}

const TYPES: Record<string, string> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

function toFile(name: string, text: string): AssetFile {
  return { name, ...toAsset(TYPES[name.split(".")[1] ?? ""] ?? "", text) };
}

function toAsset(type: string, text: string): Asset {
  const raw = Buffer.from(text);
  const br = brotliCompressSync(raw, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } });
  return { type, raw, br, gzip: Bun.gzipSync(raw, { level: 9 }) };
}

const LANGUAGES = ["en", "pt-pt", "pt-br"];

function requireBudgets(files: AssetFile[]): void {
  const sum = (chosen: AssetFile[]) => chosen.reduce((total, { gzip }) => total + gzip.byteLength, 0);
  const scripts = files.filter(({ name }) => name.endsWith(".js"));
  const words = LANGUAGES.map((each) => scripts.filter(({ name }) => new RegExp(`^${each}[.-]`).test(name)));
  const code = scripts.filter((each) => !words.flat().includes(each));
  const firstWords = Math.max(...LANGUAGES.map((each) => sum(scripts.filter(({ name }) => name === `${each}.js`))));
  const spent: Record<keyof typeof BUDGETS, number> = {
    firstPage: sum(code.filter(({ name }) => name === "main.js")) + firstWords,
    scripts: sum(code) + Math.max(...words.map(sum)),
    style: sum(files.filter(({ name }) => name.endsWith(".css"))),
    language: Math.max(...words.flat().map(({ gzip }) => gzip.byteLength)),
  };
  for (const [name, most] of Object.entries(BUDGETS)) {
    const bytes = spent[name as keyof typeof BUDGETS];
    if (bytes > most) throw new Error(`the dashboard's ${name} takes ${bytes} bytes of gzip and may take ${most}`);
  }
}
