import { Elysia } from "elysia";
import { AppError } from "../errors.ts";

// Reading a request's body: its type, its length (announced or not), JSON. Elysia would answer a
// malformed body with a bare SyntaxError once `aot` is off, and Bun's own 413 has an empty body.

export interface BodyLimits {
  batchBytes: number;
  sendBytes: number;
  otherBytes: number;
}

/** Bodies over this size are parsed only so many at once: parsing one stops the loop for milliseconds. */
const LARGE_BYTES = 1024 * 1024;
const MAX_LARGE_AT_ONCE = 4;
/** Nesting deeper than any request of this API; JSON.parse itself survives more. */
const MAX_DEPTH = 32;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export function bodyPlugin(limits: BodyLimits) {
  let large = 0;
  return new Elysia({ name: "body" }).onParse({ as: "global" }, async ({ request }) => {
    requireJsonType(request);
    const path = new URL(request.url).pathname;
    const limit = path.endsWith("/emails/batch") ? limits.batchBytes : path.endsWith("/emails") ? limits.sendBytes : limits.otherBytes;
    const announced = Number(request.headers.get("content-length") ?? Number.NaN);
    if (announced > limit) throw tooLarge(limit);
    const isLarge = !(announced <= LARGE_BYTES);
    if (isLarge && large >= MAX_LARGE_AT_ONCE) {
      throw new AppError("UNAVAILABLE", "Too many large requests at once", { retryAfterS: 1, hint: "Send it again in a second." });
    }
    if (isLarge) large += 1;
    try {
      const bytes = Number.isNaN(announced) ? await readBounded(request, limit) : await request.bytes();
      rawBodies.set(request, bytes);
      return parseObject(bytes);
    } finally {
      if (isLarge) large -= 1;
    }
  });
}

const rawBodies = new WeakMap<Request, Uint8Array>();

/** The bytes of a body that was parsed. */
export function rawBodyOf(request: Request): Uint8Array {
  return rawBodies.get(request) ?? new Uint8Array();
}

function requireJsonType(request: Request): void {
  const type = request.headers.get("content-type");
  if (type !== null && JSON_TYPE.test(type)) return;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `The body must be application/json, not ${type ?? "unnamed"}`, {
    hint: "Send the header Content-Type: application/json.",
  });
}

async function readBounded(request: Request, limit: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    length += chunk.byteLength;
    if (length > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(limit: number): AppError {
  const isBatch = limit > 16 * 1024 * 1024;
  return new AppError("PAYLOAD_TOO_LARGE", `The body is larger than ${Math.floor(limit / 1024).toLocaleString("en")} KiB`, {
    hint: isBatch ? "Split the batch." : "Send less in one request.",
  });
}

function parseObject(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(decoded);
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message.replace(/^JSON Parse error: /, "") : "it is not UTF-8";
    throw new AppError("INVALID_JSON", `The body is not JSON: ${why}`.slice(0, 200));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AppError("INVALID_JSON", "The body must be a JSON object");
  }
  if (isDeeperThan(value, MAX_DEPTH)) throw new AppError("INVALID_JSON", `The body is nested more than ${MAX_DEPTH} levels deep`);
  return value;
}

/** Looks level by level, so that the depth of the input costs no stack. */
function isDeeperThan(value: object, maxDepth: number): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const below: object[] = [];
    for (const holder of level) {
      for (const member of Object.values(holder) as unknown[]) {
        if (typeof member === "object" && member !== null) below.push(member);
      }
    }
    level = below;
  }
  return false;
}
