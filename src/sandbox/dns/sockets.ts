/** The sockets of the sandbox's DNS server: UDP and TCP on one port, messages in and out as bytes. */
import dgram from "node:dgram";
import net from "node:net";

const TCP_CONNECTIONS_LIMIT = 64;
const TCP_IDLE_MS = 10_000;
const TCP_QUERY_BYTES = 4096;
const BIND_ATTEMPTS = 20;

export interface DnsServer {
  /** `ip:port`, as `createResolver` takes it. */
  address: string;
  port: number;
  close(): Promise<void>;
}

export type Transport = "udp" | "tcp";

export interface DnsListener {
  host: string;
  port: number;
  /** Called per query; `send` may be called never, once or several times, also later. */
  respond(message: Buffer, transport: Transport, send: (response: Buffer) => void): void;
}

/** Rejects when the port cannot be had; port 0 takes one that is free for both. */
export async function listenForDns(listener: DnsListener): Promise<DnsServer> {
  for (let attempt = 1; ; attempt += 1) {
    const udp = await bindUdp(listener);
    const { port } = udp.address();
    try {
      const tcp = await listenTcp({ ...listener, port });
      const host = net.isIPv6(listener.host) ? `[${listener.host}]` : listener.host;
      return { address: `${host}:${port}`, port, close: () => closeBoth(udp, tcp) };
    } catch (error) {
      udp.close();
      // A free UDP port may be taken for TCP: with port 0 the next one may be free for both.
      if (listener.port !== 0 || attempt === BIND_ATTEMPTS) throw error;
    }
  }
}

function bindUdp(listener: DnsListener): Promise<dgram.Socket> {
  const socket = dgram.createSocket(net.isIPv6(listener.host) ? "udp6" : "udp4");
  socket.on("message", (message, peer) => {
    listener.respond(message, "udp", (response) => socket.send(response, peer.port, peer.address, () => {}));
  });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(listener.port, listener.host, () => {
      socket.off("error", reject);
      // A client that has gone away is its own affair.
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

interface TcpSide {
  server: net.Server;
  sockets: Set<net.Socket>;
}

function listenTcp(listener: DnsListener): Promise<TcpSide> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.setTimeout(TCP_IDLE_MS, () => socket.destroy());
    readFrames(socket, (message) => {
      listener.respond(message, "tcp", (response) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(response.length);
        socket.write(Buffer.concat([length, response]));
      });
    });
  });
  server.maxConnections = TCP_CONNECTIONS_LIMIT;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(listener.port, listener.host, () => {
      server.off("error", reject);
      resolve({ server, sockets });
    });
  });
}

function readFrames(socket: net.Socket, take: (message: Buffer) => void): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2) {
      const end = 2 + buffered.readUInt16BE(0);
      if (end > TCP_QUERY_BYTES) {
        socket.destroy();
        return;
      }
      if (buffered.length < end) return;
      take(buffered.subarray(2, end));
      buffered = buffered.subarray(end);
    }
  });
}

async function closeBoth(udp: dgram.Socket, tcp: TcpSide): Promise<void> {
  for (const socket of tcp.sockets) socket.destroy();
  await Promise.all([
    new Promise<void>((resolve) => udp.close(() => resolve())),
    new Promise<void>((resolve) => tcp.server.close(() => resolve())),
  ]);
}
