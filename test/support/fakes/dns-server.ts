/**
 * A scripted name server over real UDP and TCP: a zone that a test may change at any time, and a
 * fault per name. The forging faults send the forged answer first and the true one after it.
 */
import { answerMessage, listenForDns } from "../../../src/sandbox/dns/server.ts";
import type { DnsServer, Transport } from "../../../src/sandbox/dns/server.ts";
import { decode, encode } from "dns-packet";
import { answerFromZone } from "./zone.ts";
import type { Zone } from "./zone.ts";

export type DnsFault =
  | "servfail"
  | "refused"
  /** NXDOMAIN, as a captive resolver says to everything. */
  | "no_name"
  /** As the portal of a hotel: every name has its address, and nothing else. */
  | "portal"
  | "formerr"
  /** FORMERR as a bare header, and only for queries with EDNS. */
  | "no_edns"
  | "silence"
  /** Answers only once `release()` is called. */
  | "slow"
  | "wrong_id"
  | "wrong_question"
  /** UDP says TC with no records, TCP answers. */
  | "truncated"
  /** UDP says TC, and TCP sends a message of no bytes. */
  | "truncated_tcp_empty"
  /** UDP says TC, and TCP takes the question and says nothing. */
  | "truncated_tcp_silence"
  | "truncated_tcp_wrong_id"
  | "garbage"
  /** Leaves out all but the first record, as a server does that holds only the alias. */
  | "first_record_alone"
  | "referral";

/** The address that forged answers carry. */
const FORGED_ADDRESS = "6.6.6.6";
/** The portal's: a private one. */
const PORTAL_ADDRESS = "10.0.0.1";

export interface Query {
  name: string;
  type: string;
  transport: Transport;
  id: number;
}

export interface FakeDns extends DnsServer {
  zone: Zone;
  /** By name; "*" for all others. */
  faults: Record<string, DnsFault>;
  /** Every query so far, in order. */
  queries: Query[];
  /** Resolves once `count` queries have come in all. */
  seen(count: number): Promise<void>;
  /** What "slow" does with an answer: keeps it for `release`, unless a test has another plan. */
  hold: (send: () => void) => void;
  /** Sends what "slow" has held back. */
  release(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startFakeDns(zone: Zone = {}, faults: Record<string, DnsFault> = {}): Promise<FakeDns> {
  const queries: Query[] = [];
  const watchers: { count: number; resolve: () => void }[] = [];
  const held: (() => void)[] = [];
  const fake = { zone, faults, queries, hold: (send: () => void) => void held.push(send) };
  const server = await listenForDns({
    host: "127.0.0.1",
    port: 0,
    respond(message, transport, send) {
      const query = decode(message);
      const question = query.questions?.[0];
      if (!question) return;
      const name = question.name.toLowerCase();
      queries.push({ name, type: question.type, transport, id: query.id ?? 0 });
      for (const watcher of watchers) if (queries.length >= watcher.count) watcher.resolve();
      const fault = fake.faults[name] ?? fake.faults["*"];
      const answer = () => answerMessage(message, transport, (asked, type) => answerFromZone(fake.zone, asked, type));
      for (const response of respond(message, { fault, transport, answer })) {
        if (fault === "slow") fake.hold(() => send(response));
        else send(response);
      }
    },
  });
  return Object.assign(fake, server, {
    seen: (count: number) =>
      queries.length >= count ? Promise.resolve() : new Promise<void>((resolve) => watchers.push({ count, resolve })),
    release() {
      for (const send of held.splice(0)) send();
    },
    [Symbol.asyncDispose]: () => server.close(),
  });
}

interface Scene {
  fault: DnsFault | undefined;
  transport: Transport;
  answer: () => Buffer | null;
}

function respond(message: Buffer, { fault, transport, answer }: Scene): Buffer[] {
  const genuine = answer() ?? Buffer.alloc(0);
  const isTcp = transport === "tcp";
  switch (fault) {
    case undefined:
    case "slow":
      return [genuine];
    case "silence":
      return [];
    case "servfail":
      return [withCode(message, 2)];
    case "refused":
      return [withCode(message, 5)];
    case "no_name":
      return [withCode(message, 3)];
    case "portal":
      return [portal(message)];
    case "formerr":
      return [withCode(message, 1)];
    case "no_edns":
      return message.readUInt16BE(10) === 0 ? [genuine] : [bareHeader(message, 1)];
    case "wrong_id":
      return [withId(forge(message), message.readUInt16BE(0) ^ 0x5555), genuine];
    case "wrong_question":
      return [forge(message, "other.example"), genuine];
    case "truncated":
      return [isTcp ? genuine : truncate(message)];
    case "truncated_tcp_empty":
      return isTcp ? [Buffer.alloc(0)] : [truncate(message)];
    case "truncated_tcp_silence":
      return isTcp ? [] : [truncate(message)];
    case "truncated_tcp_wrong_id":
      return [isTcp ? withId(genuine, message.readUInt16BE(0) ^ 1) : truncate(message)];
    case "garbage":
      return [
        Buffer.concat([message.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0, 9, 0, 0, 0, 0, 0xc0, 0xff, 1])]),
      ];
    case "first_record_alone": {
      const whole = decode(genuine);
      return [encode({ ...whole, answers: whole.answers?.slice(0, 1) })];
    }
    case "referral":
      return [refer(message)];
  }
}

const ANSWERED = 0x8180;

function withCode(message: Buffer, rcode: number): Buffer {
  const { id, questions } = decode(message);
  return encode({ type: "response", id, flags: 0x180 | rcode, questions });
}

function truncate(message: Buffer): Buffer {
  const { id, questions } = decode(message);
  return encode({ type: "response", id, flags: 0x380, questions });
}

function refer(message: Buffer): Buffer {
  const { id, questions } = decode(message);
  const authorities = [{ type: "NS" as const, name: "example", ttl: 60, data: "ns.example" }];
  return encode({ type: "response", id, flags: 0, questions, authorities });
}

function portal(message: Buffer): Buffer {
  const { id, questions } = decode(message);
  const [asked] = questions ?? [];
  const answers = [{ type: "A" as const, name: asked?.name ?? "", ttl: 60, data: PORTAL_ADDRESS }];
  return encode({ type: "response", id, flags: 0x180, questions, answers: asked?.type === "A" ? answers : [] });
}

function bareHeader(message: Buffer, rcode: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(message.readUInt16BE(0), 0);
  header.writeUInt16BE(ANSWERED | rcode, 2);
  return header;
}

function forge(message: Buffer, otherName?: string): Buffer {
  const { id, questions } = decode(message);
  const name = otherName ?? questions?.[0]?.name ?? "";
  return encode({
    type: "response",
    id,
    flags: 0x180,
    questions: [{ type: questions?.[0]?.type ?? "A", name, class: "IN" }],
    answers: [{ type: "A", name, ttl: 60, data: FORGED_ADDRESS }],
  });
}

function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  return copy;
}
