import { expect, test } from "bun:test";
import { RequestRecorder } from "../../../../src/modules/requests/record.ts";
import type { NewRequest } from "../../../../src/modules/requests/store.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { authenticate } from "../../../../src/platform/http/auth.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const KEY = `svc_${"x".repeat(43)}`;
const RULES = { isOpen: () => false, isForOperator: () => false, findPerson: () => null };

function setUp() {
  const clock = fakeClock();
  const written: NewRequest[][] = [];
  const bugs: unknown[] = [];
  const guard = { blockedReason: null as string | null };
  const held: { fails: Error | null; open: Promise<void> } = { fails: null, open: Promise.resolve() };
  const recorder = new RequestRecorder({
    clock,
    guard,
    log: { event: () => undefined, error: (_, error) => void bugs.push(error) },
    requests: { write: (rows) => void written.push([...rows]) },
    async commit(work) {
      await held.open;
      if (held.fails !== null) throw held.fails;
      return work();
    },
  });
  const ask = (workspaceId = 1, status = 202) => {
    const request = new Request("http://x/api/v1/emails", { method: "POST", headers: { "x-api-key": KEY } });
    authenticate(request, () => ({ kind: "key", keyId: 7, workspaceId, domainId: null }), RULES);
    recorder.answered(new Response("{}", { status }), 1.2, request);
  };
  return { clock, written, bugs, guard, held, recorder, ask };
}

test("a second's requests are written at once, and an idle second writes nothing and sets no timer", async () => {
  const { clock, written, recorder, ask } = setUp();
  ask();
  ask();
  expect(written).toEqual([]);
  clock.advance(1_000);
  await recorder.stop();
  expect(written.map((rows) => rows.length)).toEqual([2]);
  expect(written[0]?.[0]).toMatchObject({ workspaceId: 1, keyId: 7, method: "POST", status: 202, ms: 2, error: null });
  expect(clock.pending).toBe(0);
});

test("a second has room for so many of a workspace, for as many that failed, and for so many in all", async () => {
  const { clock, written, recorder, ask } = setUp();
  for (let i = 0; i < 300; i += 1) ask();
  for (let i = 0; i < 300; i += 1) ask(1, 422);
  for (let workspace = 2; workspace < 2_000; workspace += 1) ask(workspace);
  clock.advance(1_000);
  await recorder.stop();
  const rows = written.flat();
  expect(rows.filter(({ workspaceId, status }) => workspaceId === 1 && status === 202)).toHaveLength(200);
  expect(rows.filter(({ status }) => status === 422)).toHaveLength(200);
  expect(rows).toHaveLength(1_200);
});

test("what a slow disk keeps waiting is bounded", async () => {
  const { clock, written, held, recorder, ask } = setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  held.open = promise;
  for (let second = 0; second < 10; second += 1) {
    for (let i = 0; i < 300; i += 1) ask();
    clock.advance(1_000);
  }
  resolve();
  await recorder.stop();
  expect(written.map((rows) => rows.length)).toEqual([200, 200]);
});

test("a full disk loses what comes meanwhile, and nothing else happens", async () => {
  const { clock, written, bugs, guard, held, recorder, ask } = setUp();
  guard.blockedReason = "the disk is full";
  ask();
  clock.advance(1_000);
  guard.blockedReason = null;
  held.fails = new StorageError("the disk is full");
  ask();
  clock.advance(1_000);
  await recorder.stop();
  held.fails = null;
  expect([written, bugs]).toEqual([[], []]);
  ask();
  await recorder.stop();
  expect(written).toHaveLength(1);
});

test("what has no key is not recorded", async () => {
  const { written, recorder } = setUp();
  recorder.answered(new Response("{}", { status: 401 }), 1, new Request("http://x/api/v1/emails"));
  await recorder.stop();
  expect(written).toEqual([]);
});
