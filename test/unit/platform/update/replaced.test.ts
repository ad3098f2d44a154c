import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchExecutable } from "../../../../src/platform/update/replaced.ts";

const folder = mkdtempSync(join(tmpdir(), "pombo-replaced-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("another file in its place is seen; one that is gone, or was never there, is none", () => {
  const file = join(folder, "pombo");
  const ofNothing = watchExecutable(file);
  writeFileSync(file, "old");
  expect(ofNothing()).toBe(false);
  const isReplaced = watchExecutable(file);
  expect(isReplaced()).toBe(false);
  writeFileSync(`${file}.new`, "new");
  renameSync(`${file}.new`, file);
  expect(isReplaced()).toBe(true);
  rmSync(file);
  expect(isReplaced()).toBe(false);
});
