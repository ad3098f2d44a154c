// When a certificate is ordered, and what becomes of it. The authority is asked when it would like the next one
// (RFC 9773); without an answer the next is ordered when two thirds of the lifetime are over. A failure is tried again
// after 1, 2, 4 … 24 hours.

import { generateKeyPairSync, createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import { AppError } from "../../platform/errors.ts";
import type { PemPair } from "../../platform/served-certificate.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import { type Account, AcmeClient, type RenewalInfo } from "../../protocols/acme/client.ts";
import { AcmeProblem } from "../../protocols/acme/problem.ts";
import { writeKeyAuthorization } from "../../protocols/acme/sign.ts";
import { readChain, readRenewalId } from "../../protocols/x509/chain.ts";
import { orderCertificate } from "./order.ts";
import { lookOurselves, type OwnLookDeps } from "./own-look.ts";
import type { CertificateStore, Failure, RenewalState } from "./store.ts";

const HOUR_MS = 3_600_000;
const MAX_WAIT_MS = 24 * HOUR_MS;
/** Authorities count five failures an hour for a name; ours stay below. */
const FAILURES_PER_HOUR = 4;
/** A process that ends in the middle of this many orders in a row waits with the next. */
const INTERRUPTIONS = 3;
/** RFC 9773 §4.3.2: how often an authority that says nothing of it is asked. */
const ASK_EVERY_MS = 6 * HOUR_MS;
const MIN_ASK_MS = 60_000;
/** A certificate is not replaced before this share of its lifetime is over, whatever is asked: an authority that errs would be asked without end. */
const MIN_SHARE = 0.01;
const RENEW_AT_SHARE = 2 / 3;
const MAX_SHARE = 5 / 6;
/** The clock may be set meanwhile. */
const LOOK_AGAIN_MS = HOUR_MS;

/** A certificate as it is served. */
export interface Issued extends PemPair {
  directory: string;
  profile: string | null;
  certificate: X509Certificate;
  /** Unix ms. */
  issuedAt: number;
}

export interface RenewalDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  store: CertificateStore;
  keyring: Keyring;
  names: readonly string[];
  directory: string;
  profile: string | null;
  account: Account;
  /** PEM; null: the public ones. */
  ca: string | null;
  fetch: typeof globalThis.fetch;
  ownLook: Pick<OwnLookDeps, "resolver" | "ownAddresses" | "port">;
  /** Answers to what is asked for at the challenge's path, by their token. */
  tokens: Map<string, string>;
  counts: { ended(result: "issued" | "failed"): void };
  /** What is served now; null: none that an authority issued. */
  current: () => Issued | null;
  /** Called with each one that was issued and stored. */
  replace: (issued: Issued) => void;
}

export class Renewal {
  readonly #deps: RenewalDeps;
  readonly #task: BackgroundTask;
  #state: RenewalState;
  /** When the authority would like the next one, of the certificate with this renewal id. */
  #suggestion: { renewalId: string; start: number; end: number; at: number } | null = null;
  #askAt = 0;
  #isForced = false;
  #isRunning = false;
  /** Issued, and not stored yet: the disk was full. */
  #unsaved: PemPair | null = null;

  constructor(deps: RenewalDeps) {
    this.#deps = deps;
    this.#state = deps.store.readState();
    const run = (stopping: AbortSignal) => this.#run(stopping);
    this.#task = new BackgroundTask({ name: "certificate", run, clock: deps.clock, log: deps.log });
  }

  get failure(): Failure | null {
    return this.#state.failure;
  }

