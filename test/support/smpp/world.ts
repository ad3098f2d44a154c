// A link and the SMSC it talks to, with what the link told kept for tests.

import { Link, type LinkEvents } from "../../../src/protocols/smpp/link.ts";
import type { SubmitResponse } from "../../../src/protocols/smpp/submit-queue.ts";
import type { Unbound } from "../../../src/protocols/smpp/persistent-session.ts";
import type { Inbound } from "../../../src/protocols/smpp/pdu/pdu.ts";
import { LINK_DEFAULTS, type LinkSettings } from "../../../src/protocols/smpp/settings.ts";
import type { LogFields } from "../../../src/platform/log.ts";
import { fakeClock, type FakeClock } from "../fakes/clock.ts";
import { headOf, readMessage, type Delivery } from "../peers/smsc/codec.ts";
import type { SmscHandle } from "../peers/smsc/client.ts";
import { SUBMIT } from "./codec-cases.ts";

export interface NamedSegment {
  name: string;
  submit: typeof SUBMIT;
}

export interface LinkWorld {
  link: Link<NamedSegment>;
  clock: FakeClock;
  /** Of every timer that was set, in ms. */
  delays: number[];
  answers: SubmitResponse<NamedSegment>[];
  timedOut: string[];
  lost: string[];
  received: { message: Inbound; acknowledge: (status: number) => void }[];
  ready: number[];
  bound: string[];
  unbound: Unbound[];
  logged: { name: string; fields: LogFields; level: string }[];
  /** Answers are settle, and messages acknowledged, as soon as they come; otherwise the test does. */
  isSettling: boolean;
  isAcknowledging: boolean;
  /** Sends segments of these names, texts to one number. @returns the names of those not written */
  send(...names: string[]): string[];
  /** Resolves when it holds, looked at at each event; rejects after some seconds. */
  until(holds: () => boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const UNTIL_LIMIT_MS = 15_000;

export function segment(name: string, change: Partial<typeof SUBMIT> = {}): NamedSegment {
  return { name, submit: { ...SUBMIT, shortMessage: Buffer.from(name), ...change } };
}

export function settingsFor(smsc: { port: number }, change: Partial<LinkSettings> = {}): LinkSettings {
  const account = { name: "vodacom-a", systemId: "loja", password: "segredo" };
  // The rate has tests of its own.
  const own = { ...account, host: "127.0.0.1", port: smsc.port, tls: "none", ratePerSecond: 1_000_000 } as const;
  return { ...LINK_DEFAULTS, ...own, ...change };
}

/** A link that connects at once, under a clock that stands still. */
export function makeLink(
  smsc: { port: number },
  change: Partial<LinkSettings> = {},
  lookUp: (host: string) => Promise<string[]> = () => Promise.reject(new Error("no such name")),
): LinkWorld {
  const fake = fakeClock();
  const delays: number[] = [];
  const clock: FakeClock = {
    ...fake,
    after(delayMs, run) {
      delays.push(delayMs);
      queueMicrotask(look);
      return fake.after(delayMs, run);
    },
    get pending() {
      return fake.pending;
    },
  };
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  const told = <T extends unknown[]>(take: (...values: T) => void) => {
    return (...values: T) => {
      take(...values);
      look();
    };
  };
  const events: LinkEvents<NamedSegment> = {
    ready: told((free: number) => void world.ready.push(free)),
    responded: told((answer: SubmitResponse<NamedSegment>) => {
      world.answers.push(answer);
      if (world.isSettling) answer.settle();
    }),
    timedOut: told(({ name }: NamedSegment) => void world.timedOut.push(name)),
    lost: told((segments: NamedSegment[]) => void world.lost.push(...segments.map(({ name }) => name))),
    received: told((message: Inbound, acknowledge: (status: number) => void) => {
      world.received.push({ message, acknowledge });
      if (world.isAcknowledging) acknowledge(0);
    }),
    bound: told((role: string) => void world.bound.push(role)),
    unbound: told((end: Unbound) => void world.unbound.push(end)),
  };
  const world: LinkWorld = {
    link: new Link({
      settings: settingsFor(smsc, change),
      clock,
      unit: () => 0.5,
      log: {
        event: told((name: string, fields: LogFields = {}, level = "info") => {
          world.logged.push({ name, fields, level });
        }),
        error: told((name: string, error: unknown) => {
          world.logged.push({ name, fields: { error: String(error) }, level: "error" });
        }),
      },
      lookUp,
      events,
    }),
    clock,
    delays,
    answers: [],
    timedOut: [],
    lost: [],
    received: [],
    ready: [],
    bound: [],
    unbound: [],
    logged: [],
    isSettling: true,
    isAcknowledging: true,
    send: (...names) => world.link.send(names.map((name) => segment(name))).map((unsent) => unsent.segment.name),
    until: (holds) =>
      new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(deadline);
          watchers.delete(watcher);
        };
        const watcher = () => {
          if (!holds()) return;
          end();
          resolve();
        };
        const deadline = setTimeout(() => {
          end();
          const { answers, received, ...rest } = world;
          const seen = { answers: answers.length, received: received.length, ...rest, link: world.link.state };
          reject(new Error(`waited in vain: ${holds.toString()}: ${Bun.inspect(seen)}`));
        }, UNTIL_LIMIT_MS);
        watchers.add(watcher);
        watcher();
      }),
    async [Symbol.asyncDispose]() {
      world.link.reconnect("the test is over");
      await world.link.close();
      // The last words of what was closed have their time.
      clock.advance(60_000);
    },
  };
  world.link.start();
  return world;
}

/** One that is bound. */
export async function makeBound(smsc: SmscHandle, change: Partial<LinkSettings> = {}): Promise<LinkWorld> {
  const world = makeLink(smsc, change);
  await world.until(() => world.link.state.state === "bound");
  return world;
}

/** A subscriber's text. */
export const TEXT: Delivery = {
  command: "deliver_sm",
  from: "258841234567",
  to: "1234",
  esmClass: 0,
  dataCoding: 0,
  bytes: Buffer.from("Sim").toString("hex"),
  isPayload: false,
  tlvs: [],
};

/** Resolves when the link has read all that the SMSC has sent: a text comes behind it. */
export async function caughtUp(smsc: SmscHandle, world: LinkWorld): Promise<void> {
  const before = world.received.length;
  await smsc.deliver("loja", TEXT);
  await world.until(() => world.received.length > before);
}

/** What the SMSC read, in order: the commands' names, `submit_sm` with its text. */
export async function readBy(smsc: SmscHandle): Promise<string[]> {
  return (await smsc.journal()).filter(({ direction }) => direction === "<").map(({ what }) => nameOf(what));
}

const NAMES: Record<number, string> = {
  0x00000001: "bind_receiver",
  0x00000002: "bind_transmitter",
  0x00000009: "bind_transceiver",
  0x00000006: "unbind",
  0x80000006: "unbind_resp",
  0x00000015: "enquire_link",
  0x80000015: "enquire_link_resp",
  0x80000005: "deliver_sm_resp",
  0x80000103: "data_sm_resp",
  0x80000000: "generic_nack",
};

function nameOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  const { id, status } = headOf(bytes);
  if (id === 4) return `submit ${readMessage(bytes).shortMessage.toString("latin1")}`;
  return `${NAMES[id] ?? id.toString(16)}${status === 0 ? "" : ` 0x${status.toString(16)}`}`;
}
