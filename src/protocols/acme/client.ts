// A client of certificate authorities: ACME (RFC 8555), with profiles and renewal information (RFC 9773). It speaks and
// reads; when to ask, and what to do with a certificate, is decided elsewhere. Each answer is bounded in size and time.

import type { KeyObject } from "node:crypto";
import { getErrorMessage } from "../../platform/errors.ts";
import { AcmeProblem, asRecord, readProblem } from "./problem.ts";
import { bindAccount, type ExternalAccount, signRequest } from "./sign.ts";

const MAX_ANSWER_BYTES = 256 * 1024;
const TIMEOUT_MS = 30_000;
/** Each refused request brings a new nonce; an authority that refuses them all is broken. */
const MAX_NONCES = 20;
const MAX_RETRY_AFTER_S = 30 * 86_400;

export interface AcmeOptions {
  /** Of the authority's directory. */
  directory: string;
  accountKey: KeyObject;
  /** PEM by which the authority's own certificate is checked; null: the public ones. */
  ca: string | null;
  fetch: typeof globalThis.fetch;
  /** Ends what is under way. */
  signal: AbortSignal;
  /** Unix ms, for a Retry-After that is a date. */
  now: () => number;
}

interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  /** Null: the authority has no renewal information. */
  renewalInfo: string | null;
  profiles: string[];
  /** What CAA records call the authority. */
  caaIdentities: string[];
}

export interface Account {
  contact: string | null;
  externalAccount: ExternalAccount | null;
}

export interface Order {
  url: string;
  status: "pending" | "ready" | "processing" | "valid" | "invalid";
  authorizations: string[];
  finalize: string;
  certificate: string | null;
  error: AcmeProblem | null;
  retryAfterMs: number | null;
}

export interface Challenge {
  type: string;
  url: string;
  token: string;
}

export interface Authorization {
  name: string;
  status: "pending" | "valid" | "invalid" | "deactivated" | "expired" | "revoked";
  challenges: Challenge[];
  /** Why it is invalid. */
  error: AcmeProblem | null;
  retryAfterMs: number | null;
}

/** When a certificate is best replaced (RFC 9773 §4.2); Unix ms. */
export interface RenewalInfo {
  start: number;
  end: number;
  /** Ask again then. */
  retryAfterMs: number | null;
}

interface Answer {
  body: string;
  headers: Headers;
}

export class AcmeClient {
  readonly #options: AcmeOptions;
  #directory: Directory | null = null;
  #account: string | null = null;
  #nonce: string | null = null;

  constructor(options: AcmeOptions) {
    this.#options = options;
  }

