import type { Environment } from "../platform/environment.ts";
import type { Config } from "../config/config.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { DnsClient } from "../protocols/dns/client.ts";
import type { Report } from "../protocols/dsn/parse-report.ts";
import type { Emails } from "../modules/emails/index.ts";
import { openCertificate } from "../modules/inbound-mail/server/certificate.ts";
import type { Receive } from "../modules/inbound-mail/inbound-message.ts";
import { purgeInbox } from "../modules/inbound-mail/purge.ts";
import { createReader, type GivenReport } from "../modules/inbound-mail/read-report.ts";
import type { KnownReporters } from "../modules/inbound-mail/server/known-reporters.ts";
import { createReceiver } from "../modules/inbound-mail/receive.ts";
import { type Inbound, startInbound } from "../modules/inbound-mail/server/server.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import type { Counters } from "../platform/metrics/counters.ts";
import type { Stores } from "./stores.ts";
import { type OpenThread, ThreadLine } from "../platform/worker-threads/worker-thread.ts";

// The receiving half of the composition root: what is done with mail that comes in, and the port it comes in on.

export interface InboundMailDeps {
  config: Config;
  environment: Environment;
  stores: Stores;
  keyring: Keyring;
  committer: Committer;
  guard: DiskGuard;
  processReport: Emails["processReport"];
  counts: Counters["inbound"];
  openThread: OpenThread;
  reporters: KnownReporters;
  /** Of the feedback providers' keys: what strangers make us look up takes no places from mail. */
  resolver: DnsClient;
}

/** The worst letter that is known takes a third of a second; who finds a worse one must not hold up the others for long. */
const PATIENCE = { silenceMs: 5_000, pauseMs: 100, maxPauseMs: 1_000 };

/** `close` ends its thread and loops; a letter that is being read is put off. */
export function createInboundMail(deps: InboundMailDeps) {
  const { environment, stores, keyring, committer, openThread, resolver, ...rest } = deps;
  const { clock, random, log } = environment;
  const { commit } = committer;
  const tell = (why: string) => log.error("thread", new Error(`the thread that reads letters was given up: ${why}`));
  const reading = new ThreadLine<GivenReport, Report>({ open: openThread, tell, ...PATIENCE });
  const receive = createReceiver({
    ...rest,
    ...stores,
    commit,
    clock,
    random,
    log,
    read: createReader(reading, log),
    lookupTxt: (name, signal) => resolver.txt(name, signal),
    returnPathKey: keyring.hmacKey("return-path"),
  });
  const stopPurge = purgeInbox({ inbox: stores.inbox, commit, clock, log });
  return {
    receive,
    /** Takes mail on the configured port and hands it to `taking`; null: none is configured. */
    async listen(taking: Receive): Promise<Inbound | null> {
      const { inbound, hostname, email } = deps.config;
      if (inbound.listen === null) return null;
      return startInbound({
        listen: inbound.listen,
        hostname,
        bounceHost: email.bounceHost,
        returnPathKey: keyring.hmacKey("return-path"),
        find: (uid) => stores.emails.findReturnPath(uid),
        certificate: openCertificate({ config: inbound, hostname, clock, random, log }),
        receive: taking,
        reporters: deps.reporters,
        trouble: () => deps.guard.blockedReason,
        counts: deps.counts,
        clock,
        log,
      });
    },
    close() {
      stopPurge();
      reading.close();
    },
  };
}
