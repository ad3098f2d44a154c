import { expect, test } from "bun:test";
import type { AppError } from "../../../../../src/platform/errors.ts";
import { cancelEmail } from "../../../../../src/modules/emails/api/cancel.ts";
import { retryEmail } from "../../../../../src/modules/emails/api/retry.ts";
import { openEmailStore, USUAL } from "../../../../../src/modules/emails/store/store.ts";
import { openQueueStore } from "../../../../../src/modules/emails/queue/store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { countRows } from "../../../../support/queue/kit.ts";

// Cancel, retry and claim in one transaction: closures of one turn see what the earlier ones wrote.

const NOW = Date.UTC(2026, 10, 21);
const SCOPE = { workspaceId: 1, domainId: null };
const UID = "0198a5a0-0000-7000-8000-000000000000";

/** One delayed email, due now, with the three who want its row. */
async function scene() {
  const of = temporaryDatabase();
  const { commit } = of.committer;
  const emails = openEmailStore(of.db);
  const queue = openQueueStore(of.db);
  const laneId = await commit(() => {
    const id = emails.insert({
      ...USUAL,
      ...{
        uid: UID,
        workspaceId: 1,
        domainId: 1,
        sender: "a@loja.test",
        senderAddress: "loja@loja.test",
        senderDomain: "loja.test",
      },
      ...{
        recipient: "x@example.com",
        recipientAddress: "maria@example.com",
        subject: "x",
        replyTo: null,
        returnPath: "b@loja.test",
        createdAt: NOW,
      },
      body: { content: Buffer.from("x"), htmlBytes: null, textBytes: 1, encoding: "plain", mime: null },
    });
    const lane = queue.laneFor(1, "example.com");
    queue.add({ workspaceId: 1, domainId: 1, createdAt: NOW, id, laneId: lane, nextAt: NOW, expiresAt: NOW + 1e9 });
    const [job] = queue.claim({ laneId: lane, now: NOW, limit: 1, retryAt: () => NOW });
    if (job !== undefined) queue.retry(job, { nextAt: NOW, state: { lastReply: null, badDomainAt: null } });
    return lane;
  });
  const nudged: number[] = [];
  const parts = {
    ...{ emails, queue, recordEvent: () => undefined, commit, clock: { now: () => NOW, after: () => () => undefined } },
    log: { event: () => undefined, error: () => undefined },
    nudge: (lane: number) => void nudged.push(lane),
  };
  const told = (error: unknown) => (error as AppError).code;
  return {
    [Symbol.dispose]: () => of[Symbol.dispose](),
    queue,
    depth: () => countRows(of.db),
    nudged,
    claim: () => commit(() => queue.claim({ laneId, now: NOW, limit: 9, retryAt: () => NOW + 1 }).length),
    cancel: () => cancelEmail(SCOPE, UID, parts).then((found) => found?.email.status, told),
    retry: () => retryEmail(SCOPE, UID, parts).then((found) => found?.queue?.nextAt, told),
  };
}

test("a claim before the cancel keeps the email, a claim after it finds nothing", async () => {
  {
    using on = await scene();
    expect(await Promise.all([on.claim(), on.cancel()])).toEqual([1, "NOT_CANCELABLE"]);
    expect(on.depth()).toBe(1);
  }
  using on = await scene();
  expect(await Promise.all([on.cancel(), on.claim()])).toEqual(["canceled", 0]);
  expect(on.depth()).toBe(0);
});

test("of cancels in one transaction the first is it, and a retry after it has nothing to try", async () => {
  using on = await scene();
  expect(await Promise.all([on.cancel(), on.cancel(), on.retry()])).toEqual([
    "canceled",
    "NOT_CANCELABLE",
    "NOT_RETRYABLE",
  ]);
  expect(on.nudged).toEqual([]);
});

test("a retry before the claim changes nothing for it, a retry after it is refused, and a cancel takes a retried email", async () => {
  {
    using on = await scene();
    expect(await Promise.all([on.retry(), on.retry(), on.claim(), on.retry()])).toEqual([NOW, NOW, 1, "NOT_RETRYABLE"]);
    expect(on.nudged).toHaveLength(2);
  }
  using on = await scene();
  expect(await Promise.all([on.retry(), on.cancel(), on.claim()])).toEqual([NOW, "canceled", 0]);
});
