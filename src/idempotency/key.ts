import { createHash } from "node:crypto";
import { rawBodyOf } from "../http/body.ts";

const KEPT_CHARACTERS = 255;

/** What the headers of a send say of idempotency. */
export interface IdempotencyRequest {
  key: string;
  /** SHA-256 of the body as it came. */
  requestHash: Buffer;
  /** Idempotency-Strict: another body under the same key is refused. */
  isStrict: boolean;
}

/** Idempotency-Key (or X-Idempotency-Key), trimmed, its first 255 characters; null when there is none. */
export function idempotencyOf(request: Request): IdempotencyRequest | null {
  const key = keyIn(request, "idempotency-key") ?? keyIn(request, "x-idempotency-key");
  if (key === null) return null;
  const requestHash = createHash("sha256").update(rawBodyOf(request)).digest();
  return { key, requestHash, isStrict: request.headers.get("idempotency-strict")?.trim().toLowerCase() === "true" };
}

function keyIn(request: Request, header: string): string | null {
  const given = request.headers.get(header)?.trim() ?? "";
  return given === "" ? null : [...given].slice(0, KEPT_CHARACTERS).join("");
}
