import { expect, test } from "bun:test";
import {
  IDLE_MS,
  SESSION_LIFE_MS,
  SessionPool,
  type PoolOptions,
} from "../../../../src/protocols/smtp/session-pool.ts";
import type { SmtpSession } from "../../../../src/protocols/smtp/session/session.ts";
import { DEFAULT_TIMEOUTS } from "../../../../src/protocols/smtp/session/timeouts.ts";
import { ExpiringNames } from "../../../../src/protocols/smtp/expiring-names.ts";
import { tlsPolicy, WITHOUT_TLS_MS } from "../../../../src/protocols/smtp/tls-policy.ts";
import { fakeClock, type FakeClock } from "../../../support/fakes/clock.ts";
import { stall, type Mx } from "../../../support/fakes/mx.ts";
import { withMx } from "../../../support/smtp/helpers.ts";

async function withPool(
  use: (pool: SessionPool, clock: FakeClock, mx: Mx) => Promise<void>,
  options: Partial<PoolOptions> = {},
): Promise<void> {
  await withMx({}, async (mx) => {
    const clock = fakeClock();
    const pool = new SessionPool({
      clock,
      heloName: "pombo.example.com",
      localAddress: null,
      port: mx.port,
      timeouts: DEFAULT_TIMEOUTS,
      ...options,
    });
    await use(pool, clock, mx);
    await pool.close();
    expect(pool.idleCount).toBe(0);
    expect(clock.pending).toBe(0);
  });
}

async function openIn(pool: SessionPool): Promise<SmtpSession> {
  const opened = await pool.open({ host: "mx.example", address: "127.0.0.1", tls: "opportunistic", isLast: true });
  if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
  return opened.session;
}

test("a released session is handed out again for its key alone, the last one first (R30)", async () => {
  await withPool(async (pool) => {
    const [first, second] = [await openIn(pool), await openIn(pool)];
    pool.release("site-a", first);
    pool.release("site-a", second);
    expect(pool.idleCount).toBe(2);
    expect(pool.acquire("site-b")).toBeNull();
    expect(pool.acquire("site-a")).toBe(second);
    expect(pool.acquire("site-a")).toBe(first);
    expect(pool.acquire("site-a")).toBeNull();
    expect(pool.idleCount).toBe(0);
    first.destroy();
    second.destroy();
  });
});

test("site, TLS policy and source address make the key (R12, R30)", async () => {
  await withPool(async (pool) => {
    expect(pool.key("a", tlsPolicy("mx"))).not.toBe(pool.key("b", tlsPolicy("mx")));
    expect(pool.key("a", { mode: "verify", source: "mta-sts" })).not.toBe(
      pool.key("a", { mode: "required", source: "config" }),
    );
  });
});

test("a session idle for 5 s ends with QUIT (R29, R30)", async () => {
  await withPool(async (pool, clock, mx) => {
    pool.release("site", await openIn(pool));
    clock.advance(IDLE_MS - 1);
    expect(pool.idleCount).toBe(1);
    clock.advance(1);
    expect(pool.idleCount).toBe(0);
    await mx.until(() => mx.connections[0]!.isClosed);
    expect(mx.connections[0]!.commands.at(-1)).toBe("QUIT");
  });
});

test("a session in use again and again ends after 300 s, not after a number of messages (R30)", async () => {
  await withPool(async (pool, clock, mx) => {
    pool.release("site", await openIn(pool));
    for (let spentMs = 0; spentMs + 4_000 < SESSION_LIFE_MS; spentMs += 4_000) {
      clock.advance(4_000);
      pool.release("site", pool.acquire("site")!);
    }
    expect(pool.idleCount).toBe(1);
    clock.advance(4_000);
    expect(pool.acquire("site")).toBeNull();
    await mx.until(() => mx.connections[0]!.isClosed);
  });
});

test("each session expires at its own time, with one timer for all", async () => {
  await withPool(async (pool, clock) => {
    for (let count = 0; count < 4; count++) {
      pool.release("site", await openIn(pool));
      clock.advance(1_000);
      // One timer of the pool; the sessions' own are left from their opening.
    }
    expect(pool.idleCount).toBe(4);
    for (const left of [3, 2, 1, 0]) {
      clock.advance(1_000);
      expect(pool.idleCount).toBe(left);
    }
  });
});

test("a session that the server has ended is not handed out", async () => {
  await withPool(async (pool, _clock, mx) => {
    const session = await openIn(pool);
    pool.release("site", session);
    mx.connections[0]!.drop();
    for (let turn = 0; session.isUsable && turn < 10_000; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(pool.acquire("site")).toBeNull();
    pool.release("site", session);
    expect(pool.idleCount).toBe(0);
  });
});

test("over the cap of idle sessions a session ends instead", async () => {
  await withPool(
    async (pool, _clock, mx) => {
      const sessions = [await openIn(pool), await openIn(pool), await openIn(pool)];
      for (const session of sessions) pool.release("site", session);
      expect(pool.idleCount).toBe(2);
      await mx.until(() => mx.connections[2]!.isClosed);
    },
    { maxIdle: 2 },
  );
});

test("close ends the idle sessions with QUIT, and what is released later too", async () => {
  await withPool(async (pool, _clock, mx) => {
    const later = await openIn(pool);
    pool.release("site", await openIn(pool));
    await pool.close();
    pool.release("site", later);
    expect(pool.idleCount).toBe(0);
    await mx.until(() => mx.connections.every((connection) => connection.isClosed));
    expect(mx.connections.map((connection) => connection.commands.at(-1))).toEqual(["QUIT", "QUIT"]);
  });
});

test("the last host's greeting may take 5 minutes, any other's 60 s (R13)", async () => {
  await withPool(async (pool, clock, mx) => {
    mx.script = { greeting: stall() };
    for (const [isLast, limitS] of [
      [false, 60],
      [true, 300],
    ] as const) {
      const before = mx.connections.length;
      const opening = pool.open({ host: "mx.example", address: "127.0.0.1", tls: "never", isLast });
      await mx.until(() => mx.connections.length > before);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      clock.advance(limitS * 1_000);
      expect(await opening).toMatchObject({
        kind: "broken",
        stage: "greeting",
        reason: `no greeting within ${limitS} s`,
      });
    }
  });
});

test.each(["not_now", "broken"] as const)("TLS that is %s is remembered per host for its time (R17)", (failure) => {
  const clock = fakeClock();
  const memory = new ExpiringNames(clock);
  memory.add("mx1.example", WITHOUT_TLS_MS[failure]);
  clock.advance(WITHOUT_TLS_MS[failure] - 1);
  expect(memory.has("mx1.example")).toBe(true);
  expect(memory.has("mx2.example")).toBe(false);
  clock.advance(1);
  expect(memory.has("mx1.example")).toBe(false);
});

test("the memory of broken TLS is bounded: the oldest host goes first", () => {
  const memory = new ExpiringNames(fakeClock());
  for (let count = 0; count < 10_001; count++) memory.add(`mx${count}.example`, WITHOUT_TLS_MS.broken);
  expect(memory.has("mx0.example")).toBe(false);
  expect(memory.has("mx1.example")).toBe(true);
});

test("every host is opportunistic until a policy says more (§1.8)", () => {
  expect(tlsPolicy("mx.example")).toEqual({ mode: "opportunistic", source: "default" });
});
