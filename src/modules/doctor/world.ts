// What one run of the doctor looks at, and what its checks look with. Everything outside comes in here, so that a test
// can break it alone.

import type { Config } from "../../config/config.ts";
import type { Clock } from "../../platform/clock.ts";
import { isRefusedAddress, parseRanges } from "../../platform/ip/address.ts";
import type { Random } from "../../platform/random.ts";
import type { Server } from "../../protocols/dns/exchange.ts";
import type { Resolver } from "../../protocols/dns/lookup.ts";
import { probeServer, type ServerAnswer, type ServerQuestion } from "../../protocols/dns/probe.ts";
import type { DomainView } from "./domain-view.ts";
import { createRunResolver, type RunResolver } from "./run-resolver.ts";
import { findProbed, findSending, type Probed, type Sending } from "./sending.ts";
import { type SmtpTalk, talkSmtp } from "./smtp-probe.ts";

export type DoctorConfig = Pick<
  Config,
  "hostname" | "email" | "inbound" | "tls" | "relay" | "doctor" | "dns" | "dashboard"
>;

/** Of this machine, and of the way out. */
export interface Outside {
  /** Asks the servers anew, beginning with the one of this index. */
  fresh: (preferred: number) => Resolver;
  servers: () => readonly Server[];
  /** The addresses of this machine, without loopback. */
  ownAddresses: () => string[];
  /** The address that the system sends from to `target`; null: there is no way. No packet is sent. */
  findRoute: (target: string) => Promise<string | null>;
  /** Measures spans, and times what is waited for. */
  steady: Clock;
  clock: Clock;
  random: Random;
}

/** What the checks know of the instance; null: it does not run. */
export interface InstanceView {
  /** Where the port for incoming mail is, 127.0.0.1:2525; null: none is configured. */
  inbound: string | null;
}

export interface RunWish {
  domains: readonly DomainView[];
  /** DNS questions of the run. */
  questions: number;
  signal: AbortSignal;
  instance: InstanceView | null;
  /** Whether registries are asked for the age of domains. */
  rdap: boolean;
}

export interface World extends Omit<Outside, "fresh">, RunWish {
  config: DoctorConfig;
  dns: RunResolver;
  /** By the index of the server: what it said to a first question. */
  firstAnswers: readonly ServerAnswer[];
  ask(server: Server, question: Omit<ServerQuestion, "id">): Promise<ServerAnswer>;
  talk(
    target: { address: string; port: number },
    commands: readonly string[],
    localAddress?: string,
  ): Promise<SmtpTalk>;
  /** Whether the world can reach it, or a test says so ([email] allow_private_ranges). */
  isPublic: (address: string) => boolean;
  /** Looked for once in a run. */
  probed: () => Promise<Probed[]>;
  sending: () => Promise<Sending>;
}

const SERVER_MS = 2_000;
const SMTP_MS = 5_000;

/** Asks each DNS server first whether it answers, so that a dead one is not waited for with every question. */
export async function openWorld(config: DoctorConfig, outside: Outside, wish: RunWish): Promise<World> {
  const { random, steady } = outside;
  const { signal } = wish;
  const ask: World["ask"] = (server, question) => {
    const id = Buffer.from(random.bytes(2)).readUInt16BE(0);
    return probeServer(server, { ...question, id }, { clock: steady, timeoutMs: SERVER_MS, signal });
  };
  const firstAnswers = await Promise.all(
    outside.servers().map((server) => ask(server, { name: ".", type: "NS", transport: "udp" })),
  );
  const alive = firstAnswers.findIndex(({ kind }) => kind === "answered");
  const resolver = outside.fresh(Math.max(0, alive));
  const dns = createRunResolver({
    resolver,
    signal,
    isMute: alive < 0,
    limit: wish.questions,
  });
  const allowed = parseRanges(config.email.allowPrivateRanges);
  const once = <T>(find: () => Promise<T>) => {
    let found: Promise<T> | null = null;
    return () => (found ??= find());
  };
  const world: World = {
    ...outside,
    ...wish,
    config,
    dns,
    firstAnswers,
    ask,
    talk: ({ address, port }, commands, localAddress) =>
      talkSmtp({ address, port, commands, localAddress, clock: steady, timeoutMs: SMTP_MS, signal }),
    isPublic: (address) => isRefusedAddress(address, allowed) === null,
    probed: once(() => findProbed(world)),
    sending: once(() => findSending(world)),
  };
  return world;
}
