// Loaded into the executable before its own code: its clocks, which the scenario moves on over a socket (steered-clock.ts).
// Real time goes on beside it, so that sockets and timers of milliseconds are as they are.

import type { NoParamCallback } from "node:fs";

interface Waiting {
  timer: Timer;
  dueMs: number;
  fire: () => void;
}

const socket = process.env["POMBO_TEST_CLOCK"] ?? "";
const aheadMs = Number(process.env["POMBO_TEST_CLOCK_AHEAD_MS"] ?? 0);
let movedMs = 0;
const wall = Date.now;
const span = performance.now.bind(performance);
const [arm, disarm] = [setTimeout, clearTimeout];
/** By what setTimeout answered. */
const waiting = new Map<unknown, Waiting>();

function setSteeredTimeout(run: (...given: unknown[]) => void, delayMs = 0, ...given: unknown[]): Timer {
  const fire = () => {
    waiting.delete(first);
    run(...given);
  };
  const first = arm(fire, delayMs);
  waiting.set(first, { timer: first, dueMs: performance.now() + delayMs, fire });
  return first;
}

/** Syncs of the database's log under way. With a move they would seem to have taken as long. */
let syncs = 0;

function countSyncs(): void {
  // A static import would bind the originals.
  const fs = process.getBuiltinModule("node:fs");
  const sync = fs.fdatasync;
  const counted = (descriptor: number, done: NoParamCallback) => {
    syncs += 1;
    sync(descriptor, (error) => {
      syncs -= 1;
      done(error);
    });
  };
  fs.fdatasync = Object.assign(counted, { __promisify__: sync.__promisify__ });
  process.getBuiltinModule("node:module").syncBuiltinESMExports();
}

function move(ms: number): void {
  movedMs += ms;
  for (const each of waiting.values()) {
    disarm(each.timer);
    each.timer = arm(each.fire, Math.max(0, each.dueMs - performance.now()));
  }
}

// Threads and commands keep their clocks.
if (Bun.isMainThread && socket !== "") {
  Date.now = () => wall() + aheadMs + movedMs;
  performance.now = () => span() + movedMs;
  globalThis.setTimeout = setSteeredTimeout as unknown as typeof setTimeout;
  globalThis.clearTimeout = ((first?: Timer) => {
    disarm(waiting.get(first)?.timer ?? first);
    waiting.delete(first);
  }) as typeof clearTimeout;
  countSyncs();
  Bun.serve({
    unix: socket,
    async fetch(request) {
      const ms = Number(await request.text());
      while (syncs > 0) await Bun.sleep(1);
      move(ms);
      return new Response(null, { status: 204 });
    },
  });
}
