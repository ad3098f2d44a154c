// `pombo backup` that root runs: it writes the copy as the owner of the data, who may not write everywhere.
import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { databaseFile } from "../../../src/platform/db/open.ts";
import { temporaryFolder } from "../../support/db/temporary.ts";

const MAIN = join(import.meta.dir, "../../../src/main.ts");
const NOBODY = 65_534;

test.skipIf(process.geteuid?.() !== 0).each([0o700, 0o755])(
  "a folder of mode %o that only root may write to is named, with the user and a place to write to",
  async (mode) => {
    using at = temporaryFolder();
    chmodSync(at.path, 0o755);
    const [data, roots] = [join(at.path, "data"), join(at.path, "roots")];
    mkdirSync(data);
    mkdirSync(roots);
    chmodSync(roots, mode);
    writeFileSync(databaseFile(data), "any");
    for (const path of [data, databaseFile(data)]) chownSync(path, NOBODY, NOBODY);
    const child = Bun.spawn([process.execPath, MAIN, "backup", "copy.db", "--data-dir", data], {
      cwd: roots,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, out, err]).toEqual([
      1,
      "",
      `No copy was made: pombo writes as the user nobody, who may not write in ${roots}. Name a file in a folder that this user may write to, such as ${data}, and move it from there.\n`,
    ]);
    expect(readdirSync(roots)).toEqual([]);
  },
);
