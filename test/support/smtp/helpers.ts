import { systemClock, type Clock } from "../../../src/platform/clock.ts";
import {
  openSession,
  type Envelope,
  type OpenResult,
  type SmtpSession,
} from "../../../src/protocols/smtp/session/session.ts";
import type { SessionOptions } from "../../../src/protocols/smtp/session/greeting.ts";
import { DEFAULT_TIMEOUTS } from "../../../src/protocols/smtp/session/timeouts.ts";
import type { FakeClock } from "../fakes/clock.ts";
import { startMx, type Mx, type MxScript } from "../fakes/mx.ts";

export const ENVELOPE: Envelope = { from: "sender@example.com", to: "someone@example.net", needsSmtpUtf8: false };
export const CONTENT = Buffer.from("Subject: Hello\r\n\r\nHello\r\n");

/** A generator of numbers in [0, 1) from a seed, so that a failing round can be run again (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** CRLF lines of about `sizeBytes` bytes in all. */
export function largeContent(sizeBytes: number): Buffer {
  return Buffer.from(
    "x"
      .repeat(76)
      .concat("\r\n")
      .repeat(Math.ceil(sizeBytes / 78)),
  );
}

export function open(mx: Mx, changes: Partial<SessionOptions> = {}): Promise<OpenResult> {
  const clock: Clock = systemClock;
  return openSession({
    host: "mx.example",
    address: mx.address,
    port: mx.port,
    localAddress: null,
    heloName: "pombo.example.com",
    tls: "opportunistic",
    timeouts: DEFAULT_TIMEOUTS,
    clock,
    ...changes,
  });
}

/** Runs `use` with a server after the script and an open session; both are closed in the end. */
export async function withSession(
  script: MxScript,
  use: (session: SmtpSession, mx: Mx) => Promise<void>,
  changes: Partial<SessionOptions> = {},
): Promise<void> {
  await withMx(script, async (mx) => {
    const opened = await open(mx, changes);
    if (opened.kind !== "open") throw new Error(`the session did not open: ${JSON.stringify(opened)}`);
    try {
      await use(opened.session, mx);
    } finally {
      opened.session.destroy();
    }
  });
}

export async function withMx(script: MxScript, use: (mx: Mx) => Promise<void>): Promise<void> {
  const mx = await startMx(script);
  try {
    await use(mx);
  } finally {
    await mx.close();
  }
}

/** Moves the time on, a step each turn of the event loop, until `work` is settled: what has been sent is read before its time is over. */
export async function runOut<T>(clock: FakeClock, work: Promise<T>, stepMs = 2_000): Promise<T> {
  let isSettled = false;
  const watched = work.finally(() => {
    isSettled = true;
  });
  watched.catch(() => {});
  for (let turn = 0; !isSettled && turn < 5_000; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isSettled && turn > 20) clock.advance(stepMs);
  }
  return watched;
}
