// A certificate authority (ACME) that errs as a test wishes, for what a real one never does. It looks at no challenge
// unless it is asked to.

import { createHash } from "node:crypto";
import type { Clock } from "../../../src/platform/clock.ts";
import { AUTHORITY, RELAY_CERTIFICATE } from "./certificates.ts";
import { createIssuer, type Issuer, readRequestedKey } from "./issuer.ts";

export type Step =
  | "directory"
  | "newNonce"
  | "newAccount"
  | "account"
  | "newOrder"
  | "authorization"
  | "challenge"
  | "finalize"
  | "order"
  | "certificate"
  | "renewalInfo";

/** What answers in its place; undefined: the authority does. */
export type Fault = (payload: Payload) => Response | undefined | Promise<Response | undefined>;

// oxlint-disable-next-line no-explicit-any
type Payload = any;

export interface Authority extends AsyncDisposable {
  directory: string;
  /** PEM of what its own certificate is checked by. */
  ca: string;
  issuer: Issuer;
  faults: Partial<Record<Step, Fault>>;
  /** In the order in which they came. */
  steps: Step[];
  /** Thumbprints of the keys that have an account. */
  accounts: Set<string>;
  /** Of the newest of them. */
  contact: string[];
  /** Of the orders so far. */
  orders: Payload[];
  /** Of what is issued, from now. */
  lifetimeMs: number;
  /** When it would like a renewal. */
  window: { start: number; end: number } | null;
}

const DAY_MS = 86_400_000;
const PROBLEM = "urn:ietf:params:acme:error:";

/** A refusal in the form of RFC 8555 §6.7. */
export function refuse(type: string, detail: string, status = 403, headers: Record<string, string> = {}): Response {
  return Response.json(
    { type: `${PROBLEM}${type}`, detail },
    { status, headers: { "content-type": "application/problem+json", ...headers } },
  );
}

export async function startAuthority(clock: Pick<Clock, "now">): Promise<Authority> {
  const issuer = createIssuer(clock.now());
  const chains = new Map<string, string>();
  const names = new Map<string, string[]>();
  let count = 0;
  const own: Omit<Authority, "directory" | typeof Symbol.asyncDispose> = {
    ca: AUTHORITY,
    issuer,
    faults: {},
    steps: [],
    accounts: new Set(),
    contact: [],
    orders: [],
    lifetimeMs: 90 * DAY_MS,
    window: null,
  };
  const answer = (step: Step, id: string, payload: Payload, jwk: unknown): Response => {
    const order = (status: string) => ({
      status,
      authorizations: (names.get(id) ?? []).map((name) => `${base}/authorization/${id}.${name}`),
      finalize: `${base}/finalize/${id}`,
      ...(status === "valid" ? { certificate: `${base}/certificate/${id}` } : {}),
    });
    switch (step) {
      case "directory":
        return Response.json({
          newNonce: `${base}/newNonce`,
          newAccount: `${base}/newAccount`,
          newOrder: `${base}/newOrder`,
          renewalInfo: `${base}/renewalInfo`,
          meta: { caaIdentities: ["ca.test"] },
        });
      case "newNonce":
        return new Response(null);
      case "newAccount": {
        const print = createHash("sha256").update(JSON.stringify(jwk)).digest("hex");
        const isNew = !own.accounts.has(print);
        own.accounts.add(print);
        if (isNew) own.contact = payload.contact;
        const headers = { location: `${base}/account/${print}` };
        return Response.json({ status: "valid", contact: own.contact }, { status: isNew ? 201 : 200, headers });
      }
      case "account":
        own.contact = payload.contact;
        return Response.json({ status: "valid", contact: own.contact });
      case "newOrder": {
        own.orders.push(payload);
        const made = String(++count);
        names.set(
          made,
          payload.identifiers.map(({ value }: { value: string }) => value),
        );
        const location = `${base}/order/${made}`;
        id = made;
        return Response.json(order("pending"), { status: 201, headers: { location } });
      }
      case "authorization": {
        const name = id.slice(id.indexOf(".") + 1);
        const challenge = { type: "http-01", token: "token", url: `${base}/challenge/${id}` };
        return Response.json({ status: "valid", identifier: { type: "dns", value: name }, challenges: [challenge] });
      }
      case "challenge":
        return Response.json({ status: "processing" });
      case "finalize": {
        const publicKey = readRequestedKey(Buffer.from(payload.csr, "base64url"));
        const now = clock.now();
        const own_ = { names: names.get(id) ?? [], publicKey, from: now - 3_600_000, until: now + own.lifetimeMs };
        chains.set(id, issuer.issue(own_));
        return Response.json(order("valid"));
      }
      case "order":
        return Response.json(order(chains.has(id) ? "valid" : "ready"));
      case "certificate":
        return new Response(chains.get(id));
      case "renewalInfo": {
        if (own.window === null) return new Response(null, { status: 404 });
        const [start, end] = [own.window.start, own.window.end].map((at) => new Date(at).toISOString());
        return Response.json({ suggestedWindow: { start, end } }, { headers: { "retry-after": "21600" } });
      }
    }
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: RELAY_CERTIFICATE,
    async fetch(request) {
      const [, step, id] = new URL(request.url).pathname.split("/") as [string, Step, string];
      own.steps.push(step);
      const body = (request.method === "POST" ? await request.json() : {}) as Payload;
      const read = (text: string | undefined): Payload =>
        text ? JSON.parse(Buffer.from(text, "base64url").toString()) : {};
      const payload = read(body.payload);
      const response = (await own.faults[step]?.(payload)) ?? answer(step, id, payload, read(body.protected).jwk);
      response.headers.set("replay-nonce", `nonce${own.steps.length}`);
      return response;
    },
  });
  const base = `https://127.0.0.1:${server.port}`;
  return Object.assign(own, {
    directory: `${base}/directory`,
    [Symbol.asyncDispose]: () => server.stop(true),
  });
}
