// One question to one server by one transport, to learn about the server itself: whether it answers, how fast, and
// whether it says that it has validated the answer (RFC 6840 §5.7: who sets AD in a question asks for it in the answer).

import dgram from "node:dgram";
import net from "node:net";
import { AUTHENTIC_DATA, RECURSION_DESIRED, type DecodedPacket, decode, encode } from "dns-packet";
import type { Clock } from "../../platform/clock.ts";
import { getErrorCode } from "../../platform/errors.ts";
import type { Server } from "./exchange.ts";
import { OWN_EDNS, type QueryType } from "./wire-format.ts";

export interface ServerQuestion {
  /** "." for the root. */
  name: string;
  type: QueryType;
  transport: "udp" | "tcp";
  id: number;
}

export type ServerAnswer =
  /** `rcode`: "NOERROR", "SERVFAIL", …. */
  | { kind: "answered"; rcode: string; isAuthenticated: boolean; isTruncated: boolean; tookMs: number }
  /** `reason` goes on after the name of the server. */
  | { kind: "silent"; reason: string };

interface ProbeOptions {
  /** Measures spans. */
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Never rejects. */
export function probeServer(server: Server, question: ServerQuestion, options: ProbeOptions): Promise<ServerAnswer> {
  const { clock, timeoutMs, signal } = options;
  const { promise, resolve } = Promise.withResolvers<ServerAnswer>();
  if (signal.aborted) return Promise.resolve({ kind: "silent", reason: "was not asked: the time was over" });
  const startedAt = clock.now();
  const message = encode({
    type: "query",
    id: question.id,
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ type: question.type, name: question.name, class: "IN" }],
    additionals: [OWN_EDNS],
  });
  const read = (bytes: Buffer) => {
    const answer = readAnswer(bytes, question.id);
    if (answer !== null) resolve({ kind: "answered", ...answer, tookMs: clock.now() - startedAt });
  };
  const fail = (reason: string) => resolve({ kind: "silent", reason });
  const ask = question.transport === "udp" ? askByUdp : askByTcp;
  const close = ask(server, message, { read, fail });
  const cancel = clock.after(timeoutMs, () => fail(`did not answer within ${timeoutMs / 1_000} s`));
  const abort = () => fail("did not answer before the time was over");
  signal.addEventListener("abort", abort);
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", abort);
    close();
  });
}

interface Listening {
  read: (bytes: Buffer) => void;
  fail: (reason: string) => void;
}

function askByUdp(server: Server, message: Buffer, { read, fail }: Listening): () => void {
  const socket = dgram.createSocket(server.family === 4 ? "udp4" : "udp6");
  let isClosed = false;
  const notReached = (error: unknown) =>
    fail(`could not be reached (${getErrorCode(error) || "an error without a code"})`);
  socket.on("message", read);
  socket.on("error", notReached);
  // Connected, so that a closed port is told at once.
  socket.connect(server.port, server.address, (error?: unknown) => {
    if (error) notReached(error);
    else if (!isClosed) socket.send(message);
  });
  return () => {
    isClosed = true;
    socket.close();
  };
}

function askByTcp(server: Server, message: Buffer, { read, fail }: Listening): () => void {
  let buffered = Buffer.alloc(0);
  const socket = net.connect({ host: server.address, port: server.port });
  socket.on("connect", () => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
  });
  socket.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    if (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) read(buffered.subarray(2));
  });
  socket.on("error", (error) =>
    fail(`could not be reached by TCP (${getErrorCode(error) || "an error without a code"})`),
  );
  socket.on("close", () => fail("closed the TCP connection without an answer"));
  return () => socket.destroy();
}

/** Null: it is no answer to this question. */
function readAnswer(bytes: Buffer, id: number) {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== id) return null;
  try {
    const message = decode(bytes) as DecodedPacket & { rcode: string; flag_ad: boolean };
    if (!message.flag_qr) return null;
    return { rcode: message.rcode, isAuthenticated: message.flag_ad, isTruncated: message.flag_tc };
  } catch {
    return null;
  }
}
