import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { Dispatcher } from "../../../../../src/modules/sms/gateway/dispatch.ts";
import type { DispatchTarget } from "../../../../../src/modules/sms/gateway/link-event.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { openSuppressionStore } from "../../../../../src/modules/suppressions/store.ts";
import { Committer } from "../../../../../src/platform/db/group-commit.ts";
import { temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { addMessage, openLedger } from "../../../../support/sms/rows.ts";

const WINDOW = 10;
const WORK = { route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 0 } as const;

test("places that a transaction claims while it settles others are claimed once, though its sync takes a while", async () => {
  using of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const syncs: ((error: Error | null) => void)[] = [];
  const log = { sync: (done: (error: Error | null) => void) => void syncs.push(done), close: () => undefined };
  const { commit } = new Committer(of.db, {}, log);
  const syncAll = async () => {
    for (let nth = 0; nth < 6; nth++) {
      for (const done of syncs.splice(0)) done(null);
      await turn(3);
    }
  };
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  let taken = WINDOW;
  const sent: number[] = [];
  const link = {
    name: "vodacom-a",
    route,
    returned: 0,
    get free() {
      return WINDOW - taken;
    },
    freeWith: (settled: number) => WINDOW - taken + settled,
    send(submissions: readonly { messageId: number }[]) {
      taken += submissions.length;
      sent.push(...submissions.map(({ messageId }) => messageId));
    },
  } satisfies DispatchTarget;
  const dispatcher = new Dispatcher({
    sms: ledger,
    links: { open: [link] },
    breaker: { allowance: () => Number.POSITIVE_INFINITY },
    suppressions: openSuppressionStore(of.db, new Uint8Array(32)),
    isHeld: () => false,
    commit,
    guard: { failure: null, whenOpen: () => () => undefined },
    clock: fakeClock(1_000),
    log: { event: () => undefined, error: (_where, error) => expect(error).toBeUndefined() },
  });
  const added = commit(() => {
    for (let nth = 0; nth < 2 * WINDOW; nth++) addMessage(ledger, 1, { segment: { nextAt: 0 } });
  });
  await turn(3);
  await syncAll();
  await added;
  const inFlight = () =>
    of.db.sqlite
      .query<{ count: number }, []>("SELECT COUNT(*) AS count FROM sms_segment WHERE state = 'in_flight'")
      .get()?.count;

  // The window was full; then four places came free, and three more are settled in a transaction.
  dispatcher.nudge(WORK);
  await turn(3);
  taken = 6;
  const settled = commit(() => dispatcher.claimAlongside(new Map([[link, 3]]))).then((handOver) => {
    taken -= 3;
    handOver();
  });
  await turn(3);
  dispatcher.nudge(WORK);
  await turn(3);
  expect(inFlight()).toBe(7);
  await syncAll();
  await settled;
  await syncAll();
  expect([inFlight(), sent.length, taken]).toEqual([7, 7, WINDOW]);
  await dispatcher.stop();
});
