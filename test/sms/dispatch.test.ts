import { expect, test } from "bun:test";
import type { Clock } from "../../src/clock.ts";
import { Dispatcher, type Outlet } from "../../src/sms/dispatch.ts";
import type { Flight } from "../../src/sms/flight.ts";
import { openRoutes } from "../../src/sms/route-settings.ts";
import { defaultSmsRoute } from "../../src/config.ts";
import { openSuppressionStore } from "../../src/suppressions/store.ts";
import { temporaryDatabase } from "../db/temporary.ts";
import { addMessage, openLedger } from "./rows.ts";

/** It goes on by a millisecond whenever it is read, so that what was not due at one look is at the next. */
function restlessClock(from: number): Clock & { fire: () => void; pending: () => number } {
  let now = from;
  const timers = new Set<() => void>();
  return {
    now: () => now++,
    after(_delayMs, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    fire() {
      for (const run of [...timers]) if (timers.delete(run)) run();
    },
    pending: () => timers.size,
  };
}

test("a segment that falls due while a link looks for it is not left waiting for good", async () => {
  using of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const clock = restlessClock(1_000);
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const dispatcher = new Dispatcher({
    sms: ledger,
    suppressions: openSuppressionStore(of.db),
    isHeld: () => false,
    commit: of.committer.commit,
    guard: { failure: null, whenOpen: () => () => undefined },
    clock,
    log: { event: () => undefined, bug: (_where, error) => expect(error).toBeUndefined() },
  });
  const { promise: sent, resolve } = Promise.withResolvers<Flight[]>();
  const outlet: Outlet = { name: "a", route, free: 1, freeWith: () => 1, send: resolve };
  dispatcher.add(outlet);
  // Due one millisecond after the link looks, and before anything else is asked of the clock.
  await of.committer.commit(() => addMessage(ledger, 1, { segment: { nextAt: 1_001 } }));
  dispatcher.nudge({ route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 1_001 });
  await Promise.resolve();
  expect(clock.pending()).toBe(1);
  clock.fire();
  expect(await sent).toHaveLength(1);
  await dispatcher.stop();
});