  get attempts(): number {
    return this.#state.failures;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Unix ms. */
  get nextAt(): number {
    return Math.max(this.#findDueAt(), this.#deps.clock.now());
  }

  start(): void {
    this.#task.start();
  }

  /** Resolves when no order is under way. */
  idle(): Promise<void> {
    return this.#task.idle();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** Orders one now. Throws RATE_LIMITED where the authority would soon refuse for an hour. */
  renewNow(): void {
    const now = this.#deps.clock.now();
    const recent = this.#recentFailures(now);
    if (recent.length >= FAILURES_PER_HOUR) {
      const retryAfterS = Math.ceil(((recent[0] ?? now) + HOUR_MS - now) / 1_000);
      throw new AppError("RATE_LIMITED", `${recent.length} attempts have failed within an hour`, {
        hint: "Authorities allow five an hour for a name. Solve what the last one names first: pombo tls shows it.",
        retryAfterS,
      });
    }
    if (this.#isRunning) return;
    this.#isForced = true;
    this.#isRunning = true;
    this.#task.trigger();
  }

  async #run(stopping: AbortSignal): Promise<number> {
    const { clock } = this.#deps;
    try {
      if (this.#unsaved !== null) await this.#save(this.#unsaved);
      else if (this.#isForced || this.#findDueAt() <= clock.now()) await this.#attempt(stopping);
    } finally {
      this.#isRunning = false;
    }
    const current = this.#findUsable();
    if (current !== null && clock.now() >= this.#askAt && !stopping.aborted) await this.#askWhen(current, stopping);
    const next = Math.min(this.#findDueAt(), current === null ? Infinity : this.#askAt);
    return Math.min(Math.max(next - clock.now(), 0), LOOK_AGAIN_MS);
  }

  /** Unix ms; in the past: at once. */
  #findDueAt(): number {
    const retryAt = this.#findRetryAt();
    const current = this.#findUsable();
    if (current === null) return retryAt ?? 0;
    const until = Date.parse(current.certificate.validTo);
    const life = until - current.issuedAt;
    const wanted = this.#suggestion?.at ?? current.issuedAt + life * RENEW_AT_SHARE;
    const within = Math.min(Math.max(wanted, current.issuedAt + life * MIN_SHARE), current.issuedAt + life * MAX_SHARE);
    return Math.max(within, retryAt ?? 0);
  }

  /** A failure of the future is one from before the clock was set back: it must not hold for a year. */
  #findRetryAt(): number | null {
    const { failure, retryAt } = this.#state;
    return failure !== null && failure.at > this.#deps.clock.now() ? null : retryAt;
  }

  /** Null: what is served is not what the configuration wants. */
  #findUsable(): Issued | null {
    const { names, directory, profile } = this.#deps;
    const current = this.#deps.current();
    if (current === null || current.directory !== directory || current.profile !== profile) return null;
    // It may have more names: some authorities add them.
    return names.every((name) => current.certificate.checkHost(name) !== undefined) ? current : null;
  }

  async #attempt(stopping: AbortSignal): Promise<void> {
    const { clock, counts, log, names } = this.#deps;
    this.#isRunning = true;
    this.#isForced = false;
    const before = this.#state;
    await this.#begin(before);
    const findings: string[] = [];
    try {
      this.#unsaved = await this.#order(stopping, findings);
    } catch (error) {
      // It goes on, or begins again, at the next start.
      if (stopping.aborted) return await this.#write(before);
      if (isStorageError(error)) throw error;
      const problem =
        error instanceof AcmeProblem ? error : new AcmeProblem("internal", String(error), { cause: error });
      if (!(error instanceof AcmeProblem)) log.error("certificate", error);
      await this.#fail(before, problem, findings);
      counts.ended("failed");
      return;
    }
    await this.#save(this.#unsaved);
    counts.ended("issued");
    const until = this.#deps.current()?.certificate.validTo ?? "";
    log.event("tls.issued", { names: names.join(" "), until: new Date(until || clock.now()).toISOString() });
  }

  /** Said before anything is asked of the authority, so that a process that ends again and again does not ask without end. */
  #begin(before: RenewalState): Promise<void> {
    const begun = before.begun + 1;
    if (begun < INTERRUPTIONS) return this.#write({ ...before, begun });
    const now = this.#deps.clock.now();
    const failure = toFailure(new AcmeProblem("interrupted", `pombo ended in the middle of ${begun} orders`), now, []);
    return this.#write({ ...before, begun, failure, retryAt: now + HOUR_MS });
  }

  async #order(signal: AbortSignal, findings: string[]): Promise<PemPair> {
    const { names, profile, account, clock, random, ownLook, log } = this.#deps;
    const accountKey = await this.#openAccountKey();
    const client = this.#openClient(accountKey, signal);
    const caaIdentities = await client.readCaaIdentities();
    const token = Buffer.from(random.bytes(16)).toString("base64url");
    const hide = this.#show(token, token);
    findings.push(
      ...(await lookOurselves(names, { ...ownLook, call: this.#deps.fetch, caaIdentities, token, signal })),
    );
    hide();
    if (findings.length > 0) log.event("tls.doubtful", { findings: findings.join(" ") }, "warn");
    signal.throwIfAborted();
    await client.openAccount(account);
    const current = this.#deps.current();
    const replaces = current?.directory === this.#deps.directory ? readRenewalId(current.certificate) : null;
    return orderCertificate(
      { names, profile, replaces },
      { client, clock, signal, showToken: (each) => this.#show(each, writeKeyAuthorization(each, accountKey)) },
    );
  }

  #show(token: string, answer: string): () => void {
    const { tokens } = this.#deps;
    tokens.set(token, answer);
    return () => void tokens.delete(token);
  }

  /** Stored before the authority hears of it: it has one account for one key, however often it is asked. */
  async #openAccountKey(): Promise<KeyObject> {
    const { store, keyring, directory, commit, clock } = this.#deps;
    const context = accountContext(directory);
    const sealed = store.findAccountKey(directory);
    if (sealed !== null) return createPrivateKey(Buffer.from(keyring.unseal(sealed, context)).toString());
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" }));
    const row = { directory, privateKey: Buffer.from(keyring.seal(pem, context)), createdAt: clock.now() };
    await commit(() => store.addAccount(row));
    return privateKey;
  }

  #openClient(accountKey: KeyObject, signal: AbortSignal): AcmeClient {
    const { directory, ca, fetch, clock } = this.#deps;
    return new AcmeClient({ directory, accountKey, ca, fetch, signal, now: () => clock.now() });
  }

  async #save(pair: PemPair): Promise<void> {
    const { store, keyring, directory, profile, commit, clock, replace } = this.#deps;
    const issuedAt = clock.now();
    const privateKey = Buffer.from(keyring.seal(Buffer.from(pair.key), CERTIFICATE_CONTEXT));
    const state = { ...this.#state, begun: 0, failures: 0, retryAt: null, failure: null };
    await commit(() => {
      store.putCertificate({ directory, profile, chain: pair.cert, privateKey, issuedAt });
      store.writeState(state);
    });
    this.#state = state;
    this.#unsaved = null;
    this.#suggestion = null;
    this.#askAt = 0;
    const [certificate] = readChain(pair.cert);
    if (certificate !== undefined) replace({ ...pair, directory, profile, certificate, issuedAt });
  }

  async #fail(before: RenewalState, problem: AcmeProblem, findings: string[]): Promise<void> {
    const { clock, log } = this.#deps;
    const now = clock.now();
    const failures = before.failures + 1;
    const waitMs = Math.max(Math.min(HOUR_MS * 2 ** (failures - 1), MAX_WAIT_MS), problem.retryAfterMs ?? 0);
    const failure = toFailure(problem, now, findings);
    const failedAt = [...this.#recentFailures(now), now];
    await this.#write({ begun: 0, failures, failedAt, retryAt: now + waitMs, failure });
    const { type, detail, name } = failure;
    log.event(
      "tls.failed",
      { type, detail, name, findings: findings.join(" "), retryAt: new Date(now + waitMs).toISOString() },
      "warn",
    );
  }

  #recentFailures(now: number): number[] {
    return this.#state.failedAt.filter((at) => at > now - HOUR_MS && at <= now);
  }

  async #write(state: RenewalState): Promise<void> {
    await this.#deps.commit(() => this.#deps.store.writeState(state));
    this.#state = state;
  }

