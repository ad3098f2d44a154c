/** The listener by itself, with a list in place of what keeps messages, and clients that say exactly what they are told to. */
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { returnPath } from "../../../src/protocols/dsn/return-path.ts";
import { newId } from "../../../src/platform/uuid.ts";
import { followFiles } from "../../../src/modules/certificates/index.ts";
import { ServedCertificate } from "../../../src/platform/served-certificate.ts";
import { createSelfSigned } from "../../../src/protocols/x509/self-signed.ts";
import type { InboundMessage, Receive } from "../../../src/modules/inbound-mail/inbound-message.ts";
import { INBOUND_LIMITS, type InboundLimits } from "../../../src/modules/inbound-mail/server/limits.ts";
import type { SentEmail } from "../../../src/modules/inbound-mail/server/recipients.ts";
import { type Inbound, startInbound } from "../../../src/modules/inbound-mail/server/server.ts";
import type { Log, LogFields, LogLevel } from "../../../src/platform/log.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { within } from "../../e2e/scenarios/child.ts";

export const HOSTNAME = "mail.pombo.test";
export const BOUNCE_HOST = "bounce.pombo.test";
const KEY = new Uint8Array(32).fill(7);
/** Mail that a large provider takes. */
export const OFTEN = 10_000;
/** Every wait for a reply ends here. */
const REPLY_LIMIT_MS = 10_000;

export interface Desk extends AsyncDisposable {
  readonly inbound: Inbound;
  readonly port: number;
  readonly messages: InboundMessage[];
  readonly events: { name: string; fields: LogFields; level: LogLevel }[];
  readonly bugs: unknown[];
  /** "recipient foreign", one for each told. */
  readonly counted: string[];
  readonly emails: Map<string, SentEmail>;
  /** The return path of an email that was sent; its parts may be chosen. */
  sent(options?: { recipient?: string; host?: string; at?: number }): { uid: string; address: string };
  client(options?: { localAddress?: string; hears?: boolean }): Promise<Talk>;
}

export interface DeskOptions {
  clock?: Clock;
  limits?: Partial<InboundLimits>;
  receive?: Receive;
  blockedReason?: () => string | null;
  find?: (uid: string) => SentEmail | undefined;
  /** How often an address's network was heard of; default: often. */
  timesHeard?: (address: string) => number;
  files?: { certificateFile: string; keyFile: string };
}

export async function startDesk(options: DeskOptions = {}): Promise<Desk> {
  const clock = options.clock ?? systemClock;
  const messages: InboundMessage[] = [];
  const events: Desk["events"] = [];
  const bugs: unknown[] = [];
  const counted: string[] = [];
  const emails = new Map<string, SentEmail>();
  const log: Log = {
    event: (name, fields = {}, level = "info") => void events.push({ name, fields, level }),
    error: (where, error) => void bugs.push({ where, error }),
  };
  const listen = { address: "127.0.0.1", port: 0 };
  const files =
    options.files === undefined ? null : followFiles({ ...options.files, table: "inbound" }, { clock, log });
  const selfMade = createSelfSigned([HOSTNAME], { now: clock.now(), serial: systemRandom.bytes(16) });
  const inbound = await startInbound({
    listen,
    hostname: HOSTNAME,
    bounceHost: BOUNCE_HOST,
    returnPathKey: KEY,
    readUnsubscribe: () => null,
    find: options.find ?? ((uid) => emails.get(uid)),
    certificate: files?.source ?? new ServedCertificate(selfMade, false),
    receive: options.receive ?? (async (message) => void messages.push(message)),
    reporters: { timesHeard: options.timesHeard ?? (() => OFTEN) },
    blockedReason: options.blockedReason ?? (() => null),
    clock,
    log,
    counts: {
      message: (kind) => void counted.push(`message ${kind}`),
      clientRefused: (why) => void counted.push(`client ${why}`),
      recipientRefused: (why) => void counted.push(`recipient ${why}`),
      messageRefused: (why) => void counted.push(`refused ${why}`),
    },
    limits: { ...INBOUND_LIMITS, ...options.limits },
  });
  const port = Number(inbound.address.split(":")[1]);
  return {
    inbound,
    port,
    messages,
    events,
    bugs,
    counted,
    emails,
    sent({ recipient = "maria@example.com", host = BOUNCE_HOST, at = clock.now() } = {}) {
      const uid = newId(at, systemRandom);
      const address = returnPath({ id: uid, recipient }, host, KEY);
      emails.set(uid, { recipientAddress: recipient, isErased: false, returnPath: address, sendAt: null });
      return { uid, address };
    },
    client: (how) => openTalk(port, how),
    async [Symbol.asyncDispose]() {
      await files?.stop();
      await inbound.stop(0);
    },
  };
}

