// SMTP submission: programs that speak SMTP hand in mail with an API key as their password.

import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import { MessageBudget } from "../emails/delivery/message-budget.ts";
import { SUBMISSION_LIMITS } from "./limits.ts";
import { findSubmissionPlace, type SubmissionPlace } from "./place.ts";
import { startSubmission, type SubmissionDeps, type SubmissionServer } from "./server.ts";

export interface Submission extends Required<Omit<Component, "issues">> {
  /** Where it listens with STARTTLS, 127.0.0.1:2587. */
  readonly addresses: string[];
  /** And with TLS from the first byte. */
  readonly tlsAddresses: string[];
  readonly connectionCount: number;
  /** For the settings of programs; null: it does not listen. */
  findPlace(): SubmissionPlace | null;
}

/** Room for a message is room for its octets; each waits in a socket of its own. */
const RULES = { countedBytes: 0, largeBytes: 0, maxOwnWaiting: Infinity, maxWaiting: Infinity, growth: 1 };

/** Nothing begins to act before start(). */
export function createSubmission(
  context: Pick<Context, "clock" | "log"> & Pick<SubmissionDeps, "guard">,
  stores: Pick<SubmissionDeps, "suppressions" | "workspaces">,
  { submission, hostname }: Config,
  module: Pick<SubmissionDeps, "verifyKey" | "emails" | "shared" | "certificate" | "counts" | "mayAuthenticateInClear">,
): Submission {
  const { listen, listenTls, maxMessageBytes, maxRecipients, maxClients, maxClientsPerAddress } = submission;
  const { inFlightBytes } = SUBMISSION_LIMITS;
  // A slow client of one workspace may hold its room for hours: another's largest message always has its own.
  const budget = new MessageBudget(inFlightBytes, {
    ...RULES,
    reservedBytes: Math.min(maxMessageBytes, inFlightBytes / 2),
  });
  const limits = {
    ...SUBMISSION_LIMITS,
    messageBytes: maxMessageBytes,
    recipients: maxRecipients,
    clients: maxClients,
    clientsPerAddress: maxClientsPerAddress,
  };
  let server: SubmissionServer | null = null;
  return {
    get addresses() {
      return server?.addresses ?? [];
    },
    get tlsAddresses() {
      return server?.tlsAddresses ?? [];
    },
    get connectionCount() {
      return server?.clientCount ?? 0;
    },
    findPlace() {
      const { addresses = [], tlsAddresses = [] } = server ?? {};
      return findSubmissionPlace({ hostname, addresses, tlsAddresses, ...module });
    },
    /** Throws StartError where a port cannot be opened. */
    async start() {
      if (listen.length === 0 && listenTls.length === 0) return;
      const own = { listen, listenTls, hostname, budget, limits, collect: () => Bun.gc(true) };
      server = await startSubmission({ ...context, ...stores, ...module, ...own });
    },
    /** Messages under way get their replies. */
    async drain(graceMs: number) {
      await server?.stop(graceMs);
      return 0;
    },
    /** A message that is under way comes again. */
    async stop() {
      await server?.stop(0);
    },
  };
}
