// Where `pombo update` takes a new executable from: what must be true of it before anything of it is run.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeReleaseKey } from "../../../../support/fakes/release-key.ts";
import { bringExecutable, type Source } from "../../../../../src/cli/commands/update/source.ts";

const URL_OF = "https://releases.test/pombo-linux-x64";
const MACHINE = process.arch === "x64" ? 62 : 183;

let folder = "";
let draft = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pombo-source-"));
  draft = join(folder, "pombo.new");
});
afterEach(() => rmSync(draft, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

function executable(filling: string): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(64);
  header.write("\x7fELF", "latin1");
  header.writeUInt16LE(MACHINE, 18);
  return new Uint8Array(Buffer.concat([header, Buffer.from(filling)]));
}

const key = makeReleaseKey();
const NEXT = executable("0.2.0");
const COMMENT = "version:0.2.0\tfile:pombo-linux-x64";

type Page = Uint8Array<ArrayBuffer> | string | { to: string };

/** Answers from a table; everything else is 404. */
function web(pages: Record<string, Page>) {
  const asked: string[] = [];
  const fetch = (url: URL, init: RequestInit): Promise<Response> => {
    asked.push(url.href);
    expect(init.redirect).toBe("manual");
    const page = pages[url.href];
    if (page === undefined) return Promise.resolve(new Response("not here", { status: 404 }));
    if (typeof page === "object" && "to" in page)
      return Promise.resolve(new Response(null, { status: 302, headers: { location: page.to } }));
    return Promise.resolve(new Response(page));
  };
  return { fetch, asked };
}

const bring = (
  pages: Record<string, Page>,
  { source = {}, version = "0.1.0", releaseKey = key.publicKey }: Options = {},
) =>
  bringExecutable({ from: URL_OF, sha256: undefined, allowDowngrade: false, ...source }, draft, {
    fetch: web(pages).fetch,
    releaseKey,
    version,
  });

interface Options {
  source?: Partial<Source>;
  version?: string;
  releaseKey?: string | null;
}

const good = { [URL_OF]: NEXT, [`${URL_OF}.minisig`]: key.sign(NEXT, COMMENT) };

test("an executable with its signature is brought, as both kinds of it", async () => {
  for (const algorithm of ["ED", "Ed"] as const) {
    const pages = { ...good, [`${URL_OF}.minisig`]: key.sign(NEXT, COMMENT, algorithm) };
    expect(await bring(pages)).toEqual({
      draft,
      sha256: createHash("sha256").update(NEXT).digest("hex"),
      version: "0.2.0",
    });
    expect(new Uint8Array(readFileSync(draft))).toEqual(NEXT);
    expect(statSync(draft).mode & 0o777).toBe(0o755);
  }
});

const forged = executable("0.2.0, and more");
test.each<[string, Record<string, Page>, Options, RegExp]>([
  ["no signature", { [URL_OF]: NEXT }, {}, /signature .* could not be fetched .*404/],
  ["another executable", { ...good, [URL_OF]: forged }, {}, /modified or truncated/],
  ["half of it", { ...good, [URL_OF]: NEXT.subarray(0, 65) }, {}, /modified or truncated/],
  ["another's signature", { ...good, [`${URL_OF}.minisig`]: makeReleaseKey().sign(NEXT, COMMENT) }, {}, /another key/],
  ["words in place of a signature", { ...good, [`${URL_OF}.minisig`]: "<html>" }, {}, /no minisign signature/],
  ["a signature without end", { ...good, [`${URL_OF}.minisig`]: "x".repeat(100_000) }, {}, /larger than a signature/],
  [
    "a changed comment",
    { ...good, [`${URL_OF}.minisig`]: key.sign(NEXT, COMMENT).replace("0.2.0", "0.3.0") },
    {},
    /modified or truncated/,
  ],
  [
    "another file of the same release",
    { ...good, [`${URL_OF}.minisig`]: key.sign(NEXT, "version:0.2.0\tfile:pombo-linux-arm64") },
    {},
    /not for pombo-linux-x64 of a release/,
  ],
  [
    "a signature of no release",
    { ...good, [`${URL_OF}.minisig`]: key.sign(NEXT, "timestamp:1") },
    {},
    /not for \S+ of a release/,
  ],
  ["an old release as a new one", good, { version: "0.3.0" }, /--allow-downgrade/],
  ["one that is older by its number, not its letters", good, { version: "0.10.0" }, /--allow-downgrade/],
  ["an executable that knows no key", good, { releaseKey: null }, /built without the public key/],
  ["the same, with a checksum", good, { releaseKey: null, source: { sha256: "0".repeat(64) } }, /built without/],
  ["another checksum", good, { source: { sha256: "0".repeat(64) } }, /does not match its checksum/],
  ["http", good, { source: { from: URL_OF.replace("https", "http") } }, /not https/],
  ["a signature behind http", { ...good, [`${URL_OF}.minisig`]: { to: "http://releases.test/sig" } }, {}, /not https/],
  ["an executable behind http", { ...good, [URL_OF]: { to: "http://releases.test/pombo" } }, {}, /not https/],
  ["a circle", { ...good, [URL_OF]: { to: URL_OF } }, {}, /redirects more than/],
])("%s is refused, and leaves nothing", async (_, pages, options, words) => {
  await expect(bring(pages, options)).rejects.toThrow(words);
  expect(existsSync(draft)).toBe(false);
});

test("http is refused on the second hop as on the first, and https goes on", async () => {
  const at = (path: string) => `https://other.test/${path}`;
  const hops = { ...good, [URL_OF]: { to: at("a") }, [at("a")]: { to: "/b" }, [at("b")]: NEXT };
  expect((await bring(hops)).version).toBe("0.2.0");
  const down = { ...hops, [at("a")]: { to: "http://other.test/b" }, "http://other.test/b": NEXT };
  const { fetch, asked } = web(down);
  const source = { from: URL_OF, sha256: undefined, allowDowngrade: false };
  await expect(bringExecutable(source, draft, { fetch, releaseKey: key.publicKey, version: "0.1.0" })).rejects.toThrow(
    "not https",
  );
  expect(asked.filter((url) => url.startsWith("http:"))).toEqual([]);
});

test("an older release is brought where that is asked for, and the same version without asking", async () => {
  expect((await bring(good, { version: "0.3.0", source: { allowDowngrade: true } })).version).toBe("0.2.0");
  expect((await bring(good, { version: "0.2.0" })).version).toBe("0.2.0");
});

test("a file of this machine is taken as it is, with its checksum where one is given", async () => {
  const from = join(folder, "given");
  writeFileSync(from, NEXT);
  const local = { source: { from }, releaseKey: null };
  expect((await bring({}, local)).version).toBeNull();
  await expect(bring({}, { ...local, source: { from, sha256: "0".repeat(64) } })).rejects.toThrow("checksum");
  writeFileSync(from, "#!/bin/sh\n");
  await expect(bring({}, local)).rejects.toThrow("not an executable for Linux");
});
