// Who stands by, as the machine that works sees it: a bucket in memory, and a clock that is moved.
import { expect, test } from "bun:test";
import type { LeaseRecord } from "../../../../src/backup/standby/lease.ts";
import { announce, PresenceWatch } from "../../../../src/backup/standby/presence.ts";
import { getErrorMessage } from "../../../../src/platform/errors.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const SECOND = 1_000;
const record = (node: string): LeaseRecord => ({
  ...{ term: 3, node, host: `${node}.test`, keyCheck: "k", lineage: "l", isReleased: false, nonce: "n" },
});

function scene(before: LeaseRecord | null = null) {
  const objects = new Map<string, string>();
  const at = { isAway: false };
  const reach = () => {
    if (at.isAway) throw new Error("away");
  };
  const bucket = {
    async list(prefix: string) {
      reach();
      return [...objects.keys()].filter((name) => name.startsWith(prefix));
    },
    async get(name: string) {
      reach();
      const text = objects.get(name);
      return text === undefined ? null : { etag: "", text };
    },
    async put(name: string, text: string) {
      reach();
      objects.set(name, text);
      return { kind: "written", etag: "" } as const;
    },
    remove: async (name: string) => void objects.delete(name),
  };
  const clock = fakeClock();
  const errors: unknown[] = [];
  const log = { error: (_: string, error: unknown) => void errors.push(error) };
  const watch = new PresenceWatch(before, { bucket, node: "a", steady: clock, clock, log });
  const say = (node: string) => announce(bucket, node, { host: `${node}.test`, at: clock.now() });
  return { objects, at, bucket, clock, errors, watch, say };
}

test("nothing is wrong while nobody ever stood by, nor while who stands by says so", async () => {
  const { watch, say, clock } = scene();
  await watch.look();
  expect([watch.count, watch.issue]).toEqual([0, null]);
  for (let nth = 0; nth < 20; nth += 1) {
    await say("b");
    await watch.look();
    clock.advance(20 * SECOND);
  }
  expect([watch.count, watch.issue]).toEqual([1, null]);
});

test("one that falls silent is an issue after three minutes, until it is back", async () => {
  const { watch, say, clock } = scene();
  await say("b");
  await say("c");
  await watch.look();
  const seenAt = clock.now();
  clock.advance(150 * SECOND);
  await say("c");
  await watch.look();
  clock.advance(31 * SECOND);
  await watch.look();
  expect(watch.issue).toMatchObject({ component: "standby", kind: "missing", since: seenAt, isAdvisory: true });
  expect(watch.issue?.reason).toMatch(/^b\.test does not stand by\. Machines that still stand by: 1\./);
  expect(watch.count).toBe(1);
  await say("b");
  await watch.look();
  expect([watch.count, watch.issue]).toEqual([2, null]);
});

test("after a takeover the machine before is expected to stand by", async () => {
  const { watch, clock, objects } = scene(record("b"));
  await watch.look();
  expect([...objects.keys()]).toEqual(["standby/b.json"]);
  clock.advance(200 * SECOND);
  await watch.look();
  expect(watch.issue?.reason).toMatch(/^b\.test does not stand by\. If this machine is lost too, nobody takes over\./);
});

test("a machine that goes on after its own restart expects nobody, and never itself", async () => {
  const { watch, say, clock, objects } = scene(record("a"));
  await say("a");
  await watch.look();
  clock.advance(3_600 * SECOND);
  await watch.look();
  expect([watch.count, watch.issue, objects.size]).toEqual([0, null, 1]);
});

test("a bucket that is away says nothing of who stands by, until it would have been missed", async () => {
  const { watch, say, clock, at, errors } = scene();
  await say("b");
  await watch.look();
  at.isAway = true;
  expect(await watch.look().catch(getErrorMessage)).toBe("away");
  expect(watch.issue).toBeNull();
  watch.start();
  for (let nth = 0; nth < 4; nth += 1) clock.advance(30 * SECOND);
  at.isAway = false;
  await say("b");
  await watch.look();
  expect([watch.issue, errors]).toEqual([null, []]);
  await watch.stop();
});

test("one that was given up a week ago is forgotten, and so is one whose object somebody deletes", async () => {
  const { watch, say, clock, objects } = scene();
  await say("b");
  await say("c");
  await watch.look();
  objects.delete("standby/c.json");
  clock.advance(8 * 86_400 * SECOND);
  await watch.look();
  expect([...objects.keys()]).toEqual([]);
  await watch.look();
  expect(watch.issue).toBeNull();
});
