// More comes than can be written: reading pauses, and goes on; what stays paused is given up. A real link over real
// sockets, the real line to the database, and a database that is as slow as the test wants it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { LinkEventQueue } from "../../../src/modules/sms/gateway/link-event-queue.ts";
import { openRoutes } from "../../../src/modules/sms/gateway/route-settings.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { caughtUp, makeBound, TEXT } from "../../support/smpp/world.ts";

setDefaultTimeout(40_000);

const TEXTS = 6_000;

/** A link whose texts go through a queue of events that commits when it may. */
async function makeFlooded(smsc: Awaited<ReturnType<typeof startSmsc>>) {
  const world = await makeBound(smsc);
  world.isAcknowledging = false;
  const gate = Promise.withResolvers<void>();
  const pressed: boolean[] = [];
  let longest = 0;
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const link = { name: "a", route, free: 0, freeWith: () => 0, send: () => undefined, returned: 0 };
  const queue = new LinkEventQueue({
    async commit(run) {
      await gate.promise;
      return run();
    },
    guard: { failure: null, whenOpen: () => () => undefined },
    clock: { now: () => performance.now(), after: (ms, run) => (setTimeout(run, ms), () => undefined) },
    log: { event: () => undefined, error: (_, error) => expect(error).toBeUndefined() },
    failedWrites: { reportError: () => undefined, keepSegment: () => undefined },
    reducer: { apply: () => [], markUncertain: () => [] },
    dispatcher: {
      nudge: () => undefined,
      offer: () => undefined,
      forgetAlongside: () => undefined,
      claimAlongside: () => () => undefined,
    },
    links: {
      pauseReading(isPaused) {
        pressed.push(isPaused);
        if (isPaused) world.link.pauseReading();
        else world.link.resumeReading();
      },
    },
  });
  const origin = { session: { beganAt: 0, endedAt: null }, sequence: 1 };
  const take = world.received.push.bind(world.received);
  world.received.push = (...all) => {
    for (const { message, acknowledge } of all)
      queue.push({ kind: "received", link, message, receipt: null, origin, acknowledge });
    longest = Math.max(longest, queue.length);
    return take(...all);
  };
  return {
    world,
    pressed,
    longest: () => longest,
    open: () => gate.resolve(),
  };
}

test("over 2,000 that wait reading pauses, below 500 it goes on, and all are acknowledged once", async () => {
  await using smsc = await startSmsc({ script: { maxUnacknowledged: TEXTS } });
  const flooded = await makeFlooded(smsc);
  await using world = flooded.world;
  await smsc.deliver("loja", ...Array.from({ length: TEXTS }, () => TEXT));
  await world.until(() => flooded.pressed.includes(true));
  // What is in a buffer already is no more than some kilobytes.
  expect(flooded.longest()).toBeLessThan(4_000);
  world.clock.advance(9_000);
  expect((await smsc.state()).counters.acknowledged).toBe(0);
  flooded.open();
  await smsc.until({ acknowledged: TEXTS });
  expect(flooded.pressed.at(-1)).toBe(false);
  expect(world.received).toHaveLength(TEXTS);
  expect(world.unbound).toEqual([]);
});

test("a pause over 10 s ends the connection; what was not acknowledged comes again over the next", async () => {
  await using smsc = await startSmsc({ script: { maxUnacknowledged: TEXTS } });
  const flooded = await makeFlooded(smsc);
  await using world = flooded.world;
  await smsc.deliver("loja", ...Array.from({ length: TEXTS }, () => TEXT));
  await world.until(() => flooded.pressed.includes(true));
  world.clock.advance(10_000);
  expect(world.unbound).toMatchObject([{ reason: "reading was paused for too long" }]);
  flooded.open();
  world.clock.advance(1_000);
  await smsc.until({ acknowledged: TEXTS });
  await caughtUp(smsc, world);
  expect(world.unbound).toHaveLength(1);
});
