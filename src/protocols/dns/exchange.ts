/**
 * One question to one server: over UDP from a fresh random port, and over TCP when the answer did
 * not fit. Whatever does not answer our question from that server's address is ignored until the
 * time is up, so a forger has to guess the id and the port within a single try.
 */
import dgram from "node:dgram";
import net from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { getErrorCode } from "../../platform/errors.ts";
import { encodeQuestion, readAnswer } from "./wire-format.ts";
import type { Question, Reading } from "./wire-format.ts";

/** `label` is its address for the operator: `ip:port` or `[v6]:port`. */
export interface Server {
  label: string;
  address: string;
  port: number;
  family: 4 | 6;
}

/** `reason` goes on after the name of the server. `isSilent`: the server could not be reached or said nothing, which a later round may change. */
export type Outcome =
  | Exclude<Reading, { kind: "foreign" | "truncated" | "no_edns" | "refused" }>
  | { kind: "unanswered"; reason: string; isSilent: boolean };

export interface ExchangeOptions {
  clock: Clock;
  /** For each of UDP and TCP. */
  timeoutMs: number;
  signal: AbortSignal;
}

type Received = Exclude<Reading, { kind: "foreign" }> | { kind: "silent"; reason: string };

const NO_CODE = "an error without a code";

/** Never rejects. Without EDNS and over TCP where the server asks for it. */
export async function askServer(server: Server, question: Question, options: ExchangeOptions): Promise<Outcome> {
  let current = question;
  let received = await askByUdp(server, current, options);
  if (received.kind === "no_edns") {
    current = { ...question, hasEdns: false };
    received = await askByUdp(server, current, options);
  }
  if (received.kind === "truncated") received = await askByTcp(server, current, options);
  switch (received.kind) {
    case "silent":
      return { kind: "unanswered", reason: received.reason, isSilent: true };
    case "refused":
      return { kind: "unanswered", reason: received.reason, isSilent: false };
    case "truncated":
    case "no_edns":
      return { kind: "unanswered", reason: "sent a malformed answer", isSilent: false };
    default:
      return received;
  }
}

function askByUdp(server: Server, question: Question, options: ExchangeOptions): Promise<Received> {
  return waitFor(options, (settle) => {
    const socket = dgram.createSocket(server.family === 4 ? "udp4" : "udp6");
    socket.on("message", (bytes) => {
      const reading = readAnswer(bytes, question);
      if (reading.kind !== "foreign") settle(reading);
    });
    socket.on("error", (error) =>
      settle({ kind: "silent", reason: `could not be reached (${getErrorCode(error) || NO_CODE})` }),
    );
    // A connected socket: the kernel picks a random port for this query only, drops datagrams from
    // any other address and port, and reports a closed port at once instead of after the timeout.
    let isClosed = false;
    socket.connect(server.port, server.address, (error?: unknown) => {
      if (error) settle({ kind: "silent", reason: `could not be reached (${getErrorCode(error) || NO_CODE})` });
      else if (!isClosed) socket.send(encodeQuestion(question));
    });
    return () => {
      isClosed = true;
      socket.close();
    };
  });
}

function askByTcp(server: Server, question: Question, options: ExchangeOptions): Promise<Received> {
  return waitFor(options, (settle) => {
    let buffered = Buffer.alloc(0);
    const socket = net.connect({ host: server.address, port: server.port });
    socket.on("connect", () => {
      const message = encodeQuestion(question);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on("data", (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (buffered.length < 2) return;
      // At most 65,535 bytes by the length field, so the buffer has its limit (RFC 1035 §4.2.2).
      const end = 2 + buffered.readUInt16BE(0);
      if (buffered.length < end) return;
      const reading = readAnswer(buffered.subarray(2, end), question);
      settle(reading.kind === "foreign" ? { kind: "refused", reason: "answered another question over TCP" } : reading);
    });
    socket.on("error", (error) =>
      settle({ kind: "silent", reason: `could not be reached by TCP (${getErrorCode(error) || NO_CODE})` }),
    );
    socket.on("close", () => settle({ kind: "silent", reason: "closed the TCP connection without an answer" }));
    return () => socket.destroy();
  });
}

/** Runs `start` until it settles, the time is up or the lookup is given up; then its cleanup, once. */
function waitFor(
  { clock, timeoutMs, signal }: ExchangeOptions,
  start: (settle: (received: Received) => void) => () => void,
): Promise<Received> {
  if (signal.aborted) return Promise.resolve({ kind: "silent", reason: "was not asked: the lookup was given up" });
  return new Promise((resolve) => {
    let isSettled = false;
    let stop = () => {};
    const settle = (received: Received) => {
      if (isSettled) return;
      isSettled = true;
      cancelTimer();
      signal.removeEventListener("abort", abort);
      stop();
      resolve(received);
    };
    const abort = () => settle({ kind: "silent", reason: "did not answer before the lookup was given up" });
    const cancelTimer = clock.after(timeoutMs, () => {
      settle({ kind: "silent", reason: `did not answer within ${timeoutMs / 1000} s` });
    });
    signal.addEventListener("abort", abort);
    stop = start(settle);
    // Settled while starting: the cleanup that settle ran was still the empty one.
    if (isSettled) stop();
  });
}
