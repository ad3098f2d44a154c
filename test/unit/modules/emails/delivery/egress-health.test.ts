import { expect, test } from "bun:test";
import { EgressHealth } from "../../../../../src/modules/emails/delivery/egress-health.ts";

const MUTE = { kind: "proxy", reason: "no connection within 15 s" } as const;
const FORBIDDEN = { kind: "rules", reason: "the proxy's rules do not allow this connection" } as const;
const SITE = "mx.example.com via lisbon";

function scene() {
  let now = 1_000_000;
  const events: string[] = [];
  const clock = { now: () => now };
  const log = { event: (name: string) => void events.push(name), error: () => {} };
  const health = new EgressHealth({ clock, steady: clock, log });
  const pause = (site = SITE) => {
    const until = health.findPause(site);
    return until === null ? null : until - now;
  };
  /** One message that tries. */
  const go = (fault: Parameters<EgressHealth["failed"]>[2], site = SITE) => {
    health.enter("lisbon");
    health.failed("lisbon", site, fault);
    health.leave("lisbon");
  };
  return { health, events, pause, go, pass: (ms: number) => void (now += ms) };
}

test("a dead proxy holds up its own mail for longer each time, and what goes elsewhere never", () => {
  const { pause, go, pass, health } = scene();
  const waits: (number | null)[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    go(MUTE);
    waits.push(pause());
    expect(pause("mx.example.com")).toBeNull();
    expect(pause("mx.example.com via porto")).toBeNull();
    pass(waits.at(-1) ?? 0);
    expect(pause()).toBeNull();
  }
  expect(waits).toEqual([5_000, 15_000, 30_000, 60_000, 60_000]);
  expect(health.issues).toMatchObject([{ component: "egress", kind: "lisbon", since: 1_000_000 }]);
});

test("messages that were on their way together are one failure", () => {
  const { pause, health, pass } = scene();
  for (let nth = 0; nth < 20; nth += 1) health.enter("lisbon");
  for (let nth = 0; nth < 20; nth += 1) health.failed("lisbon", SITE, MUTE);
  expect(pause()).toBe(5_000);
  pass(5_000);
  expect(pause()).toBeNull();
});

test("while one message tries, the others wait; its success frees all", () => {
  const { pause, go, health, pass, events } = scene();
  go(MUTE);
  pass(5_000);
  health.enter("lisbon");
  expect(pause()).toBe(1_000);
  health.works("lisbon");
  expect(pause()).toBeNull();
  expect(health.issues).toEqual([]);
  expect(events).toEqual(["egress.failed", "egress.works"]);
});

test("who tried and came to no end holds nobody up", () => {
  const { pause, go, health, pass } = scene();
  go(MUTE);
  pass(5_000);
  health.enter("lisbon");
  health.leave("lisbon");
  expect(pause()).toBeNull();
});

test("a proxy that will not lead to one server holds up the mail to that one", () => {
  const { pause, go, health, pass } = scene();
  go(FORBIDDEN);
  expect(pause()).toBe(60_000);
  expect(pause("other.example via lisbon")).toBeNull();
  expect(health.issues).toMatchObject([{ kind: "lisbon.rules", reason: expect.stringContaining("1 destination:") }]);
  pass(60_000);
  expect(pause()).toBeNull();
  pass(60_001);
  expect(health.issues).toEqual([]);
});
