// One HTTP call to a receiver. The checked address is the one that is dialled, in place of the name, which goes into the
// header Host and into TLS, where the certificate is verified against it. Redirects are not followed: they would lead past
// every check.

import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Clock } from "../../../platform/clock.ts";
import type { Target } from "./target.ts";

/** For the whole call, to the end of the answer. */
const TIMEOUT_MS = 15_000;
/** More of an answer's body is not read. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** A failure shows so much of it. */
const SHOWN_CHARACTERS = 200;
/** A delivery keeps so much of it. */
export const KEPT_BYTES = 1024;
const MAX_ERROR = 500;
/** Connections kept open to one receiver, and for how long. */
const MAX_IDLE = 16;
const IDLE_MS = 20_000;

export interface Call {
  target: Target;
  address: string;
  headers: Record<string, string>;
  /** Null: a GET without one. */
  body: string | null;
}

export type CallResult =
  /** `text`: the beginning of its body, on one line. `body`: more of it, in lines. `retryAfter`: that header as it came. */
  | { kind: "answer"; status: number; text: string; body: string; retryAfter: string | null }
  | { kind: "broken"; reason: string; isTimeout: boolean };

/** Makes calls; connections are reused. */
export interface Caller {
  /** Never rejects. `stopping` ends it early. */
  call(request: Call, stopping: AbortSignal): Promise<CallResult>;
  /** Ends open connections. */
  close(): void;
}

export interface CallerDeps {
  clock: Pick<Clock, "after">;
  /** Further certificate authorities, for tests: PEM. */
  authorities?: string;
}

// By node:http and not by fetch: the runtime allows 256 fetches at once, and nine hundred receivers that hang would stop
// all others. node:http also knows no proxies, which would dial for us.
export function createCaller(deps: CallerDeps): Caller {
  const options = { keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS };
  const agents = { plain: new HttpAgent(options), secure: new HttpsAgent(options) };
  return {
    async call(request, stopping) {
      if (stopping.aborted) return STOPPED;
      const { promise, resolve } = Promise.withResolvers<CallResult>();
      const sent = begin(request, agents, deps);
      const end = (result: CallResult) => {
        resolve(result);
        sent.destroy();
      };
      const cancel = deps.clock.after(TIMEOUT_MS, () =>
        end(brokenCall(`no answer within ${TIMEOUT_MS / 1000} s`, true)),
      );
      const stop = () => end(STOPPED);
      stopping.addEventListener("abort", stop);
      const fail = (error: unknown) => end(brokenCall(describeError(error, request.target)));
      sent.on("error", fail);
      sent.on("upgrade", () => end(brokenCall("it changed the protocol")));
      // It fails when the body is cut off.
      sent.on("response", (response) => void readAnswer(response).then(resolve, fail));
      sent.end(request.body ?? undefined);
      const result = await promise;
      cancel();
      stopping.removeEventListener("abort", stop);
      return result;
    },
    close() {
      agents.plain.destroy();
      agents.secure.destroy();
    },
  };
}

export function brokenCall(reason: string, isTimeout = false): CallResult {
  return { kind: "broken", reason, isTimeout };
}

const STOPPED = brokenCall("pombo was stopped");

function begin(
  { target, address, headers, body }: Call,
  agents: { plain: HttpAgent; secure: HttpsAgent },
  { authorities }: CallerDeps,
): ClientRequest {
  const options = {
    host: address,
    port: target.port,
    path: target.path,
    method: body === null ? "GET" : "POST",
    headers: {
      ...headers,
      host: target.host,
      ...(body === null
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    },
  };
  if (!target.isSecure) return httpRequest({ ...options, agent: agents.plain });
  // An address has no name to ask for; its certificate must carry the address.
  const name = target.isAddress ? {} : { servername: target.hostname };
  return httpsRequest({
    ...options,
    ...name,
    agent: agents.secure,
    ...(authorities === undefined ? {} : { ca: authorities }),
  });
}

/** Reads the beginning of the body; a longer answer costs its connection. */
async function readAnswer(response: IncomingMessage): Promise<CallResult> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    chunks.push(chunk);
    if (length > MAX_ANSWER_BYTES) break;
  }
  if (length > MAX_ANSWER_BYTES) response.destroy();
  const bytes = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES);
  return {
    kind: "answer",
    status: response.statusCode ?? 0,
    text: clean(bytes.toString("utf8")).slice(0, SHOWN_CHARACTERS),
    body: cleanLines(bytes.subarray(0, KEPT_BYTES)),
    retryAfter: response.headers["retry-after"] ?? null,
  };
}

/** Foreign text, on one line. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
}

/** Foreign text as it is kept: its lines and tabs stay; controls and marks that change the direction of text do not. */
function cleanLines(bytes: Buffer): string {
  // In the mode of streams a character that is cut off at the end is left out.
  const text = new TextDecoder().decode(bytes, { stream: true });
  return text.replaceAll("\r\n", "\n").replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, "\uFFFD");
}

/** For people: with the receiver's name and not its address. */
function describeError(error: unknown, target: Target): string {
  const { code, message } = error as { code?: string; message?: string };
  const where = target.host;
  switch (code) {
    case "ConnectionRefused":
    case "ECONNREFUSED":
      return `${where} refused the connection`;
    case "ECONNRESET":
    case "ConnectionClosed":
      return `${where} closed the connection without an answer`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `the certificate of ${where} is for another name`;
    case "CERT_HAS_EXPIRED":
      return `the certificate of ${where} has expired`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return `the certificate of ${where} cannot be verified (${code}): its chain must lead to a public authority`;
    default:
      return clean(`${where} could not be called: ${code ?? ""} ${code === undefined ? (message ?? "") : ""}`).slice(
        0,
        MAX_ERROR,
      );
  }
}
