// How far this machine's clock is from an NTP server's: one question and its answer (RFC 5905 §14, the simple protocol).

import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { getErrorCode } from "../../platform/errors.ts";

/** Seconds from 1900, where NTP begins, to 1970 (RFC 5905 §6). */
const UNIX_EPOCH_S = 2_208_988_800;
const PACKET_BYTES = 48;
/** No leap warning, version 4, mode 3: a client. */
const CLIENT = 0x23;
const SERVER_MODE = 4;

export type TimeAnswer =
  /** Positive: this machine's clock is behind. */
  | { kind: "answered"; offsetMs: number }
  /** `reason` goes on after the name of the server. */
  | { kind: "silent"; reason: string };

interface TimeOptions {
  server: { address: string; port: number };
  clock: Pick<Clock, "now">;
  /** Times the waiting. */
  steady: Pick<Clock, "after">;
  timeoutMs: number;
  /** 8 unpredictable bytes: an answer to another question does not have them. */
  nonce: Uint8Array;
  signal: AbortSignal;
}

/** Never rejects. */
export function askTime({ server, clock, steady, timeoutMs, nonce, signal }: TimeOptions): Promise<TimeAnswer> {
  const { promise, resolve } = Promise.withResolvers<TimeAnswer>();
  const fail = (reason: string) => resolve({ kind: "silent", reason });
  if (signal.aborted) return Promise.resolve({ kind: "silent", reason: "was not asked: the time was over" });
  const socket = dgram.createSocket(isIPv6(server.address) ? "udp6" : "udp4");
  let sentAt = 0;
  let isClosed = false;
  const notReached = (error: unknown) =>
    fail(`could not be reached (${getErrorCode(error) || "an error without a code"})`);
  socket.on("error", notReached);
  socket.on("message", (bytes) => {
    const read = readTimes(bytes, nonce);
    if (read === null) return;
    if (typeof read === "string") return fail(read);
    // §8: the mean of both ways, so that the time on the way does not count.
    resolve({ kind: "answered", offsetMs: (read.receivedAt - sentAt + (read.sentAt - clock.now())) / 2 });
  });
  socket.connect(server.port, server.address, (error?: unknown) => {
    if (error) return notReached(error);
    if (isClosed) return;
    const packet = Buffer.alloc(PACKET_BYTES);
    packet[0] = CLIENT;
    packet.set(nonce.subarray(0, 8), PACKET_BYTES - 8);
    sentAt = clock.now();
    socket.send(packet);
  });
  const cancel = steady.after(timeoutMs, () => fail(`did not answer within ${timeoutMs / 1_000} s`));
  const abort = () => fail("did not answer before the time was over");
  signal.addEventListener("abort", abort);
  return promise.finally(() => {
    isClosed = true;
    cancel();
    signal.removeEventListener("abort", abort);
    socket.close();
  });
}

/** Unix ms; a sentence's end where the server knows no time; null: it is no answer to this question. */
function readTimes(bytes: Buffer, nonce: Uint8Array): { receivedAt: number; sentAt: number } | string | null {
  if (bytes.length < PACKET_BYTES || ((bytes[0] ?? 0) & 7) !== SERVER_MODE) return null;
  if (!bytes.subarray(24, 32).equals(Buffer.from(nonce.subarray(0, 8)))) return null;
  const stratum = bytes[1] ?? 0;
  // §7.4: 0 is a refusal, 16 and above says that it is not synchronised itself.
  if (stratum === 0 || stratum >= 16) return "does not know the time itself";
  return { receivedAt: readTime(bytes, 32), sentAt: readTime(bytes, 40) };
}

function readTime(bytes: Buffer, at: number): number {
  const seconds = bytes.readUInt32BE(at);
  // §6: the era that begins in 2036 has small numbers.
  const era = seconds < 0x8000_0000 ? 2 ** 32 : 0;
  return (seconds + era - UNIX_EPOCH_S) * 1_000 + (bytes.readUInt32BE(at + 4) / 2 ** 32) * 1_000;
}
