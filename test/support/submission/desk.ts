// The ports by themselves, with a function in place of what accepts messages, limits of one's own and a clock.

import { SUBMISSION_LIMITS, type SubmissionLimits } from "../../../src/modules/submission/limits.ts";
import { type SubmissionDeps, type SubmissionServer, startSubmission } from "../../../src/modules/submission/server.ts";
import type { Submission } from "../../../src/modules/emails/submitted/accept.ts";
import { readSubmitted } from "../../../src/modules/emails/submitted/read-submitted.ts";
import { MessageBudget } from "../../../src/modules/emails/delivery/message-budget.ts";
import type { Caller } from "../../../src/platform/http/auth.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { ServedCertificate } from "../../../src/platform/served-certificate.ts";
import { createSelfSigned } from "../../../src/protocols/x509/self-signed.ts";
import { HOSTNAME } from "../inbound/kit.ts";

/** Of workspace 1, and of workspace 2. */
export const KEY = `svc_${"a".repeat(43)}`;
export const OTHER_KEY = `svc_${"b".repeat(43)}`;

export interface SubmissionDesk extends AsyncDisposable {
  readonly server: SubmissionServer;
  readonly port: number;
  readonly tlsPort: number;
  readonly keys: Map<string, Caller>;
  readonly certificate: ServedCertificate;
  /** In the order in which they were accepted. */
  readonly submissions: Submission[];
  readonly refused: number[];
  readonly bugs: unknown[];
}

export interface SubmissionDeskOptions extends Partial<
  Pick<SubmissionDeps, "clock" | "suppressions" | "workspaces" | "guard" | "shared" | "mayAuthenticateInClear">
> {
  limits?: Partial<SubmissionLimits>;
  /** Instead of the list. */
  accept?: SubmissionDeps["emails"]["acceptSubmission"];
  read?: SubmissionDeps["emails"]["readSubmitted"];
  inFlightBytes?: number;
}

export async function startSubmissionDesk(options: SubmissionDeskOptions = {}): Promise<SubmissionDesk> {
  const { limits, accept, read, inFlightBytes = SUBMISSION_LIMITS.inFlightBytes, ...given } = options;
  const clock: Clock = options.clock ?? systemClock;
  const submissions: Submission[] = [];
  const refused: number[] = [];
  const bugs: unknown[] = [];
  const keys = new Map<string, Caller>(
    [KEY, OTHER_KEY].map((key, n) => [key, { kind: "key", keyId: n + 1, workspaceId: n + 1, domainId: null }]),
  );
  const selfMade = createSelfSigned([HOSTNAME], { now: Date.now(), serial: systemRandom.bytes(16) });
  const certificate = new ServedCertificate(selfMade, false);
  const own: SubmissionLimits = {
    ...SUBMISSION_LIMITS,
    ...{ messageBytes: 20 * 1024 * 1024, recipients: 50, clients: 200, clientsPerAddress: 50 },
    ...limits,
  };
  const standing = { uid: "w", blockedAt: null, blockReason: null, rateBlockedAt: null, rateBlockReason: null };
  const server = await startSubmission({
    clock,
    log: { event: () => undefined, error: (where, error) => void bugs.push({ where, error }) },
    verifyKey: (key) => keys.get(key) ?? null,
    emails: {
      readSubmitted: read ?? ((submitted) => Promise.resolve(readSubmitted({ submitted }))),
      acceptSubmission:
        accept ??
        ((submission) => {
          submissions.push(submission);
          return Promise.resolve({ id: String(submissions.length), count: submission.recipients.length });
        }),
    },
    suppressions: { reasonFor: () => null },
    workspaces: { byId: () => standing },
    guard: { blockedReason: null },
    shared: { sends: null, failures: null },
    collect: () => {},
    budget: new MessageBudget(inFlightBytes, {
      ...{ countedBytes: 0, largeBytes: 0, maxOwnWaiting: Infinity, maxWaiting: Infinity, growth: 1, reservedBytes: 0 },
    }),
    limits: own,
    counts: { accepted: () => undefined, refused: (code) => void refused.push(code), authFailed: () => undefined },
    mayAuthenticateInClear: false,
    ...given,
    listen: [{ address: "127.0.0.1", port: 0 }],
    listenTls: [{ address: "127.0.0.1", port: 0 }],
    hostname: HOSTNAME,
    certificate,
  });
  const portOf = (address = "") => Number(address.split(":")[1]);
  return {
    server,
    port: portOf(server.addresses[0]),
    tlsPort: portOf(server.tlsAddresses[0]),
    ...{ keys, certificate, submissions, refused, bugs },
    async [Symbol.asyncDispose]() {
      await server.stop(0);
    },
  };
}
