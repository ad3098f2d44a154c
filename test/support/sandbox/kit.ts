import { connect } from "node:net";
import type { Clock } from "../../../src/platform/clock.ts";
import type { ReceivedMessage } from "../../../src/sandbox/mx/inbox.ts";

/** Midday on a fixed date: what a test sees does not depend on when it runs. */
export const NOON = Date.UTC(2026, 2, 1, 12);

/** A clock that stands still until it is told to move. */
export function stoppedClock(): Clock & { advance(ms: number): void } {
  let now = NOON;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      now += ms;
      for (const timer of timers) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.run();
      }
    },
  };
}

/** A message with these lines, each ended by CRLF. */
export function lines(...parts: string[]): Buffer<ArrayBuffer> {
  return Buffer.from(parts.map((part) => `${part}\r\n`).join(""));
}

/** A received message, ready for the inbox. */
export function received(changes: Partial<ReceivedMessage> = {}): ReceivedMessage {
  return {
    envelopeFrom: "bounce@mail.example",
    from: "Ada <ada@shop.example>",
    to: "grace@example.com",
    subject: "Hello",
    receivedAt: NOON,
    tls: "TLSv1.3",
    dkim: "none",
    signatures: [],
    raw: lines("From: Ada <ada@shop.example>", "Subject: Hello", "", "Good morning"),
    ...changes,
  };
}

/** A bare SMTP client: writes lines, gives back whole replies in order. */
export async function rawClient(port: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  let wake = () => {};
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    wake();
  });
  const reply = async (): Promise<string> => {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text);
      if (match) {
        text = text.slice(match[0].length);
        return match[0];
      }
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  await reply();
  return {
    async say(line: string): Promise<string> {
      socket.write(`${line}\r\n`);
      return reply();
    },
    write: (content: string) => void socket.write(content),
    reply,
    drop: () => void socket.destroy(),
  };
}
