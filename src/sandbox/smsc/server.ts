/**
 * The sandbox's SMSC: SMPP 3.4 over TCP on loopback, the other end of pombo's own links, so that a text takes the
 * real way. It knows a few accounts, all with one password; each may bind as often as it likes.
 * network.ts says what becomes of the texts; here connections are taken, and what goes back is sent.
 */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { toSubmissions, splitText } from "../../modules/sms/encoding/segment.ts";
import { normalForm } from "../../modules/sms/encoding/encoding.ts";
import { Handsets } from "./handset.ts";
import { Network, type SubscriberMessage } from "./network.ts";
import { SmscAccount } from "./account.ts";
import { STATUS } from "../../protocols/smpp/pdu/status.ts";
import { SmscSession } from "./session.ts";
import type { Deliver } from "../../protocols/smpp/pdu/smsc-pdu.ts";
import type { Texts } from "./message-store.ts";

const MAX_SESSIONS = 200;
const CODING = { segmentation: "udh8", shiftTables: "off", defaultCharset: "gsm7" } as const;
const MAX_EVENT = 200;

interface SandboxSmscOptions {
  /** system_ids that may bind; what subscribers write goes to the first. */
  accounts: readonly [string, ...string[]];
  password: string;
  texts: Texts;
  clock: Clock;
  random: Random;
  /** Receives one line without control characters per event. */
  onEvent?: (line: string) => void;
  /** 0, the default, lets the system choose. */
  port?: number;
}

/** A subscriber's text: taken, refused by pombo, or there is no connection to hand it over. */
export type WrittenBack = "taken" | "refused" | "not_connected";

export interface SandboxSmsc {
  port: number;
  /** Hands over what a subscriber writes to a number. */
  writeBack(message: SubscriberMessage): Promise<WrittenBack>;
  /** Ends the connections that wait for answers which will never come. */
  hangUp(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** Starts the SMSC on 127.0.0.1. Rejects when the port cannot be bound. */
export async function startSandboxSmsc(options: SandboxSmscOptions): Promise<SandboxSmsc> {
  const { texts, clock, random, password } = options;
  const tell = (line: string) => options.onEvent?.(visible(line));
  const lost = () => tell("a receipt or text for pombo was given up: nobody took it");
  const accounts = new Map(options.accounts.map((name) => [name, new SmscAccount(clock, lost)]));
  const [main] = options.accounts;
  const sessions = new Set<SmscSession>();
  let reference = 0;

  const buildParts = (message: SubscriberMessage): Deliver[] => {
    reference = (reference + 1) & 0xff;
    return splitDeliveries(message, reference);
  };
  const keep = (message: SubscriberMessage, segments: number) => {
    const { encoding } = splitText(normalForm(message.body), CODING);
    texts.add({ ...message, segments, encoding, receivedAt: clock.now(), direction: "out", reference: null });
  };
  const network = new Network({
    handsets: new Handsets(texts, clock),
    clock,
    random,
    deliver: (account, message) => accounts.get(account)?.deliver(message),
    writeBack(message) {
      const parts = buildParts(message);
      keep(message, parts.length);
      tell(`writes back "${message.body}" to ${message.to}  ${message.from}`);
      for (const part of parts) accounts.get(main)?.deliver(part);
    },
    onEvent: tell,
  });

  const server = createServer((socket) => {
    if (sessions.size >= MAX_SESSIONS) return void socket.destroy();
    const session = new SmscSession({
      socket,
      clock,
      judge(systemId, given) {
        if (!accounts.has(systemId)) return STATUS.invalidSystemId;
        return given === password ? STATUS.ok : STATUS.invalidPassword;
      },
      bound: (each) => accounts.get(each.systemId ?? "")?.join(each),
      submitted: (each, submit, reply) => network.take({ account: each.systemId ?? "", submit, reply }),
      closed(each) {
        sessions.delete(each);
        accounts.get(each.systemId ?? "")?.leave(each);
      },
    });
    sessions.add(session);
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async writeBack(message) {
      const account = accounts.get(main);
      if (account?.isConnected !== true) return "not_connected";
      const parts = buildParts(message);
      for (const part of parts) if (!(await account.deliverNow(part))) return "refused";
      keep(message, parts.length);
      return "taken";
    },
    hangUp() {
      for (const session of sessions) if (session.isWaiting) session.close();
    },
    close() {
      network.stop();
      for (const account of accounts.values()) account.stop();
      for (const session of sessions) session.close();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** What a subscriber writes, cut as a phone cuts it. */
function splitDeliveries({ from, to, body }: SubscriberMessage, reference: number): Deliver[] {
  const split = splitText(normalForm(body), CODING);
  return toSubmissions(split, { segmentation: "udh8", defaultCharset: "gsm7", reference }).map((part) => ({
    source: { ton: 1, npi: 1, address: from.replace(/^\+/, "") },
    destination: { ton: to.startsWith("+") ? 1 : 3, npi: to.startsWith("+") ? 1 : 0, address: to.replace(/^\+/, "") },
    esmClass: part.hasHeader ? 0x40 : 0,
    dataCoding: part.dataCoding,
    message: Buffer.from(part.shortMessage),
    receipt: null,
  }));
}

/** Text that cannot move the cursor or turn the reading direction of somebody's terminal. */
function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, MAX_EVENT);
}
