// The reader: its own process, so that its CPU is not the server's. It opens some keep-alive
// connections and sends requests, each when the answer to the one before is whole. Prints one line of
// JSON at the end.
//
// Run by bench/reads.ts: bun bench/get-load.ts <file with the JSON of a ReadOrder>

import { readFileSync } from "node:fs";
import type { Socket } from "bun";
import { type HttpAnswer, readAnswer } from "./http-answer.ts";

export interface ReadOrder {
  port: number;
  apiKey: string;
  method: "GET" | "DELETE";
  connections: number;
  /** Taken in turn until `requests` are answered. */
  paths: string[];
  requests: number;
}

export interface ReadResult {
  perSecond: number;
  latencyMs: { p50: number; p99: number; max: number };
  /** Bytes of an answer, head included, on average. */
  answerBytes: number;
}

interface Connection {
  answer: Buffer;
  sentAt: number;
}

const order = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as ReadOrder;
console.log(JSON.stringify(await runReads(order)));

async function runReads({ port, apiKey, method, connections, paths, requests }: ReadOrder): Promise<ReadResult> {
  const rest = ` HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${apiKey}\r\n\r\n`;
  const latencies: number[] = [];
  let sent = 0;
  let bytes = 0;
  const sendNext = (socket: Socket<Connection>): void => {
    if (sent === requests) return void socket.end();
    socket.data.sentAt = performance.now();
    // A request this short always fits into an empty socket.
    socket.write(`${method} ${paths[sent++ % paths.length]}${rest}`);
  };
  const receive = (socket: Socket<Connection>, chunk: Buffer): void => {
    const connection = socket.data;
    connection.answer = connection.answer.length === 0 ? Buffer.from(chunk) : Buffer.concat([connection.answer, chunk]);
    const answer = readAnswer(connection.answer);
    if (!answer) return;
    latencies.push(performance.now() - connection.sentAt);
    if (answer.status !== 200) throw refused(answer);
    bytes += connection.answer.length;
    connection.answer = Buffer.alloc(0);
    sendNext(socket);
  };

  const closed: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < connections; index++) {
    const end = Promise.withResolvers<void>();
    closed.push(end.promise);
    await Bun.connect<Connection>({
      hostname: "127.0.0.1",
      port,
      data: { answer: Buffer.alloc(0), sentAt: 0 },
      socket: {
        open: sendNext,
        data: receive,
        close: () => end.resolve(),
        error: (_, error) => end.reject(error),
      },
    });
  }
  await Promise.all(closed);
  if (latencies.length !== requests) throw new Error(`${latencies.length} answers to ${requests} requests`);
  const sorted = Float64Array.from(latencies).sort();
  const quantile = (share: number): number => sorted[Math.min(requests - 1, Math.floor(share * requests))] ?? 0;
  return {
    perSecond: requests / ((performance.now() - startedAt) / 1000),
    latencyMs: { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) },
    answerBytes: bytes / requests,
  };
}

function refused(answer: HttpAnswer): Error {
  return new Error(`a request was answered with ${answer.status}: ${answer.body.slice(0, 300)}`);
}
