import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { Backlog } from "../../../src/modules/sms/gateway/route-health.ts";
import { LinkStatus } from "../../../src/modules/sms/gateway/link-status.ts";
import { openRoutes } from "../../../src/modules/sms/gateway/route-settings.ts";
import { linkConfig } from "../../support/texting/world.ts";

const MINUTE = 60_000;

function makeBacklog() {
  const routes = openRoutes([{ ...defaultSmsRoute("vodacom"), links: [linkConfig(2775, { rate: 2_000 })] }]);
  const state = { now: 1_000_000, waiting: 0, unboundMs: 0, isPaused: false, ratePerSecond: 2_000 };
  const clock = { now: () => state.now, after: () => () => undefined };
  const [route] = routes.values();
  if (route === undefined) throw new Error("no route");
  const view = {
    route: "vodacom",
    name: "vodacom-a",
    window: 10,
    inUse: 0,
    ...new LinkStatus(route, clock).sight({ state: "bound" }),
  };
  const backlog = new Backlog({
    routes,
    waiting: { get: () => ({ waiting: state.waiting, oldestAt: null }) },
    links: { unboundMs: () => state.unboundMs, views: () => [{ ...view, ratePerSecond: state.ratePerSecond }] },
    isPaused: () => state.isPaused,
    clock,
    steady: clock,
  });
  return {
    state,
    backlog,
    /** One look for each of these counts, a minute apart. */
    see(...counts: number[]) {
      for (const count of counts) {
        state.waiting = count;
        state.now += MINUTE;
        backlog.look();
        backlog.look();
      }
      return backlog.issues;
    },
  };
}

test("a backlog that grows for five minutes is told of, with the rate, until it does not", () => {
  const { state, see } = makeBacklog();
  state.ratePerSecond = 17.46;
  expect(see(30, 40, 80, 75, 150)).toEqual([]);
  expect(see(230)).toEqual([
    {
      kind: "backlog",
      component: "sms",
      about: "vodacom",
      reason:
        "The SMS route vodacom gets more messages than it can send: 230 segments wait, 200 more than five minutes ago. The provider throttles it: it sends at most 17.5 a second, instead of the configured 2000. See pombo sms links.",
      since: 1_000_000 + 6 * MINUTE,
      isAdvisory: true,
    },
  ]);
  expect(see(300)).toMatchObject([{ since: 1_000_000 + 6 * MINUTE }]);
  state.ratePerSecond = 2_000;
  expect(see(400)[0]?.reason).toContain("It sends at most 2000 a second, as configured");
  expect(see(399)).toEqual([]);
});

test("a batch that came at once, few texts, and a backlog that shrinks are no trouble; too many to count are", () => {
  expect(makeBacklog().see(0, 0, 0, 0, 0, 5_000, 4_000, 3_000, 2_000, 1_000)).toEqual([]);
  expect(makeBacklog().see(1, 2, 3, 4, 5, 6)).toEqual([]);
  expect(makeBacklog().see(900, 800, 700, 600, 500, 400)).toEqual([]);
  expect(makeBacklog().see(...Array.from({ length: 6 }, () => 100_000))).toHaveLength(1);
});

test("while no link is bound, or delivery is paused, that is the trouble; what came meanwhile is counted anew", () => {
  for (const why of [{ unboundMs: 1 }, { isPaused: true }]) {
    const { state, see } = makeBacklog();
    expect(see(100, 200, 300, 400, 500, 600)).toHaveLength(1);
    Object.assign(state, why);
    expect(see(700)).toEqual([]);
    Object.assign(state, { unboundMs: 0, isPaused: false });
    expect(see(800, 900, 1_000, 1_100, 1_200)).toEqual([]);
    expect(see(1_300)).toHaveLength(1);
  }
});
