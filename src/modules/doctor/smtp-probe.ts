// A short conversation with a mail server, to see whether it answers: nothing is sent through it.

import type { Clock } from "../../platform/clock.ts";
import { getErrorCode } from "../../platform/errors.ts";
import { type Dial, dialDirectly, type DialFault } from "../../protocols/socks5/dial.ts";

/** A reply and no more: whoever answers may be anybody. */
const MAX_REPLY_CHARACTERS = 8_192;

export interface SmtpReply {
  code: number;
  lines: string[];
}

/** `reason` goes on after the name of the server. */
export type SmtpTalk =
  | { kind: "replied"; replies: SmtpReply[] }
  /** No connection at all; one on which the talk ended early; or the time of the run was over, which says nothing. */
  | { kind: "unreached" | "broken" | "given_up"; reason: string; replies: SmtpReply[]; isProxyAtFault?: true };

export interface SmtpTalkOptions {
  address: string;
  port: number;
  /** Said one after the other, each when the reply before it came; the talk ends at a reply that refuses. */
  commands: readonly string[];
  localAddress?: string | null | undefined;
  /** Absent: directly. */
  dial?: Dial | undefined;
  clock: Pick<Clock, "after">;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Never rejects. The first reply is the greeting. */
export function talkSmtp(options: SmtpTalkOptions): Promise<SmtpTalk> {
  const { address, port, commands, localAddress, dial, clock, timeoutMs, signal } = options;
  const { promise, resolve } = Promise.withResolvers<SmtpTalk>();
  if (signal.aborted)
    return Promise.resolve({ kind: "given_up", reason: "was not asked: the time was over", replies: [] });
  const replies: SmtpReply[] = [];
  let isConnected = false;
  let buffered = "";
  let lines: string[] = [];
  const fail = (reason: string, fault: DialFault = dialing.waitsFor) =>
    resolve({
      kind: isConnected ? "broken" : "unreached",
      reason,
      replies,
      ...(fault === "target" || isConnected ? {} : { isProxyAtFault: true }),
    });
  const dialing = (dial ?? dialDirectly(localAddress ?? null))(
    { address, port },
    {
      connected(early) {
        isConnected = true;
        socket.on("error", (error) => fail(describeError(error)));
        socket.on("close", () => fail("closed the connection"));
        socket.on("data", hear);
        if (early !== null) hear(early);
      },
      failed: (reason, fault, error) => fail(error === undefined ? reason : describeError(error), fault),
    },
  );
  const { socket } = dialing;
  function hear(chunk: Buffer): void {
    buffered += chunk.toString("latin1");
    if (buffered.length > MAX_REPLY_CHARACTERS) return fail("said more than a reply");
    for (let end = buffered.indexOf("\n"); end >= 0; end = buffered.indexOf("\n")) {
      const line = buffered.slice(0, end).replace(/\r$/, "");
      buffered = buffered.slice(end + 1);
      const [, code, more, text = ""] = /^(\d{3})([ -]?)(.*)$/.exec(line) ?? [];
      if (code === undefined) return fail("does not speak SMTP");
      lines.push(text);
      if (more === "-") continue;
      replies.push({ code: Number(code), lines });
      lines = [];
      const next = commands[replies.length - 1];
      if (next === undefined || Number(code) >= 400) {
        socket.write("QUIT\r\n");
        return resolve({ kind: "replied", replies });
      }
      socket.write(`${next}\r\n`);
    }
  }
  const cancel = clock.after(timeoutMs, () =>
    fail(
      isConnected ? `did not answer within ${timeoutMs / 1_000} s` : `did not connect within ${timeoutMs / 1_000} s`,
    ),
  );
  const abort = () => resolve({ kind: "given_up", reason: "did not answer before the time was over", replies });
  signal.addEventListener("abort", abort);
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", abort);
    // What was written last still goes out.
    socket.end();
    socket.destroySoon();
  });
}

function describeError(error: unknown): string {
  const code = getErrorCode(error);
  switch (code) {
    case "ECONNREFUSED":
      return "refused the connection";
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "EADDRNOTAVAIL":
      return `cannot be reached (${code})`;
    case "ETIMEDOUT":
      return "did not connect in time";
    default:
      return `failed (${code || "an error without a code"})`;
  }
}
