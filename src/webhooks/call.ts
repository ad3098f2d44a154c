import type { Clock } from "../clock.ts";
import type { Target } from "./target.ts";

// One HTTP call to a receiver. The address that was judged is the one dialled: the URL that is fetched
// holds it in place of the name, which goes into the header Host and into TLS, where the certificate is
// verified against it. Redirects are not followed: they would lead past every check.

/** For the whole call, its answer's end included. */
const TIMEOUT_MS = 15_000;
/** Of the answer's body: more is not read. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** Of it, what a failure shows. */
const SHOWN_CHARACTERS = 200;
const MAX_ERROR = 500;

export interface Call {
  target: Target;
  address: string;
  headers: Record<string, string>;
  body: string;
}

export type CallResult =
  /** `text`: the beginning of its body, cleaned. `retryAfter`: that header as it came. */
  | { kind: "answer"; status: number; text: string; retryAfter: string | null }
  | { kind: "broken"; reason: string; isTimeout: boolean };

export interface CallParts {
  clock: Pick<Clock, "after">;
  /** For laboratories: further authorities, PEM. */
  authorities?: string;
}

/** Makes the call; never rejects. `stopping` ends it early. */
export async function call(request: Call, stopping: AbortSignal, parts: CallParts): Promise<CallResult> {
  const ending = new AbortController();
  let isLate = false;
  const cancel = parts.clock.after(TIMEOUT_MS, () => {
    isLate = true;
    ending.abort();
  });
  const stop = () => ending.abort();
  stopping.addEventListener("abort", stop);
  try {
    if (stopping.aborted) return { kind: "broken", reason: "pombo was stopped", isTimeout: false };
    const response = await fetch(urlOf(request), optionsOf(request, ending.signal, parts));
    const text = await beginningOf(response);
    return { kind: "answer", status: response.status, text, retryAfter: response.headers.get("retry-after") };
  } catch (error) {
    if (isLate) return { kind: "broken", reason: `no answer within ${TIMEOUT_MS / 1000} s`, isTimeout: true };
    if (stopping.aborted) return { kind: "broken", reason: "pombo was stopped", isTimeout: false };
    return { kind: "broken", reason: reasonOf(error, request.target), isTimeout: false };
  } finally {
    cancel();
    stopping.removeEventListener("abort", stop);
  }
}

function urlOf({ target, address }: Call): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return `${target.isSecure ? "https" : "http"}://${host}:${target.port}${target.path}`;
}

function optionsOf({ target, headers, body }: Call, signal: AbortSignal, parts: CallParts): BunFetchRequestInit {
  const { authorities } = parts;
  return {
    method: "POST",
    body,
    headers: { ...headers, host: target.host, "content-type": "application/json" },
    redirect: "manual",
    // A compressed answer must not grow without a bound.
    decompress: false,
    signal,
    ...(target.isSecure
      ? { tls: { serverName: target.hostname, ...(authorities === undefined ? {} : { ca: authorities }) } as object }
      : {}),
  };
}

/** At most so much is read; the rest is given up with its connection. */
async function beginningOf(response: Response): Promise<string> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    chunks.push(value);
    if (length > MAX_ANSWER_BYTES) {
      await reader.cancel();
      break;
    }
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString("utf8");
  return clean(text).slice(0, SHOWN_CHARACTERS);
}

/** Words from outside, on one line. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
}

/** What went wrong, in words that hold the receiver's name and not our address of it. */
function reasonOf(error: unknown, target: Target): string {
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
