// The load of `script/bench sms`: a process that posts texts over keep-alive connections, each to a number of
// its own, to pombo's API or to Kannel's smsbox. Only the digits of a prepared request change. A connection that
// breaks is not made again. It writes when each was posted (0: never) and which were accepted, and says one line
// of JSON at the end.
//
// Run by bench/sms.ts: bun bench/sms-load.ts '<JSON of SmsLoadOrder>'

import { writeFileSync } from "node:fs";
import type { Socket } from "bun";
import { readAnswer } from "./http-answer.ts";
import { digitsOf, now } from "./sms-log.ts";

export interface SmsLoadOrder {
  port: number;
  /** A whole request for number 0; wherever its digits stand, those of others are written. */
  request: string;
  connections: number;
  firstNumber: number;
  count: number;
  /** 0: as fast as it is answered. */
  perSecond: number;
  /** Where SmsLoadTimes goes. */
  timesFile: string;
}

export interface SmsLoadResult {
  /** Unix ms. */
  startedAt: number;
  endedAt: number;
  accepted: number;
  /** Without an answer, or refused: with the first of the bodies. */
  failed: number;
  words: string;
  cpuSeconds: number;
}

/** By number, from the first on. */
export interface SmsLoadTimes {
  /** Unix ms; 0: never posted. */
  postedAt: number[];
  isAccepted: boolean[];
}

interface Lane {
  request: Buffer;
  unsent: number;
  answer: Buffer;
  /** Whose answer is waited for; null: idle. */
  number: number | null;
}

const ACCEPTED = 202;

const order = JSON.parse(process.argv[2] ?? "") as SmsLoadOrder;
const digitOffsets = offsetsOf(Buffer.from(order.request));
const times: SmsLoadTimes = {
  postedAt: Array.from({ length: order.count }, () => 0),
  isAccepted: Array.from({ length: order.count }, () => false),
};
const result: SmsLoadResult = { startedAt: 0, endedAt: 0, accepted: 0, failed: 0, words: "", cpuSeconds: 0 };
let next = 0;
const idle: Socket<Lane>[] = [];

function sendNext(socket: Socket<Lane>): void {
  if (next >= order.count) return void socket.end();
  const isTooEarly = order.perSecond > 0 && now() < result.startedAt + (next / order.perSecond) * 1_000;
  if (isTooEarly) return void idle.push(socket);
  const lane = socket.data;
  const number = next;
  next += 1;
  const digits = digitsOf(order.firstNumber + number);
  for (const offset of digitOffsets) lane.request.write(digits, offset, "latin1");
  lane.number = number;
  lane.unsent = 0;
  times.postedAt[number] = now();
  flush(socket);
}

/** Those that were too early. */
function wake(): void {
  for (const socket of idle.splice(0)) sendNext(socket);
}

function receive(socket: Socket<Lane>, chunk: Buffer): void {
  const lane = socket.data;
  lane.answer = lane.answer.length === 0 ? Buffer.from(chunk) : Buffer.concat([lane.answer, chunk]);
  const answer = readAnswer(lane.answer);
  if (answer === null || lane.number === null) return;
  lane.answer = Buffer.alloc(0);
  if (answer.status === ACCEPTED) {
    result.accepted += 1;
    times.isAccepted[lane.number] = true;
  } else {
    result.failed += 1;
    result.words ||= `${answer.status} ${answer.body.slice(0, 300)}`;
  }
  lane.number = null;
  sendNext(socket);
}

/** Writes what of the request has not been taken yet; called again when the socket has room. */
function flush(socket: Socket<Lane>): void {
  const lane = socket.data;
  if (lane.number === null || lane.unsent >= lane.request.length) return;
  lane.unsent += Math.max(0, socket.write(lane.request, lane.unsent));
}

function offsetsOf(request: Buffer): number[] {
  const found: number[] = [];
  const digits = digitsOf(0);
  for (let at = request.indexOf(digits); at >= 0; at = request.indexOf(digits, at + 1)) found.push(at);
  if (found.length === 0) throw new Error("no number in the prepared request");
  return found;
}

const closed: Promise<void>[] = [];
const sockets: Socket<Lane>[] = [];
for (let index = 0; index < order.connections; index += 1) {
  const end = Promise.withResolvers<void>();
  closed.push(end.promise);
  const close = (socket: Socket<Lane>) => {
    if (socket.data.number !== null) result.failed += 1;
    socket.data.number = null;
    end.resolve();
  };
  const data = { request: Buffer.from(order.request), unsent: 0, answer: Buffer.alloc(0), number: null };
  const socket = { data: receive, drain: flush, close, error: close };
  sockets.push(await Bun.connect<Lane>({ hostname: "127.0.0.1", port: order.port, data, socket }));
}
const cpuBefore = process.cpuUsage();
result.startedAt = now();
const waker = order.perSecond > 0 ? setInterval(wake, 1) : undefined;
for (const socket of sockets) sendNext(socket);
await Promise.all(closed);
clearInterval(waker);
result.endedAt = now();
const { user, system } = process.cpuUsage(cpuBefore);
result.cpuSeconds = (user + system) / 1e6;
writeFileSync(order.timesFile, JSON.stringify(times));
console.log(JSON.stringify(result));
