// The client of `script/bench tls`: its own process, so that its CPU is not the server's. Prints one line of JSON.
//
// Run by bench/tls.ts: bun bench/tls-client.ts '<JSON of ClientOrder>'

import { connect, type TLSSocket } from "node:tls";
import { readAnswer } from "./http-answer.ts";

export interface ClientOrder {
  /** `connect`: one handshake after the other; `ask`: requests at a pace, over connections that are kept. */
  kind: "connect" | "ask";
  port: number;
  ca: string;
  serverName: string;
  lanes: number;
  ms: number;
  /** All lanes together, for `ask`. */
  perSecond: number;
}

export interface ClientResult {
  handshakes: number;
  /** Handshakes that were broken off. */
  reset: number;
  answered: number;
  /** Another status, or bytes that are no answer. */
  wrong: number;
  /** Requests on a kept connection that ended before their answer: the client asks again. */
  cut: number;
  elapsedMs: number;
}

const order = JSON.parse(process.argv[2] ?? "") as ClientOrder;
const result: ClientResult = { handshakes: 0, reset: 0, answered: 0, wrong: 0, cut: 0, elapsedMs: 0 };
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt >= order.ms;
await Promise.all(Array.from({ length: order.lanes }, (_, lane) => (order.kind === "connect" ? shake() : ask(lane))));
result.elapsedMs = performance.now() - startedAt;
console.log(JSON.stringify(result));
process.exit(0);

/** Null: it was broken off. */
function open(): Promise<TLSSocket | null> {
  const { port, ca, serverName } = order;
  const { promise, resolve } = Promise.withResolvers<TLSSocket | null>();
  const socket = connect({ port, host: "127.0.0.1", ca, servername: serverName }, () => {
    result.handshakes += 1;
    resolve(socket);
  });
  const fail = () => resolve(null);
  socket.once("error", fail);
  socket.once("close", fail);
  return promise;
}

async function openCounted(): Promise<TLSSocket | null> {
  const socket = await open();
  if (socket === null) result.reset += 1;
  return socket;
}

async function shake(): Promise<void> {
  while (!isOver()) (await openCounted())?.destroy();
}

async function ask(lane: number): Promise<void> {
  const everyMs = (1_000 * order.lanes) / order.perSecond;
  let socket: TLSSocket | null = null;
  let dueAt = startedAt + (lane * everyMs) / order.lanes;
  while (!isOver()) {
    await Bun.sleep(Math.max(0, dueAt - performance.now()));
    dueAt += everyMs;
    if (socket === null || socket.destroyed || socket.readyState !== "open") socket = await openCounted();
    if (socket === null) continue;
    const found = await request(socket);
    if (found === "cut") socket = null;
    result[found] += 1;
  }
  socket?.destroy();
}

function request(socket: TLSSocket): Promise<"answered" | "wrong" | "cut"> {
  const { promise, resolve } = Promise.withResolvers<"answered" | "wrong" | "cut">();
  let bytes = Buffer.alloc(0);
  const end = (found: "answered" | "wrong" | "cut") => {
    socket.off("data", read);
    socket.off("close", close);
    resolve(found);
  };
  const close = () => end(bytes.length === 0 ? "cut" : "wrong");
  const read = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const answer = readAnswer(bytes);
    if (answer) end(answer.status === 200 ? "answered" : "wrong");
  };
  socket.on("data", read);
  socket.once("close", close);
  socket.write(`GET /ready HTTP/1.1\r\nHost: ${order.serverName}\r\n\r\n`);
  return promise;
}
