import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runHere, startDesk } from "../../support/cli/kit.ts";

test("pombo health ends with 0 while the instance answers, and with 1 when it does not or answers with a failure", async () => {
  let status = 200;
  await using desk = startDesk(() => ({ status, data: [] }));
  const health = () => runHere(["health", "--data-dir", desk.folder]);
  expect(await health()).toEqual({ code: 0, out: "pombo answers.\n", err: "" });
  expect(desk.asked.map(({ line }) => line)).toEqual(["GET /operator/workspaces?limit=1"]);
  status = 500;
  expect((await health()).code).toBe(1);
  const empty = mkdtempSync(join(tmpdir(), "pombo-health-"));
  const none = await runHere(["health", "--data-dir", empty]);
  expect(none).toMatchObject({ code: 1, out: "" });
  expect(none.err).toContain(`No pombo on ${empty} answered`);
  rmSync(empty, { recursive: true });
});

test("pombo update from source says that it replaces executables only, and needs to know which", async () => {
  expect(await runHere(["update", "pombo-new"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("from source"),
  });
  expect(await runHere(["update"])).toMatchObject({ code: 2, err: expect.stringContaining("FILE|URL is missing") });
});
