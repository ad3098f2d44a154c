// The load generator: its own process, so that its CPU is counted apart. It opens some keep-alive
// connections, and on each sends a prepared POST, waits for the whole answer, sends the next. Only the
// digits of the recipients change from request to request, in place. Prints one line of
// JSON at the end.
//
// Run by bench/email.ts: bun bench/load.ts '<JSON of LoadOrder>'

import type { Socket } from "bun";
import { type HttpAnswer, readAnswer } from "./http-answer.ts";
import { makeContent, makeFile, recipient, SENDER_DOMAIN } from "./message.ts";

export interface LoadOrder {
  port: number;
  apiKey: string;
  connections: number;
  /** Emails per request: 1 → POST /emails, more → POST /emails/batch. */
  batch: number;
  parts: "html+text" | "html";
  recipientDomain: string;
  /** Of a file attached to each email; absent: none is. */
  attachmentBytes?: number;
  firstNumber: number;
  /** PEM of the root; absent: without TLS. */
  ca?: string;
  /** Stop after that many emails, or after that many milliseconds. */
  until: { emails: number } | { ms: number };
}

export interface LoadResult {
  /** Unix ms, with a fraction: the first request's first byte. */
  startedAt: number;
  elapsedMs: number;
  accepted: number;
  /** Answers other than 202, by status, with the first body of each. */
  refused: Record<string, { count: number; body: string }>;
  latencyMs: { p50: number; p99: number; max: number };
  cpuSeconds: number;
}

const ACCEPTED = 202;
const DIGITS = recipient(0, "").length - 2; // without the letter and the @

interface Lane {
  request: Buffer;
  /** Where in `request` the digits of each recipient start. */
  digitOffsets: number[];
  /** Where digits make a file another one. */
  fileOffsets: number[];
  unsent: number;
  answer: Buffer;
  sentAt: number;
}

if (import.meta.main) {
  const order = JSON.parse(process.argv[2] ?? "") as LoadOrder;
  console.log(JSON.stringify(await runLoad(order)));
}

async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const latencies: number[] = [];
  const result = { accepted: 0, refused: {} as LoadResult["refused"] };
  let nextNumber = order.firstNumber;
  let startedAt = 0;
  const goal = "emails" in order.until ? order.firstNumber + order.until.emails : Infinity;
  const endsAfterMs = "ms" in order.until ? order.until.ms : Infinity;

  const sendNext = (socket: Socket<Lane>): void => {
    const now = performance.now();
    if (nextNumber >= goal || now - startedAt >= endsAfterMs) return void socket.end();
    const lane = socket.data;
    for (const offset of lane.digitOffsets)
      lane.request.write(String(nextNumber++).padStart(DIGITS, "0"), offset, "latin1");
    for (const offset of lane.fileOffsets)
      lane.request.write(String(nextNumber).padStart(DIGITS, "0"), offset, "latin1");
    lane.sentAt = now;
    lane.unsent = 0;
    flush(socket);
  };
  const receive = (socket: Socket<Lane>, chunk: Buffer): void => {
    const lane = socket.data;
    lane.answer = lane.answer.length === 0 ? Buffer.from(chunk) : Buffer.concat([lane.answer, chunk]);
    const answer = readAnswer(lane.answer);
    if (!answer) return;
    lane.answer = Buffer.alloc(0);
    latencies.push(performance.now() - lane.sentAt);
    if (answer.status === ACCEPTED) result.accepted += order.batch;
    else count(result.refused, answer);
    sendNext(socket);
  };

  const closed: Promise<void>[] = [];
  const sockets: Socket<Lane>[] = [];
  for (let index = 0; index < order.connections; index++) {
    const end = Promise.withResolvers<void>();
    closed.push(end.promise);
    const open = await Bun.connect<Lane>({
      hostname: "127.0.0.1",
      port: order.port,
      data: prepare(order, index),
      ...(order.ca === undefined ? {} : { tls: { ca: order.ca, serverName: `pombo.${SENDER_DOMAIN}` } }),
      socket: {
        data: receive,
        drain: flush,
        close: () => end.resolve(),
        error: (_, error) => end.reject(error),
      },
    });
    sockets.push(open);
  }
  const cpuBefore = process.cpuUsage();
  startedAt = performance.now();
  for (const socket of sockets) sendNext(socket);
  await Promise.all(closed);
  const elapsedMs = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    startedAt: performance.timeOrigin + startedAt,
    elapsedMs,
    ...result,
    latencyMs: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), max: quantile(latencies, 1) },
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
}

/** Writes what of the request has not been taken yet; called again when the socket has room. */
function flush(socket: Socket<Lane>): void {
  const lane = socket.data;
  if (lane.unsent < lane.request.length) lane.unsent += Math.max(0, socket.write(lane.request, lane.unsent));
}

function prepare(order: LoadOrder, variant: number): Lane {
  const content = makeContent(variant, order.parts);
  const { attachmentBytes } = order;
  const file = attachmentBytes === undefined ? null : makeFile(variant, attachmentBytes).toString("base64");
  const email = (place: number) => ({
    from: `Loja Bench <loja@${SENDER_DOMAIN}>`,
    to: recipient(place, order.recipientDomain),
    subject: content.subject,
    html: content.html,
    ...(content.text === null ? {} : { text: content.text }),
    ...(file === null ? {} : { attachments: [{ filename: "recibo.pdf", content: file }] }),
  });
  const isBatch = order.batch > 1;
  const body = isBatch ? { emails: Array.from({ length: order.batch }, (_, place) => email(place)) } : email(0);
  const json = Buffer.from(JSON.stringify(body));
  const head =
    `POST /api/v1/emails${isBatch ? "/batch" : ""} HTTP/1.1\r\nHost: 127.0.0.1:${order.port}\r\n` +
    `X-API-Key: ${order.apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), json]);
  const digitOffsets = findAfter(request, `"to":"r`);
  const fileOffsets = findAfter(request, `"content":"`);
  if (digitOffsets.length !== order.batch) throw new Error("a recipient was not found in the prepared request");
  return { request, digitOffsets, fileOffsets, unsent: 0, answer: Buffer.alloc(0), sentAt: 0 };
}

/** The places behind each of these. */
function findAfter(request: Buffer, marker: string): number[] {
  const places: number[] = [];
  for (let at = request.indexOf(marker); at !== -1; at = request.indexOf(marker, at + 1))
    places.push(at + marker.length);
  return places;
}

function count(refused: LoadResult["refused"], answer: HttpAnswer): void {
  const entry = (refused[answer.status] ??= { count: 0, body: answer.body.slice(0, 500) });
  entry.count++;
}

/** The value below which that share of `values` lies, rounded; 0 when there are none. */
export function quantile(values: number[], share: number, digits = 1): number {
  const sorted = Float64Array.from(values).sort();
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return Number(value.toFixed(digits));
}
