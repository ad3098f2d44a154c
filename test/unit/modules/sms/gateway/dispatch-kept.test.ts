// Where the replica must have a claim before it is sent.
import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { Dispatcher } from "../../../../../src/modules/sms/gateway/dispatch.ts";
import type { DispatchTarget } from "../../../../../src/modules/sms/gateway/link-event.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { openSuppressionStore } from "../../../../../src/modules/suppressions/store.ts";
import { temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { addMessage, openLedger } from "../../../../support/sms/rows.ts";

const WORK = { route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 0 } as const;

/** Three messages are claimed, and wait for the replica. */
async function start() {
  const of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const { commit } = of.committer;
  const clock = fakeClock(1_000);
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const sent: number[] = [];
  const given: number[] = [];
  const link: DispatchTarget = {
    name: "vodacom-a",
    route,
    returned: 0,
    free: 10,
    freeWith: () => 0,
    send: (submissions) => void sent.push(...submissions.map(({ messageId }) => messageId)),
  };
  const kept = Promise.withResolvers<void>();
  const dispatcher = new Dispatcher({
    sms: ledger,
    links: { open: [link] },
    breaker: { allowance: () => Number.POSITIVE_INFINITY },
    suppressions: openSuppressionStore(of.db, new Uint8Array(32)),
    isHeld: () => false,
    commit,
    kept: () => kept.promise,
    giveBack: (_link, { messageId }) => void given.push(messageId),
    guard: { failure: null, whenOpen: () => () => undefined },
    clock,
    log: { event: () => undefined, error: (_where, error) => expect(error).toBeUndefined() },
  });
  await commit(() => {
    for (let nth = 0; nth < 3; nth++) addMessage(ledger, 1, { segment: { nextAt: 0 } });
  });
  dispatcher.nudge(WORK);
  await turn(6);
  return { of, dispatcher, clock, kept, sent, given };
}

test("a claim is sent when the replica has it, and not before", async () => {
  const { of, kept, sent, given } = await start();
  using _ = of;
  expect(sent).toEqual([]);
  kept.resolve();
  await turn(3);
  expect([sent.length, given]).toEqual([3, []]);
});

test("a claim that the replica does not have when pombo stops is given back, and never sent", async () => {
  const { of, kept, sent, given } = await start();
  using _ = of;
  kept.reject(new Error("stopped"));
  await turn(3);
  expect([sent, given.length]).toEqual([[], 3]);
});

test("a claim that waited for long is given back: by now it may have expired", async () => {
  const { of, clock, kept, sent, given } = await start();
  using _ = of;
  clock.set(1_000 + 3_600_000);
  kept.resolve();
  await turn(3);
  expect([sent, given.length]).toEqual([[], 3]);
});
