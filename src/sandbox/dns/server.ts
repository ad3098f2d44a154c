/**
 * A small authoritative DNS server, for the world that `pombo dev` runs against and for tests: the
 * same port over UDP and TCP, an answer from a callback, and truncation as a real server does it.
 * It serves loopback, not the internet: no zones, no recursion, no access control.
 */
import dgram from "node:dgram";
import { once } from "node:events";
import net from "node:net";
import { AUTHORITATIVE_ANSWER, RECURSION_DESIRED, TRUNCATED_RESPONSE, decode, encode } from "dns-packet";
import type { Answer, DecodedPacket } from "dns-packet";
import { OWN_EDNS, UDP_PAYLOAD_BYTES } from "../../protocols/dns/wire-format.ts";

/** RFC 1035 §4.2.1: what a client without EDNS can take. */
const PLAIN_UDP_BYTES = 512;
const TTL_S = 30;
/** Short, so that a record which is published in the sandbox is soon seen. */
const NEGATIVE_TTL_S = 5;
const RECURSION_AVAILABLE = 1 << 7;
const STRING_BYTES = 255;
const TCP_CONNECTIONS_LIMIT = 64;
const TCP_IDLE_MS = 10_000;
const TCP_QUERY_BYTES = 4096;
const BIND_ATTEMPTS = 20;

/** `name` is the owner, the name asked for unless told (after a CNAME it differs). TTL 30 s unless told. */
export type ZoneRecord = { name?: string; ttlS?: number } & (
  | { type: "A" | "AAAA" | "CNAME" | "NS" | "PTR"; value: string }
  | { type: "MX"; preference: number; exchange: string }
  | { type: "SOA"; minimumS: number }
  /** A string beyond 255 bytes is split; a list gives the character-strings as they are to be. */
  | { type: "TXT"; value: string | string[] }
);

/** `name` is lower case without a trailing dot; `type` is like "MX". No records means NODATA. */
export type AnswerQuery = (name: string, type: string) => ZoneRecord[] | "no_name" | "servfail";

/** Listens on 127.0.0.1 and a free port unless told. Rejects when the port cannot be had. */
export function startSandboxDns(options: { answer: AnswerQuery; host?: string; port?: number }): Promise<DnsServer> {
  return listenForDns({
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    respond(message, transport, send) {
      const response = answerMessage(message, transport, options.answer);
      if (response) send(response);
    },
  });
}

/** The bytes to answer a query with, or null for what deserves no answer (not a readable query). */
export function answerMessage(message: Buffer, transport: Transport, answer: AnswerQuery): Buffer | null {
  try {
    const query = decode(message) as DecodedPacket & { opcode: string };
    if (query.flag_qr) return null;
    return fit(query, transport, respondTo(query, answer));
  } catch {
    return null;
  }
}

function respondTo(query: DecodedPacket & { opcode: string }, answer: AnswerQuery) {
  const without = (rcode: number, authorities: Answer[] = []) => ({ rcode, answers: [], authorities });
  const question = query.questions?.[0];
  if (query.opcode !== "QUERY") return without(4);
  if (!question || query.questions?.length !== 1) return without(1);
  const name = question.name === "." ? "" : question.name.toLowerCase();
  const found = answer(name, question.type);
  if (found === "servfail") return without(2);
  const soa: Answer = {
    type: "SOA",
    name: ".",
    ttl: NEGATIVE_TTL_S,
    data: { mname: "ns.invalid", rname: "nobody.invalid", serial: 1, minimum: NEGATIVE_TTL_S },
  };
  if (found === "no_name") return without(3, [soa]);
  const answers = found.map((record) => toAnswer(record, question.name));
  const isAnswered = found.some((record) => record.type === question.type);
  return { rcode: 0, answers, authorities: isAnswered || found.length > 0 ? [] : [soa] };
}

function toAnswer(record: ZoneRecord, askedName: string): Answer {
  const base = { name: record.name ?? askedName, ttl: record.ttlS ?? TTL_S };
  switch (record.type) {
    case "MX":
      return { ...base, type: "MX", data: { preference: record.preference, exchange: record.exchange } };
    case "TXT":
      return { ...base, type: "TXT", data: toStrings(record.value) };
    case "SOA": {
      const data = { mname: "ns.invalid", rname: "nobody.invalid", serial: 1, minimum: record.minimumS };
      return { ...base, type: "SOA", data };
    }
    default:
      return { ...base, type: record.type, data: record.value };
  }
}

function toStrings(value: string | string[]): Buffer[] {
  if (Array.isArray(value)) return value.map((part) => Buffer.from(part));
  const bytes = Buffer.from(value);
  const strings: Buffer[] = [];
  for (let start = 0; start < Math.max(1, bytes.length); start += STRING_BYTES) {
    strings.push(bytes.subarray(start, start + STRING_BYTES));
  }
  return strings;
}

function fit(query: DecodedPacket, transport: Transport, content: ReturnType<typeof respondTo>): Buffer {
  const edns = query.additionals?.find((record) => record.type === "OPT");
  const offered = edns?.type === "OPT" ? edns.udpPayloadSize : PLAIN_UDP_BYTES;
  const limit = transport === "tcp" ? 65_535 : Math.max(PLAIN_UDP_BYTES, Math.min(offered, UDP_PAYLOAD_BYTES));
  // RA although it does not recurse: to the clients of the sandbox this is their resolver.
  const flags = AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | ((query.flags ?? 0) & RECURSION_DESIRED) | content.rcode;
  const head = {
    type: "response" as const,
    id: query.id,
    flags,
    questions: query.questions,
    additionals: edns ? [OWN_EDNS] : [],
  };
  const whole = encode({ ...head, answers: content.answers, authorities: content.authorities });
  return whole.length <= limit ? whole : encode({ ...head, flags: flags | TRUNCATED_RESPONSE });
}

export interface DnsServer {
  /** `ip:port`, as `createResolver` takes it. */
  address: string;
  port: number;
  close(): Promise<void>;
}

export type Transport = "udp" | "tcp";

interface DnsListener {
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

async function bindUdp(listener: DnsListener): Promise<dgram.Socket> {
  const socket = dgram.createSocket(net.isIPv6(listener.host) ? "udp6" : "udp4");
  socket.on("message", (message, peer) => {
    listener.respond(message, "udp", (response) => socket.send(response, peer.port, peer.address, () => {}));
  });
  socket.bind(listener.port, listener.host);
  await once(socket, "listening");
  // A client that has gone away is its own affair.
  socket.on("error", () => {});
  return socket;
}

interface TcpSide {
  server: net.Server;
  sockets: Set<net.Socket>;
}

async function listenTcp(listener: DnsListener): Promise<TcpSide> {
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
  server.listen(listener.port, listener.host);
  await once(server, "listening");
  return { server, sockets };
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