  /** What CAA records call the authority; none: it does not say. */
  async readCaaIdentities(): Promise<string[]> {
    return (await this.#open()).caaIdentities;
  }

  /** Makes the account of the key, or finds it, and gives it this address: a key has one account at an authority. */
  async openAccount({ contact, externalAccount }: Account): Promise<void> {
    const { newAccount } = await this.#open();
    const contacts = contact === null ? [] : [`mailto:${contact}`];
    const answer = await this.#post(newAccount, {
      termsOfServiceAgreed: true,
      contact: contacts,
      ...(externalAccount === null
        ? {}
        : { externalAccountBinding: bindAccount(this.#options.accountKey, externalAccount, newAccount) }),
    });
    this.#account = this.#requireUrl(answer.headers.get("location"), "the address of the account");
    const { contact: kept } = parse(answer);
    if (Array.isArray(kept) && kept.join() !== contacts.join()) await this.#updateContact(this.#account, contacts);
  }

  /**
   * newAccount changes nothing about an existing account (RFC 8555 §7.3). An authority that stores no addresses shows none
   * and is not asked. One that refuses the new address may still issue certificates, so its refusal ends nothing.
   */
  async #updateContact(account: string, contact: string[]): Promise<void> {
    try {
      await this.#post(account, { contact });
    } catch (error) {
      if (!(error instanceof AcmeProblem)) throw error;
    }
  }

  /** `replaces`: the renewal id of the certificate that this one follows. */
  async createOrder(
    names: readonly string[],
    { profile, replaces }: { profile: string | null; replaces: string | null },
  ): Promise<Order> {
    const { newOrder, renewalInfo, profiles } = await this.#open();
    if (profile !== null && !profiles.includes(profile))
      throw new AcmeProblem(
        "invalidProfile",
        `it has no certificate profile "${profile}"; it has ${profiles.length === 0 ? "none" : profiles.join(", ")}`,
      );
    const answer = await this.#post(newOrder, {
      identifiers: names.map((value) => ({ type: "dns", value })),
      ...(profile === null ? {} : { profile }),
      ...(replaces === null || renewalInfo === null ? {} : { replaces }),
    });
    return this.#readOrder(this.#requireUrl(answer.headers.get("location"), "the address of the order"), answer);
  }

  async readOrder(url: string): Promise<Order> {
    return this.#readOrder(url, await this.#post(url, undefined));
  }

  async readAuthorization(url: string): Promise<Authorization> {
    const answer = await this.#post(url, undefined);
    const { identifier, status, challenges } = parse(answer);
    const list = (Array.isArray(challenges) ? challenges : []).map(asRecord);
    const failed = list.find(({ error }) => error !== undefined);
    const { value } = asRecord(identifier);
    return {
      name: typeof value === "string" ? value : "",
      status: status as Authorization["status"],
      challenges: list.flatMap(({ type, url: at, token }) =>
        // RFC 8555 §8.1: a token has characters of base64url only. It becomes part of a path.
        typeof type === "string" && typeof token === "string" && /^[\w-]{1,256}$/.test(token)
          ? [{ type, token, url: this.#requireUrl(at, "the address of a challenge") }]
          : [],
      ),
      error: failed === undefined ? null : readProblem(failed["error"]),
      retryAfterMs: this.#readRetryAfter(answer.headers),
    };
  }

  /** Tells the authority to look now. */
  async acceptChallenge({ url }: Challenge): Promise<void> {
    await this.#post(url, {});
  }

  /** `csr`: DER. */
  async finalize(order: Order, csr: Uint8Array): Promise<Order> {
    const answer = await this.#post(order.finalize, { csr: Buffer.from(csr).toString("base64url") });
    return this.#readOrder(order.url, answer);
  }

  /** The certificate with its chain, PEM. */
  async download(url: string): Promise<string> {
    return (await this.#post(url, undefined)).body;
  }

  /** Null: the authority gives none. */
  async readRenewalInfo(renewalId: string): Promise<RenewalInfo | null> {
    const { renewalInfo } = await this.#open();
    if (renewalInfo === null) return null;
    const answer = await this.#ask(`${renewalInfo.replace(/\/$/, "")}/${renewalId}`, { method: "GET" });
    const { suggestedWindow } = parse(answer);
    const { start, end } = asRecord(suggestedWindow);
    const window = { start: Date.parse(String(start)), end: Date.parse(String(end)) };
    if (!(window.start < window.end))
      throw new AcmeProblem("badAnswer", "its renewal information has no window of time");
    return { ...window, retryAfterMs: this.#readRetryAfter(answer.headers) };
  }

  async #open(): Promise<Directory> {
    if (this.#directory !== null) return this.#directory;
    const answer = parse(await this.#ask(this.#options.directory, { method: "GET" }));
    const { renewalInfo, meta } = answer;
    const { profiles, caaIdentities } = asRecord(meta);
    this.#directory = {
      newNonce: this.#requireUrl(answer["newNonce"], "newNonce"),
      newAccount: this.#requireUrl(answer["newAccount"], "newAccount"),
      newOrder: this.#requireUrl(answer["newOrder"], "newOrder"),
      renewalInfo: renewalInfo === undefined ? null : this.#requireUrl(renewalInfo, "renewalInfo"),
      profiles: Object.keys(asRecord(profiles)),
      caaIdentities: (Array.isArray(caaIdentities) ? caaIdentities : []).map((each) => String(each).toLowerCase()),
    };
    return this.#directory;
  }

  async #post(url: string, payload: unknown): Promise<Answer> {
    for (let left = MAX_NONCES; ; left--) {
      const nonce = await this.#takeNonce();
      const body = signRequest({ key: this.#options.accountKey, account: this.#account }, { url, nonce, payload });
      try {
        return await this.#ask(url, {
          method: "POST",
          headers: { "content-type": "application/jose+json" },
          body: JSON.stringify(body),
        });
      } catch (error) {
        if (!(error instanceof AcmeProblem) || error.type !== "badNonce" || left <= 1) throw error;
      }
    }
  }

  /** Each answer brings one; it serves once. */
  async #takeNonce(): Promise<string> {
    const { newNonce } = await this.#open();
    if (this.#nonce === null) await this.#ask(newNonce, { method: "HEAD" });
    const nonce = this.#nonce;
    this.#nonce = null;
    if (nonce === null) throw new AcmeProblem("badAnswer", "it gives no nonce");
    return nonce;
  }

  /** Throws AcmeProblem for whatever is not the answer. */
  async #ask(url: string, init: RequestInit): Promise<Answer> {
    const { ca, signal, fetch: call } = this.#options;
    try {
      const response = await call(url, {
        ...init,
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        ...(ca === null ? {} : { tls: { ca } }),
      });
      const nonce = response.headers.get("replay-nonce");
      // RFC 8555 §6.5.1; it goes into our next signature.
      if (nonce !== null && /^[\w-]{1,1024}$/.test(nonce)) this.#nonce = nonce;
      const body = await readBody(response);
      if (response.ok) return { body, headers: response.headers };
      throw this.#refuse(response, body);
    } catch (error) {
      if (error instanceof AcmeProblem) throw error;
      const host = new URL(url).host;
      throw new AcmeProblem("noAnswer", `${host} does not answer (${getErrorMessage(error)})`, { cause: error });
    }
  }

  #refuse(response: Response, body: string): AcmeProblem {
    const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") === true;
    const retryAfterMs = this.#readRetryAfter(response.headers);
    if (isProblem) return readProblem(parseJson(body), retryAfterMs);
    const where = response.status >= 300 && response.status < 400 ? ", which is a redirection and not followed" : "";
    return new AcmeProblem("badAnswer", `${response.url} answers ${response.status}${where}`, { retryAfterMs });
  }

  #readOrder(url: string, answer: Answer): Order {
    const { status, authorizations, finalize, certificate, error } = parse(answer);
    return {
      url,
      status: status as Order["status"],
      authorizations: (Array.isArray(authorizations) ? authorizations : []).map((each) =>
        this.#requireUrl(each, "the address of an authorization"),
      ),
      finalize: this.#requireUrl(finalize, "finalize"),
      certificate: certificate === undefined ? null : this.#requireUrl(certificate, "the address of the certificate"),
      error: error === undefined ? null : readProblem(error),
      retryAfterMs: this.#readRetryAfter(answer.headers),
    };
  }

  /** An authority leads to https only: what is asked there is signed, and what comes is trusted. */
  #requireUrl(value: unknown, what: string): string {
    const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
    if (url?.protocol === "https:") return url.href;
    throw new AcmeProblem(
      "badAnswer",
      `${new URL(this.#options.directory).host} is no ACME directory: ${what} is missing or is not https`,
    );
  }

  #readRetryAfter(headers: Headers): number | null {
    const value = headers.get("retry-after");
    if (value === null) return null;
    const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - this.#options.now()) / 1_000;
    return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_S) * 1_000 : null;
  }
}

async function readBody({ body, url }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES)
      throw new AcmeProblem("badAnswer", `${url} answers more than ${MAX_ANSWER_BYTES / 1024} KiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse({ body }: Answer): Record<string, unknown> {
  return asRecord(parseJson(body));
}

/** Undefined: it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