  /** An authority that does not answer this is asked again later: two thirds of the lifetime hold until then. */
  async #askWhen(current: Issued, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    this.#askAt = clock.now() + ASK_EVERY_MS;
    const renewalId = readRenewalId(current.certificate);
    if (renewalId === null) return;
    try {
      const info = await this.#openClient(await this.#openAccountKey(), signal).readRenewalInfo(renewalId);
      if (info === null) return;
      this.#askAt = clock.now() + Math.max(info.retryAfterMs ?? ASK_EVERY_MS, MIN_ASK_MS);
      this.#suggestion = this.#choose(renewalId, info);
    } catch (error) {
      if (!(error instanceof AcmeProblem)) throw error;
    }
  }

  /** A random moment of the window, kept while the window stays. */
  #choose(renewalId: string, { start, end }: RenewalInfo) {
    const before = this.#suggestion;
    if (before?.renewalId === renewalId && before.start === start && before.end === end) return before;
    return { renewalId, start, end, at: start + (end - start) * this.#deps.random.unit() };
  }
}

/** Bind what is sealed to its row. */
export const CERTIFICATE_CONTEXT = "certificate";

function accountContext(directory: string): string {
  return `acme account ${directory}`;
}

function toFailure(problem: AcmeProblem, at: number, findings: string[]): Failure {
  // The subproblems say which name it is; the first is as good as the others.
  const [first] = problem.subproblems;
  const { type, detail } = first !== undefined && first.detail !== "" ? first : problem;
  return { at, type, detail, name: first?.name ?? null, findings };
}
