import { Elysia } from "elysia";
import { AppError } from "../errors.ts";
import { parseJsonObject } from "./json.ts";
import { pathOf } from "./path.ts";

// Reading a request's body: its type, its length (announced or not), JSON. Elysia would answer a
// malformed body with a bare SyntaxError once `aot` is off, and Bun's own 413 has an empty body.

export interface BodyLimits {
  batchBytes: number;
  sendBytes: number;
  otherBytes: number;
}

/** Bodies over this size are read and parsed only so many at once: parsing one stops the loop for milliseconds. */
const LARGE_BYTES = 1024 * 1024;
const MAX_LARGE_AT_ONCE = 4;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export function bodyPlugin(limits: BodyLimits) {
  const slots = { taken: 0 };
  return new Elysia({ name: "body" })
    .onParse({ as: "global" }, async ({ request }) => {
      // RFC 9110 §9.3.5: the body of a DELETE means nothing.
      if (request.method === "DELETE") return {};
      requireJsonType(request);
      const slot = new LargeSlot(slots);
      try {
        const limit = limitFor(pathOf(request), limits);
        const bytes = await readBody(request, limit, slot).catch(refuseCutOff);
        rawBodies.set(request, bytes);
        return parseJsonObject(bytes);
      } finally {
        slot.release();
      }
    })
    .onTransform({ as: "global" }, ({ request, body }) => {
      // Elysia does not ask the parser about a body that came without a type.
      if (body === undefined && request.body !== null && request.method !== "GET") requireJsonType(request);
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
  const found = type === null ? "of no type" : type.slice(0, 100);
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `The body must be application/json, not ${found}`, {
    hint: "Send the header Content-Type: application/json.",
  });
}

function limitFor(path: string, limits: BodyLimits): number {
  if (/\/emails\/batch\/?$/.test(path)) return limits.batchBytes;
  return /\/emails\/?$/.test(path) ? limits.sendBytes : limits.otherBytes;
}

/** One request's share of the large bodies at once; taken only when its body turns out to be large. */
class LargeSlot {
  readonly #slots: { taken: number };
  #isTaken = false;

  constructor(slots: { taken: number }) {
    this.#slots = slots;
  }

  /** Throws UNAVAILABLE when `length` bytes are many and too many such bodies are being read. */
  takeFor(length: number): void {
    if (this.#isTaken || length <= LARGE_BYTES) return;
    if (this.#slots.taken >= MAX_LARGE_AT_ONCE) {
      throw new AppError("UNAVAILABLE", "Too many large requests at once", {
        retryAfterS: 1,
        hint: "Send it again in a second.",
      });
    }
    this.#slots.taken += 1;
    this.#isTaken = true;
  }

  release(): void {
    if (this.#isTaken) this.#slots.taken -= 1;
    this.#isTaken = false;
  }
}

async function readBody(request: Request, limit: number, slot: LargeSlot): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) > limit) throw tooLarge(limit);
    slot.takeFor(Number(announced));
    return request.bytes();
  }
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    length += chunk.byteLength;
    if (length > limit) throw tooLarge(limit);
    slot.takeFor(length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The client went away in the middle of its body: nobody is left to read an answer, and it is no bug. */
function refuseCutOff(error: unknown): never {
  if ((error as Error).name !== "AbortError") throw error;
  throw new AppError("INVALID_JSON", "The body ended before its announced length");
}

function tooLarge(limit: number): AppError {
  const isBatch = limit > 16 * 1024 * 1024;
  return new AppError(
    "PAYLOAD_TOO_LARGE",
    `The body is larger than ${Math.floor(limit / 1024).toLocaleString("en")} KiB`,
    {
      hint: isBatch ? "Split the batch." : "Send less in one request.",
    },
  );
}
