// What one run of the doctor looks at, and what its checks look with. Everything outside comes in here, so that a test
// can break it alone.

import type { Config } from "../../config/config.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { Random } from "../../platform/random.ts";
import type { Server } from "../../protocols/dns/exchange.ts";
import type { Resolver } from "../../protocols/dns/lookup.ts";
import type { ServerAnswer, ServerQuestion } from "../../protocols/dns/probe.ts";
import type { CertificateState } from "../certificates/index.ts";
import type { Replication } from "../operator/index.ts";
import type { DeliveryStore } from "./lately/delivery-store.ts";
import type { DomainView } from "./domain-view.ts";
import type { RunResolver } from "./run-resolver.ts";
import type { SmsLookStore } from "./lately/sms-store.ts";
import type { SmtpTalk, SmtpTalkOptions } from "./smtp-probe.ts";

export type DoctorConfig = Pick<
  Config,
  "hostname" | "email" | "inbound" | "submission" | "tls" | "relay" | "egress" | "doctor" | "dns" | "dashboard" | "sms"
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
  deliveries: DeliveryStore;
  sms: SmsLookStore;
  /** What the machine and its cgroup allow. */
  memoryBytes: number;
  /** `releaseKey` null: it was built without. `file`: its name among the files of a release. */
  build: { version: string; releaseKey: string | null; file: string };
  fetch: typeof globalThis.fetch;
  /** Measures spans, and times what is waited for. */
  steady: Clock;
  clock: Clock;
  random: Random;
}

/** What the checks know of the instance; null: it does not run. */
export interface InstanceView {
  /** Where the port for incoming mail is, 127.0.0.1:2525; null: none is configured. */
  inbound: string | null;
  issues: () => HealthIssue[];
  freeDiskBytes: number | null;
  /** At the present growth; null: it does not grow. */
  diskDaysLeft: number | null;
  /** Null: nothing is replicated. */
  replication: Pick<Replication, "state" | "reason" | "drill" | "lastAt"> | null;
  /** Transactions since the start; p99Ms null: there was none. */
  commits: { count: number; p99Ms: number | null };
  /** Open files and sockets, and how many there may be; null: the system does not say. */
  descriptors: { open: number; limit: number } | null;
  certificate: CertificateState;
  /** Unix ms: somebody had the recovery key at hand; null: nobody yet. `file`: where this machine has it; null: nowhere. */
  recoveryKey: { checkedAt: number | null; file: string | null };
  /** Another executable lies where this one was started from. */
  isReplaced: boolean;
  /** Where programs hand in mail, 127.0.0.1:2587. */
  submission: string[];
  /** Where the API is with TLS, 127.0.0.1:8443. */
  tls: string[];
  links: { route: string; isBound: boolean; lastEnd: string | null }[];
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

/** A connection that was tried to the mail servers of a domain. */
export type Probed = { domain: string } & (
  | { kind: "talked"; host: string; address: string; talk: SmtpTalk }
  /** DNS did not lead to an address. */
  | { kind: "not_found"; reason: string }
);

export interface SendingAddress {
  family: 4 | 6;
  /** As the world sees it. */
  address: string;
  /** Of this machine; another one behind NAT, and the same at an egress. */
  local: string;
  /** The name in EHLO. */
  helo: string;
  /** The name of the [[egress]]; null: this machine's own way. */
  egress: string | null;
}

export interface Sending {
  /** Empty: mail goes through relays, or no address was found. */
  addresses: SendingAddress[];
  /** The machine's own, whether mail leaves from them or by egresses alone. */
  own: SendingAddress[];
  /** Of this machine, behind NAT, and what the world sees is not known. */
  hidden: string[];
  /** All mail goes through [[relay]]. */
  isRelayed: boolean;
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
    from?: Pick<SmtpTalkOptions, "localAddress" | "dial">,
  ): Promise<SmtpTalk>;
  /** Whether the world can reach it, or a test says so ([email] allow_private_ranges). */
  isPublic: (address: string) => boolean;
  /** Looked for once in a run. */
  probed: () => Promise<Probed[]>;
  sending: () => Promise<Sending>;
}