/** One client's conversation. */
export interface Talk extends Disposable {
  socket: Socket | TLSSocket;
  /** Everything heard so far that was not taken as a reply. */
  readonly heard: string;
  readonly isClosed: boolean;
  /** The next whole reply, or "" when the connection ends without one. */
  reply(): Promise<string>;
  /** Writes `line` with CR LF; its reply. */
  say(line: string): Promise<string>;
  write(bytes: string | Uint8Array): void;
  /** EHLO, MAIL and RCPT for each, all of which must be taken. */
  envelope(...recipients: string[]): Promise<void>;
  /** The same, and DATA up to its 354. */
  message(...recipients: string[]): Promise<void>;
  /** TLS from here on. */
  secure(): Promise<void>;
  /** Everything heard until the other side closes. */
  rest(): Promise<string>;
}

export async function openTalk(
  port: number,
  { localAddress, hears = true }: { localAddress?: string; hears?: boolean } = {},
): Promise<Talk> {
  let socket: Socket | TLSSocket = connect({
    port,
    host: "127.0.0.1",
    ...(localAddress === undefined ? {} : { localAddress }),
  });
  let heard = "";
  let isClosed = false;
  let wake = () => {};
  const listen = (on: Socket) => {
    on.on("error", () => undefined);
    on.on("data", (chunk: Uint8Array) => {
      heard += Buffer.from(chunk).toString("latin1");
      wake();
    });
    on.on("close", () => {
      isClosed = true;
      wake();
    });
  };
  listen(socket);
  const next = () => new Promise<void>((resolve) => (wake = resolve));
  const find = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const match = pattern.exec(heard)?.[0];
      if (match !== undefined) {
        heard = heard.slice(match.length);
        return match;
      }
      if (isClosed) return "";
      await next();
    }
  };
  const talk: Talk = {
    get socket() {
      return socket;
    },
    get heard() {
      return heard;
    },
    get isClosed() {
      return isClosed;
    },
    reply: () => within(REPLY_LIMIT_MS, "a reply", find(/^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/)),
    say(line) {
      socket.write(`${line}\r\n`);
      return talk.reply();
    },
    write: (bytes) => void socket.write(bytes),
    async envelope(...recipients) {
      await expectCode(talk, "EHLO client.test", "250");
      await expectCode(talk, "MAIL FROM:<>", "250");
      for (const recipient of recipients) await expectCode(talk, `RCPT TO:<${recipient}>`, "250");
    },
    async message(...recipients) {
      await talk.envelope(...recipients);
      await expectCode(talk, "DATA", "354");
    },
    async secure() {
      const plain = socket;
      plain.removeAllListeners("data");
      const secured = connectTls({ socket: plain, rejectUnauthorized: false, servername: HOSTNAME });
      listen(secured);
      await within(REPLY_LIMIT_MS, "the handshake", new Promise((resolve) => secured.once("secureConnect", resolve)));
      socket = secured;
    },
    async rest() {
      await within(
        REPLY_LIMIT_MS,
        "the end of the connection",
        (async () => {
          while (!isClosed) await next();
        })(),
      );
      return heard;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
  if (hears) {
    const greeting = await talk.reply();
    if (!greeting.startsWith("220 ")) throw new Error(`no greeting: ${greeting}`);
  }
  return talk;
}

async function expectCode(talk: Talk, line: string, code: string): Promise<void> {
  const reply = await talk.say(line);
  if (!reply.startsWith(code)) throw new Error(`${line}: ${reply}`);
}

/** Resolves when `isTrue` holds, looked at again at each turn of the loop. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + REPLY_LIMIT_MS;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`it took too long: ${what}`);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
