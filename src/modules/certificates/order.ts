// One order of a certificate (RFC 8555 §7.4): all of its names, or none. It keeps nothing: an order that was cut off is
// begun again by the same account.

import { generateKeyPairSync } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { PemPair } from "../../platform/served-certificate.ts";
import type { AcmeClient, Authorization, Order } from "../../protocols/acme/client.ts";
import { AcmeProblem } from "../../protocols/acme/problem.ts";
import { createCertificateRequest } from "../../protocols/x509/certificate-request.ts";
import { findFault, readChain, writeChain } from "../../protocols/x509/chain.ts";

export interface OrderDeps {
  client: AcmeClient;
  clock: Clock;
  signal: AbortSignal;
  /** What is shown to the authority under a token, from now on; the returned function ends that. */
  showToken: (token: string) => () => void;
}

export interface OrderWish {
  names: readonly string[];
  profile: string | null;
  /** The renewal id of the one before; null: none is replaced. */
  replaces: string | null;
}

const CHALLENGE = "http-01";
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;
/** For each state that is waited for. */
const PATIENCE_MS = 10 * 60_000;

/** Throws AcmeProblem. The client's account is open. */
export async function orderCertificate(wish: OrderWish, deps: OrderDeps): Promise<PemPair> {
  const { client, clock } = deps;
  const placed = await placeOrder(wish, client);
  const hidden: (() => void)[] = [];
  try {
    // All are answered before the first is waited for.
    for (const url of placed.authorizations) await answerAuthorization(url, deps, hidden);
    for (const url of placed.authorizations) await awaitAuthorization(url, deps);
    const ready = await awaitOrder(placed.url, "ready", deps);
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await client.finalize(ready, createCertificateRequest(wish.names, privateKey));
    const { certificate } = await awaitOrder(placed.url, "valid", deps);
    if (certificate === null) throw new AcmeProblem("badAnswer", "its order is valid and names no certificate");
    const key = privateKey.export({ type: "pkcs8", format: "pem" });
    return check(await client.download(certificate), { names: wish.names, key, now: clock.now() });
  } finally {
    for (const hide of hidden) hide();
  }
}

async function placeOrder({ names, profile, replaces }: OrderWish, client: AcmeClient): Promise<Order> {
  try {
    return await client.createOrder(names, { profile, replaces });
  } catch (error) {
    // RFC 9773 §5: an attempt before this one got so far that its certificate counts as the successor; or the authority
    // has forgotten the one that is replaced. What only helps it to plan may not stand in the way of a renewal.
    const mayBeThat = error instanceof AcmeProblem && error.type !== "rateLimited";
    if (!mayBeThat || replaces === null) throw error;
    return client.createOrder(names, { profile, replaces: null });
  }
}

async function answerAuthorization(url: string, { client, showToken }: OrderDeps, hidden: (() => void)[]) {
  const authorization = await client.readAuthorization(url);
  const { name, status, challenges } = authorization;
  if (status === "valid") return;
  if (status !== "pending") throw toProblem(authorization);
  const challenge = challenges.find(({ type }) => type === CHALLENGE);
  if (challenge === undefined)
    throw new AcmeProblem("noChallenge", `it does not offer ${CHALLENGE} for ${name}`, {
      subproblems: [{ type: "noChallenge", detail: "", name }],
    });
  hidden.push(showToken(challenge.token));
  await client.acceptChallenge(challenge);
}

async function awaitAuthorization(url: string, deps: OrderDeps): Promise<void> {
  const isOver = ({ status }: Authorization) => status !== "pending";
  const found = await repeat(() => deps.client.readAuthorization(url), isOver, deps);
  if (found.status !== "valid") throw toProblem(found);
}

/** The name is put to what the authority says of it. */
function toProblem({ name, status, error }: Authorization): AcmeProblem {
  const { type, detail, retryAfterMs } = error ?? new AcmeProblem("unauthorized", `its authorization is ${status}`);
  return new AcmeProblem(type, detail, { subproblems: [{ type, detail, name }], retryAfterMs });
}

async function awaitOrder(url: string, wanted: Order["status"], deps: OrderDeps): Promise<Order> {
  const isOver = ({ status }: Order) => [wanted, "valid", "invalid"].includes(status);
  const order = await repeat(() => deps.client.readOrder(url), isOver, deps);
  if (order.status === wanted) return order;
  throw order.error ?? new AcmeProblem("badAnswer", `its order is ${order.status}, and gives no reason`);
}

/** Asks as often as the authority likes, or ever less often. */
async function repeat<T extends { status: string; retryAfterMs: number | null }>(
  ask: () => Promise<T>,
  isOver: (found: T) => boolean,
  { clock, signal }: Pick<OrderDeps, "clock" | "signal">,
): Promise<T> {
  let waitedMs = 0;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    const found = await ask();
    if (isOver(found)) return found;
    const nextMs = Math.min(Math.max(found.retryAfterMs ?? waitMs, FIRST_WAIT_MS), MAX_WAIT_MS);
    if (waitedMs + nextMs > PATIENCE_MS)
      throw new AcmeProblem(
        "tooSlow",
        `what was ordered is still "${found.status}" after ${PATIENCE_MS / 60_000} minutes`,
      );
    await pause(nextMs, clock, signal);
    waitedMs += nextMs;
  }
}

async function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  const end = () => reject(signal.reason as Error);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  try {
    await promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", end);
  }
}

/** What an authority hands out is not served unseen. */
function check(pem: string, expected: { names: readonly string[]; key: string; now: number }): PemPair {
  const chain = parseChain(pem);
  const fault = findFault(chain, expected);
  if (fault !== null)
    throw new AcmeProblem("badCertificate", `the certificate that it has issued is not usable: ${fault}`);
  return { cert: writeChain(chain), key: expected.key };
}

function parseChain(pem: string) {
  try {
    return readChain(pem);
  } catch (error) {
    throw new AcmeProblem("badCertificate", "what it has issued is no certificate", { cause: error });
  }
}
