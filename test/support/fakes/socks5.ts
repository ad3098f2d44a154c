// A SOCKS5 proxy that a test can break at every step. It leads to 127.0.0.1, whatever address is asked for.

import { connect, createServer, type Socket } from "node:net";

/** Where it stops working. */
export interface Socks5Script {
  /** It takes connections and never says a word. */
  isMute?: boolean;
  /** After the request, which it has taken. */
  isMuteOnRequest?: boolean;
  /** It ends the connection instead of answering the request. */
  closesOnRequest?: boolean;
  /** Everything it says, in place of SOCKS5. */
  says?: string;
  /** Null: it asks for none. */
  credentials?: { username: string; password: string } | null;
  /** Reply code to the request (RFC 1928 §6). */
  reply?: number | ((target: { address: string; port: number }) => number);
  /** Its own address in the answer is a name, and it sends single octets. */
  isOdd?: boolean;
}

export interface FakeSocks5 extends AsyncDisposable {
  readonly port: number;
  script: Socks5Script;
  /** What was asked for, in order. */
  readonly targets: { address: string; port: number }[];
  /** Cuts every connection that it holds. */
  cut(): void;
  /** Takes no more connections, and cuts those it has. */
  stop(): Promise<void>;
}

export async function startSocks5(script: Socks5Script = {}): Promise<FakeSocks5> {
  const sockets = new Set<Socket>();
  const targets: FakeSocks5["targets"] = [];
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    hold(client);
    void serve(client, proxy, hold).catch(() => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const proxy: FakeSocks5 = {
    port: typeof address === "object" && address !== null ? address.port : 0,
    script,
    targets,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      proxy.cut();
      await closed;
    },
    [Symbol.asyncDispose]: () => proxy.stop(),
  };
  return proxy;
}

async function serve(client: Socket, { script, targets }: FakeSocks5, hold: (socket: Socket) => void): Promise<void> {
  if (script.isMute) return;
  const read = readerOf(client);
  const [, methods = 0] = await read(2);
  const offered = await read(methods);
  if (script.says !== undefined) return void client.write(script.says);
  const credentials = script.credentials ?? null;
  const method = credentials === null ? 0 : 2;
  if (!offered.includes(method)) return void client.end(Buffer.from([5, 0xff]));
  await send(client, Buffer.from([5, method]), script);
  if (credentials !== null) {
    const text = async () => (await read((await read(1))[0] ?? 0)).toString();
    await read(1);
    const isRight = (await text()) === credentials.username && (await text()) === credentials.password;
    await send(client, Buffer.from([1, isRight ? 0 : 1]), script);
    if (!isRight) return void client.end();
  }
  const request = await read(10);
  const target = { address: request.subarray(4, 8).join("."), port: request.readUInt16BE(8) };
  targets.push(target);
  if (script.isMuteOnRequest) return;
  if (script.closesOnRequest) return void client.end();
  const code = typeof script.reply === "function" ? script.reply(target) : (script.reply ?? 0);
  if (code !== 0) return void client.end(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]));
  const server = connect(target.port, "127.0.0.1");
  hold(server);
  await new Promise((resolve) => server.once("connect", resolve));
  const own = script.isOdd ? Buffer.from([3, 5, ...Buffer.from("proxy"), 0, 1]) : Buffer.from([1, 127, 0, 0, 1, 0, 1]);
  // With the server's greeting in the same segment: both are there before anything is read.
  const greeting = script.isOdd
    ? Buffer.alloc(0)
    : await new Promise<Buffer>((resolve) => server.once("data", resolve));
  await send(client, Buffer.concat([Buffer.from([5, 0, 0]), own, greeting]), script);
  server.pipe(client);
  client.pipe(server);
  for (const [one, other] of [
    [server, client],
    [client, server],
  ] as const)
    one.on("close", () => other.destroy());
}

async function send(client: Socket, bytes: Buffer, { isOdd }: Socks5Script): Promise<void> {
  if (isOdd !== true) return void client.write(bytes);
  client.setNoDelay(true);
  for (const octet of bytes) {
    client.write(Buffer.from([octet]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Reads so many octets; what comes after them stays in the socket. */
function readerOf(client: Socket): (bytes: number) => Promise<Buffer> {
  client.pause();
  return async (bytes) => {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const found = client.read(bytes) as Buffer | null;
      if (found !== null) return found;
      await new Promise((resolve, reject) => {
        client.once("readable", resolve);
        client.once("close", () => reject(new Error("closed")));
      });
    }
  };
}
