// Inbound mail: bounces, complaints and mail for the operator, and the SMTP port that they come in on.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import { createPurge } from "../../platform/db/purge.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { CertificateSource } from "../../platform/served-certificate.ts";
import { type OpenThread, ThreadClient } from "../../platform/worker-threads/worker-thread.ts";
import type { DnsClient } from "../../protocols/dns/client.ts";
import type { Report } from "../../protocols/dsn/parse-report.ts";
import { followFiles } from "../certificates/index.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { Receive } from "./inbound-message.ts";
import { inboxRoutes } from "./operator-routes.ts";
import { createReportReader, type GivenReport } from "./read-report.ts";
import { createReceiver, type ReceiveDeps } from "./receive.ts";
import type { KnownReporters } from "./server/known-reporters.ts";
import type { InboundCounts } from "./server/refusals.ts";
import type { RouteDeps } from "./server/recipients.ts";
import { type Inbound, startInbound } from "./server/server.ts";

/** Messages for the operator are kept so long. */
const INBOX_RETENTION_MS = 30 * 86_400_000;

/** The worst message that is known takes a third of a second; one that takes longer must not hold up the others. */
const THREAD_LIMITS = { silenceMs: 5_000, pauseMs: 100, maxPauseMs: 1_000 };

interface InboundMailDeps extends Pick<ReceiveDeps, "processReport" | "unsubscribe"> {
  readUnsubscribe: RouteDeps["readUnsubscribe"];
  pages: ListPages;
  keyring: Keyring;
  openThread: OpenThread;
  /** For the keys of feedback providers. Of its own: what strangers make us look up takes no places from mail. */
  resolver: DnsClient;
  reporters: KnownReporters;
  /** For STARTTLS, unless the port has files of its own. */
  certificate: CertificateSource;
  counts: ReceiveDeps["counts"] & InboundCounts;
  /** Takes the messages of the port instead of `receive`. */
  receive?: Receive | undefined;
}

interface InboundMail extends Required<Omit<Component, "issues">> {
  receive: Receive;
  operatorRoutes(): AnyElysia[];
  /** Where the port is, 127.0.0.1:2525; null: none is configured. */
  readonly address: string | null;
  readonly connectionCount: number;
}

/** Nothing begins to act before start(). */
export function createInboundMail(
  context: Context & { guard: Pick<DiskGuard, "blockedReason"> },
  stores: Pick<ReceiveDeps, "inbox" | "reports"> & { emails: Pick<EmailStore, "findReturnPath" | "findStateByUid"> },
  { inbound, hostname, email }: Config,
  module: InboundMailDeps,
): InboundMail {
  const { clock, log, guard } = context;
  const { resolver, openThread } = module;
  const report = (why: string) => log.error("thread", new Error(`the thread that parses reports was given up: ${why}`));
  const parsing = new ThreadClient<GivenReport, Report>({ open: openThread, report, ...THREAD_LIMITS });
  const deps = { ...context, ...stores, ...module, returnPathKey: module.keyring.hmacKey("return-path") };
  const receive = createReceiver({
    ...deps,
    read: createReportReader(parsing, log),
    lookupTxt: (name, signal) => resolver.txt(name, signal),
  });
  let server: Inbound | null = null;
  let files: ReturnType<typeof followFiles> | null = null;
  const purge = createPurge(context, "inbox", () => stores.inbox.purge(clock.now() - INBOX_RETENTION_MS));
  return {
    receive,
    operatorRoutes: () => [inboxRoutes(deps)],
    get address() {
      return server?.address ?? null;
    },
    get connectionCount() {
      return server?.clientCount ?? 0;
    },
    /** Throws StartError where the port cannot be opened. */
    async start() {
      purge.start();
      if (inbound.listen === null) return;
      const { certificateFile, keyFile } = inbound;
      if (certificateFile !== null && keyFile !== null)
        files = followFiles({ certificateFile, keyFile, table: "inbound" }, context);
      server = await startInbound({
        ...deps,
        listen: inbound.listen,
        hostname,
        bounceHost: email.bounceHost,
        find: (uid) => stores.emails.findReturnPath(uid),
        certificate: files?.source ?? module.certificate,
        receive: module.receive ?? receive,
        blockedReason: () => guard.blockedReason,
      });
    },
    /** Messages under way get their replies. */
    async drain(graceMs: number) {
      await server?.stop(graceMs);
      return 0;
    },
    /** A message that is being parsed comes again. */
    async stop() {
      void purge.stop();
      await server?.stop(0);
      await files?.stop();
      parsing.close();
    },
  };
}
