/**
 * A mail server that counts: it takes every message at once, keeps only what tells messages apart,
 * and notes when each one's 250 was written. Far quicker than the scripted one, for loads.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface Arrival {
  /** Without brackets. */
  messageId: string;
  subject: string;
  from: string;
  to: string;
  arrivedAt: number;
  /** Unix ms; null: the connection was gone before. */
  answeredAt: number | null;
}

export interface CountingMx {
  readonly port: number;
  /** In the order of their final dots. */
  readonly arrivals: Arrival[];
  /** Different messages among them, by Message-ID. */
  readonly distinct: number;
  readonly connections: number;
  readonly openConnections: number;
  /** What the dot is answered; a promise holds the answer back. */
  answerDot: (arrival: Arrival) => string | Promise<string>;
  /** Resolves when `isTrue` holds; looked at again at each arrival and each end of a connection. */
  until(isTrue: () => boolean): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const END_OF_CONTENT = "\r\n.\r\n";

/** `read` is given each message's content, dots stuffed, before its arrival counts. */
export async function startCountingMx(
  answerDot: CountingMx["answerDot"] = () => "250 2.0.0 Ok",
  read: (arrival: Arrival, content: string) => void = () => undefined,
): Promise<CountingMx> {
  const watchers = new Set<() => void>();
  const open = new Set<Socket>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    converse(socket, mx, { look, read });
    socket.once("close", () => {
      open.delete(socket);
      look();
    });
  });
  let connections = 0;
  let counted = 0;
  const seen = new Set<string>();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const mx: CountingMx = {
    port: (server.address() as AddressInfo).port,
    arrivals: [],
    get distinct() {
      for (const { messageId } of mx.arrivals.slice(counted)) seen.add(messageId);
      counted = mx.arrivals.length;
      return seen.size;
    },
    get connections() {
      return connections;
    },
    get openConnections() {
      return open.size;
    },
    answerDot,
    until(isTrue) {
      if (isTrue()) return Promise.resolve();
      return new Promise((resolve) => {
        const watcher = () => {
          if (!isTrue()) return;
          watchers.delete(watcher);
          resolve();
        };
        watchers.add(watcher);
      });
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
    [Symbol.asyncDispose]: () => mx.close(),
  };
  return mx;
}

/** Latin-1 throughout: one character a byte, and nothing here is read beyond ASCII. */
function converse(
  socket: Socket,
  mx: CountingMx,
  { look, read }: { look: () => void; read: (arrival: Arrival, content: string) => void },
): void {
  const envelope = { from: "", to: "" };
  let waiting = "";
  let isContent = false;
  let isAnswering = false;
  const say = (line: string) => void (socket.writable && socket.write(`${line}\r\n`));

  const takeContent = async (content: string) => {
    const head = content.slice(0, content.indexOf("\r\n\r\n"));
    const arrival: Arrival = {
      ...envelope,
      messageId: field(head, "Message-ID").replace(/[<>]/g, ""),
      subject: field(head, "Subject"),
      arrivedAt: Date.now(),
      answeredAt: null,
    };
    read(arrival, content);
    mx.arrivals.push(arrival);
    look();
    const answer = await mx.answerDot(arrival);
    if (!socket.writable) return;
    say(answer);
    arrival.answeredAt = Date.now();
    look();
  };
  const take = async () => {
    if (isAnswering) return;
    isAnswering = true;
    for (;;) {
      const end = waiting.indexOf(isContent ? END_OF_CONTENT : "\r\n");
      if (end < 0) break;
      const piece = waiting.slice(0, end);
      waiting = waiting.slice(end + (isContent ? END_OF_CONTENT.length : 2));
      if (isContent) {
        isContent = false;
        await takeContent(piece);
      } else isContent = obey(piece, { socket, envelope, say });
    }
    isAnswering = false;
  };
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    waiting += chunk.toString("latin1");
    void take();
  });
  say("220 mx.example ESMTP");
}

/** True when the content follows. */
function obey(
  line: string,
  link: { socket: Socket; envelope: { from: string; to: string }; say: (line: string) => void },
): boolean {
  const { socket, envelope, say } = link;
  const address = /<(.*?)>/.exec(line)?.[1] ?? "";
  switch (line.slice(0, 4).toUpperCase()) {
    case "EHLO":
      say("250-mx.example\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES");
      return false;
    case "MAIL":
      envelope.from = address;
      break;
    case "RCPT":
      envelope.to = address;
      break;
    case "DATA":
      say("354 Go on");
      return true;
    case "QUIT":
      say("221 2.0.0 Bye");
      socket.end();
      return false;
  }
  say("250 2.0.0 Ok");
  return false;
}

function field(head: string, name: string): string {
  return new RegExp(`^${name}: *(.*)$`, "im").exec(head)?.[1]?.trim() ?? "";
}
