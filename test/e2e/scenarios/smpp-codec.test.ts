// The package's code is strict once it is bundled, and some of it throws then and not before: the cases of the
// codec hold in a compiled binary too.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CASES } from "../../support/smpp/codec-cases.ts";

const LIMIT_MS = 60_000;

test(
  "every case of the SMPP codec holds in a compiled binary",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "smpp-codec-"));
    try {
      const binary = join(folder, "cases");
      const entry = join(import.meta.dir, "smpp-codec-entry.ts");
      const build = Bun.spawn([process.execPath, "build", entry, "--compile", "--outfile", binary], {
        stdout: "ignore",
      });
      expect(await build.exited).toBe(0);
      const run = Bun.spawn([binary]);
      const results: unknown = JSON.parse(await new Response(run.stdout).text());
      expect(results).toEqual(Object.fromEntries(Object.keys(CASES).map((name) => [name, "holds"])));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
