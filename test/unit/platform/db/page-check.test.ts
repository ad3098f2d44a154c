import { expect, test } from "bun:test";
import { join } from "node:path";
import { openThread } from "../../../../src/server/start-mail-worker.ts";
import { PageCheck } from "../../../../src/platform/db/file/page-check.ts";
import { temporaryFolder } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

test("a check that could not read the database says so, and tells nobody of damage", async () => {
  using folder = temporaryFolder();
  const events: string[] = [];
  const pages = new PageCheck({
    dataDir: folder.path,
    databaseFile: join(folder.path, "pombo.db"),
    openThread,
    clock: fakeClock(),
    log: { event: (name) => void events.push(name), error: (where) => void events.push(where) },
  });
  expect(await pages.check().catch((error: unknown) => error)).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("unable to open") as string,
  });
  expect(pages.issue).toBeNull();
  expect(events).toEqual([]);
});
