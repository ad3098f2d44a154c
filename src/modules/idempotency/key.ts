import { getBodyHash } from "../../platform/http/body/read.ts";

const KEPT_CHARACTERS = 255;

/** The idempotency headers of a send. */
export interface IdempotencyRequest {
  key: string;
  /** SHA-256 of the body as it came. */
  requestHash: Buffer;
  /** Idempotency-Strict: another body under the same key is refused. */
  isStrict: boolean;
}

/** Idempotency-Key (or X-Idempotency-Key), trimmed, its first 255 characters; null when there is none. */
export function readIdempotency(request: Request): IdempotencyRequest | null {
  const key = keyIn(request, "idempotency-key") ?? keyIn(request, "x-idempotency-key");
  if (key === null) return null;
  const requestHash = getBodyHash(request);
  return { key, requestHash, isStrict: request.headers.get("idempotency-strict")?.trim().toLowerCase() === "true" };
}

/** Whether the request may have a key. */
export function hasIdempotencyHeader({ headers }: Request): boolean {
  return headers.has("idempotency-key") || headers.has("x-idempotency-key");
}

function keyIn(request: Request, header: string): string | null {
  const given = decoded(request.headers.get(header) ?? "").trim();
  return given === "" ? null : [...given].slice(0, KEPT_CHARACTERS).join("");
}

const NOT_ASCII = /[^\0-\x7f]/;
const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/** A header's value has a character for each byte. Characters are counted, and space trimmed, in the text that was meant. */
function decoded(value: string): string {
  if (!NOT_ASCII.test(value)) return value;
  try {
    return UTF_8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}
