// `pombo status`: one screen, and what it ends with.
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeLock } from "../../../src/platform/instance-lock.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { runHere, startDesk } from "../../support/cli/kit.ts";

const TIME = "2026-01-31T08:15:00.000Z";
const WELL: Json = {
  ...{ version: "1.2.3", commit: "abc1234", startedAt: TIME, ready: true, issues: [], paused: null },
  queue: {
    emails: { waiting: 1_234, isMinimum: false, oldestAt: TIME, running: 3, delayed: 12, scheduled: 0 },
    sms: { waiting: 0, isMinimum: false, oldestAt: null },
    webhooks: { waiting: 100_000, isMinimum: true, oldestAt: TIME },
  },
  lastMinutes: { minutes: 5, accepted: 100, delivered: 98, deferred: 2, bounced: 1, failed: 0 },
  disk: { freeBytes: 12.5 * 1024 ** 3, daysLeft: 412, databaseBytes: 3_000_000, walBytes: 512 },
  blockedSites: { count: 4, sites: [{ site: "mx.x.test", workspaceId: null, until: TIME, reason: "timed out" }] },
  sms: [{ route: "vodacom", links: 2, bound: 1, reason: "the bind was refused" }],
  workspaces: {
    blocked: 1,
    held: 1,
    some: [{ id: "x", name: "Loja\u001b[2J", held: true, by: "operator", reason: null }],
  },
  replication: null,
};

test("one screen says it all, and all well ends with 0", async () => {
  await using desk = startDesk(() => ({ data: WELL }));
  const { code, out, err } = await runHere(["status", "--data-dir", desk.folder], { width: 80 });
  expect([code, err]).toEqual([0, ""]);
  expect(out).toBe(`pombo 1.2.3 (abc1234), up since 2026-01-31 08:15:00 UTC: it accepts and sends.

  Emails       1,234 emails wait, the oldest since 2026-01-31 08:15:00 UTC, 3
               being delivered, 12 delayed
  SMS          no segment waits
  Webhooks     at least 100,000 calls wait, the oldest since 2026-01-31 08:15:00
               UTC
  Last 5 min   100 accepted, 98 delivered, 2 deferred, 1 bounced, 0 failed
  Disk         12.5 GiB free (412 days at the present growth); the database
               takes 2.9 MiB, its WAL 512 B
  Sites        4 sites blocked: mx.x.test until 2026-01-31 08:15:00 UTC (timed
               out); and 3 more (pombo queue)
  SMS route    vodacom: 1 of 2 links bound; the last session ended: the bind was
               refused
  Workspaces   1 blocked, 1 of them held: Loja\ufffd[2J (held)
  Replication  not set up
`);
});

test("a check says what came of it, and a screen without one says nothing of pages", async () => {
  const show = async (issues: Json[], ...args: string[]) => {
    await using desk = startDesk(() => ({ data: { ...WELL, issues } }));
    return (await runHere(["status", ...args, "--data-dir", desk.folder], { width: 100 })).out;
  };
  const damage = { component: "database", reason: "Pages of the database are damaged (email: …)", since: TIME };
  expect(await show([], "--check")).toContain("\n  Pages        all read, none is damaged\n");
  expect(await show([damage], "--check")).toContain("\n  Pages        all read: see the issue above\n");
  expect(await show([])).not.toContain("Pages ");
});

test("one that holds all delivery does not say that it sends", async () => {
  const paused = { since: TIME, reason: "restored", restorePoint: null };
  await using desk = startDesk(() => ({ data: { ...WELL, paused } }));
  const { out } = await runHere(["status", "--data-dir", desk.folder]);
  expect(out).toStartWith(
    "pombo 1.2.3 (abc1234), up since 2026-01-31 08:15:00 UTC: it accepts, and delivery is paused.\n",
  );
});

test("issues stand first, say what to do, and end it with 1, also for programs", async () => {
  const issues = [{ component: "disk", reason: "The disk is full: make room", since: TIME }];
  await using desk = startDesk(() => ({ data: { ...WELL, ready: false, issues } }));
  const shown = await runHere(["status", "--data-dir", desk.folder], { width: 100 });
  expect([shown.code, shown.err]).toEqual([1, ""]);
  expect(shown.out.split("\n").slice(0, 2)).toEqual([
    "pombo 1.2.3 (abc1234), up since 2026-01-31 08:15:00 UTC: NOT READY.",
    "  ! disk: The disk is full: make room. Since 2026-01-31 08:15:00 UTC.",
  ]);
  const json = await runHere(["status", "--json", "--data-dir", desk.folder]);
  expect([json.code, JSON.parse(json.out).issues]).toEqual([1, issues]);
});

test("where no instance runs it says so and ends with 3, and leaves the directory free", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-status-"));
  try {
    const { code, out, err } = await runHere(["status", "--data-dir", folder]);
    expect([code, out]).toEqual([3, ""]);
    expect(err).toStartWith(`No pombo runs on ${folder}. Start it with pombo serve`);
    expect(err).toEndWith(" If you have, journalctl -u pombo -n 20 says why it ended.\n");
    expect(readdirSync(folder)).toEqual(["lock"]);
    const lock = takeLock(folder);
    expect(lock.kind).toBe("locked");
    if (lock.kind === "locked") lock.release();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("help tells of the exit codes in one place", async () => {
  const { code, out } = await runHere(["help", "exit-codes"]);
  expect(code).toBe(0);
  for (const number of [0, 1, 2, 3, 130, 141]) expect(out).toMatch(new RegExp(`^ +${number}  \\w`, "m"));
  expect((await runHere(["help"])).out).toContain("pombo help exit-codes");
});
