/**
 * A mail server that does as it is told, over real sockets: a script decides the answer at every
 * stage, and everything received is kept, byte for byte. `startMx()` alone is a well-behaved
 * server that accepts all. The script may be changed while it runs (`mx.script.rcpt = …`).
 * Steps: a string is a reply (`"250-a\n250 b"`); the others are made by `stall`, `drop`, `raw`,
 * `sayThenDrop` and `flood`; a function decides per command.
 */
import * as net from "node:net";
import * as tls from "node:tls";
import type { TestCertificate } from "./certificates.ts";
import { MxConversation } from "./mx-conversation.ts";

export { ALL_CAPABILITIES } from "./mx-usual.ts";

export type Answer =
  | string
  | { kind: "stall" }
  | { kind: "drop" }
  | { kind: "raw"; bytes: string | Uint8Array; thenDrop: boolean }
  | { kind: "flood"; piece: string; bytes: number };

/** The answer to one command; `command` is its line without CRLF ("" for greeting, content and dot). */
export type Step = Answer | ((command: string, connection: MxConnection) => Answer | Promise<Answer>);

export interface MxScript {
  greeting?: Step;
  ehlo?: Step;
  helo?: Step;
  startTls?: Step;
  /** To the AUTH command, and to each line after a 334; by default as `accounts` say. */
  auth?: Step;
  mail?: Step;
  rcpt?: Step;
  data?: Step;
  /** Given when the first byte of the content has come, before its end. */
  content?: Step;
  dot?: Step;
  rset?: Step;
  quit?: Step;
  /** Of the EHLO answer; STARTTLS is added by `tls`. */
  capabilities?: string[];
  /** `none`: not offered. `good`: a self-signed certificate. `garbage`, `drop`, `stall`: the answer to the client's hello. */
  tls?: "none" | "good" | "garbage" | "drop" | "stall";
  /** TLS before the greeting; with `tls: "good"`. */
  isImplicitTls?: boolean;
  /** Passwords by user: AUTH is offered, and nobody else may send. */
  accounts?: Record<string, string>;
  /** The line of EHLO about AUTH, for `accounts`. */
  authOffer?: string;
  /** Closes the connection when so many bytes of content have come. */
  dropInContentAfter?: number;
  /** Reads nothing more once the content begins. */
  isContentUnread?: boolean;
}

/** A message as it came: the content with its dots still stuffed, without the end of the content. */
export interface MxMessage {
  from: string;
  to: string[];
  stuffed: Buffer;
  content: Buffer;
  isTls: boolean;
}

export interface MxConnection {
  /** Everything received, after decryption, in order. */
  readonly bytes: Buffer;
  /** What was received before TLS, the hello included. */
  readonly clearBytes: Buffer;
  /** Lines taken as commands, without CRLF. */
  readonly commands: string[];
  readonly messages: MxMessage[];
  readonly isTls: boolean;
  /** The server name the client asked for in TLS, or null. */
  readonly serverName: string | null;
  /** Who signed in, or null. */
  readonly user: string | null;
  readonly isClosed: boolean;
  /** Of the client. */
  readonly remoteAddress: string;
  /** Sends bytes that nobody asked for. */
  say(bytes: string): void;
  /** Closes at once. */
  drop(): void;
}

export interface Mx {
  readonly address: string;
  readonly port: number;
  script: MxScript;
  /** In the order of arrival. */
  readonly connections: MxConnection[];
  /** Of all connections, in the order in which their content ended. */
  readonly messages: MxMessage[];
  /** Resolves when `isTrue` holds; looked at again whenever something happens here. */
  until(isTrue: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export const stall = (): Answer => ({ kind: "stall" });
export const drop = (): Answer => ({ kind: "drop" });
/** Exactly these bytes, whatever they are. */
export const raw = (bytes: string | Uint8Array): Answer => ({ kind: "raw", bytes, thenDrop: false });
/** A reply, then the connection is closed. */
export const sayThenDrop = (reply: string): Answer => ({ kind: "raw", bytes: `${reply}\r\n`, thenDrop: true });
/** `piece` again and again until `bytes` bytes are written. */
export const flood = (piece: string, bytes: number): Answer => ({ kind: "flood", piece, bytes });

// A variable, as the module has no types for the compiler to find.
const TLS_OPTIONS: string = "smtp-server/lib/tls-options.js";

/** The self-signed certificate for localhost that smtp-server brings for tests; its key is public anyway. */
async function testCertificate(): Promise<TestCertificate> {
  const { default: withDefaults } = (await import(TLS_OPTIONS)) as {
    default: (options: object) => { key: string; cert: string };
  };
  return withDefaults({});
}

/** Starts a server; close it in the end. Port 0 takes a free one. */
export async function startMx(
  script: MxScript = {},
  at: { address?: string; port?: number; certificate?: TestCertificate } = {},
): Promise<Mx> {
  const secureContext = tls.createSecureContext(at.certificate ?? (await testCertificate()));
  const watchers = new Set<() => void>();
  const connections: MxConversation[] = [];
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  const server = net.createServer((socket) => {
    const conversation = new MxConversation(socket, { mx, secureContext, notify });
    connections.push(conversation);
    conversation.begin();
    notify();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.port ?? 0, at.address ?? "127.0.0.1", resolve);
  });
  const mx: Mx = {
    address: at.address ?? "127.0.0.1",
    port: (server.address() as net.AddressInfo).port,
    script,
    connections,
    messages: [],
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
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.drop();
      await ended;
    },
  };
  return mx;
}
