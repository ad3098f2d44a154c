import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeSameDisk } from "../../../../src/backup/litestream/same-disk.ts";

function folder() {
  const path = mkdtempSync(join(tmpdir(), "pombo-disk-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test("a replica's folder on the database's disk is told, whether it is there or will be made", () => {
  using at = folder();
  const missing = join(at.path, "mnt", "backup");
  for (const replica of [at.path, missing]) {
    const words = describeSameDisk(replica, join(at.path, "data"));
    expect(words).toContain(`${replica} is on the same disk as the database`);
    expect(words).toContain("Mount another disk");
  }
  expect(existsSync(missing)).toBe(false);
});

const OTHER_DISK = "/dev/shm";
const hasOther =
  existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync(tmpdir()).dev && !tmpdir().startsWith(OTHER_DISK);

test.skipIf(!hasOther)("a folder on another disk is not told", () => {
  using at = folder();
  expect(describeSameDisk(join(OTHER_DISK, "backup"), at.path)).toBeNull();
});

test("a replica on another machine is not told", () => {
  using at = folder();
  expect(describeSameDisk("s3://bucket/pombo", at.path)).toBeNull();
  expect(describeSameDisk("sftp://user@host/pombo", at.path)).toBeNull();
  expect(describeSameDisk("", at.path)).toBeNull();
});
