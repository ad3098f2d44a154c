import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import {
  createDaemonFolder,
  getDaemonVersion,
  openDaemon,
  PINNED_VERSION,
} from "../../../../src/backup/litestream/executable.ts";
import { temporaryFolder } from "../../../support/db/temporary.ts";

test("the script that brings the daemon and the code that runs it name the same version", async () => {
  const script = await Bun.file(join(import.meta.dir, "../../../../script/litestream")).text();
  expect(/^readonly VERSION=(.*)$/m.exec(script)?.[1]).toBe(PINNED_VERSION);
});

test.skipIf(getDaemonVersion() === null)(
  "a run from source takes the daemon beside it, which says its version",
  async () => {
    using folder = temporaryFolder();
    const path = await openDaemon(folder.path);
    expect(path).toEndWith(`/.tools/litestream/${PINNED_VERSION}/${process.arch}/litestream`);
    expect(getDaemonVersion()).toBe(PINNED_VERSION);
  },
);

test("the daemon's folder is for pombo's user alone", () => {
  using data = temporaryFolder();
  const folder = createDaemonFolder(data.path);
  expect(folder).toBe(join(data.path, "litestream"));
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});
