import { Elysia } from "elysia";
import type { Clock } from "../clock.ts";
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
/** Of these, one workspace's: slow uploads of one must not refuse the others' large requests. */
const MAX_LARGE_OF_ONE = 2;
/** A large body holds its place for so long at the most. */
const LARGE_DEADLINE_MS = 60_000;

/** `application/json` or `application/…+json`, of the characters of a token (RFC 9110 §5.6.2), with parameters or none. */
const JSON_TYPE = /^application\/(?:[\w!#$%&'*+.^`|~-]+\+)?json\s*(?:;|$)/i;

export interface BodyParts {
  clock: Clock;
  /** Whose request it is, for the share of large bodies. */
  ownerOf: (request: Request) => string;
  /** Called when the body has come; throws when its sender may not make it any more. */
  arrived?: (request: Request) => void;
}

export function bodyPlugin(limits: BodyLimits, parts: BodyParts) {
  const slots: Slots = { taken: 0, byOwner: new Map() };
  return new Elysia({ name: "body" })
    .onParse({ as: "global" }, async ({ request }) => {
      // RFC 9110 §9.3.5: the body of a DELETE means nothing.
      if (request.method === "DELETE") return {};
      requireJsonType(request);
      const limit = limitFor(pathOf(request), limits);
      const announced = Number(request.headers.get("content-length") ?? Number.NaN);
      if (announced <= Math.min(LARGE_BYTES, limit)) {
        const bytes = await request.bytes().catch(refuseCutOff);
        parts.arrived?.(request);
        rawBodies.set(request, bytes);
        return parseJsonObject(bytes);
      }
      const slot = new LargeSlot(slots, parts.ownerOf(request), parts.clock);
      try {
        const bytes = await slot.withinTime(readBody(request, limit, slot).catch(refuseCutOff));
        parts.arrived?.(request);
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
  const found = type === null ? "it came without a Content-Type" : `it came as ${type.slice(0, 100)}`;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `The body must be application/json; ${found}`, {
    hint: "Send the header Content-Type: application/json.",
  });
}

function limitFor(path: string, limits: BodyLimits): number {
  if (/\/emails\/batch\/?$/.test(path)) return limits.batchBytes;
  // Five hundred addresses of the longest are more than other requests may hold.
  return /\/(emails|suppressions\/import)\/?$/.test(path) ? limits.sendBytes : limits.otherBytes;
}

interface Slots {
  taken: number;
  byOwner: Map<string, number>;
}

/** One request's share of the large bodies at once; taken only when its body turns out to be large. */
class LargeSlot {
  readonly #slots: Slots;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #late = Promise.withResolvers<never>();
  #isTaken = false;
  #cancelDeadline: (() => void) | null = null;

  constructor(slots: Slots, owner: string, clock: Clock) {
    this.#slots = slots;
    this.#owner = owner;
    this.#clock = clock;
    this.#late.promise.catch(() => undefined);
  }

  /** `reading`, or UNAVAILABLE when a large body takes too long to come. */
  withinTime<T>(reading: Promise<T>): Promise<T> {
    return Promise.race([reading, this.#late.promise]);
  }

  /** Throws UNAVAILABLE when `length` bytes are many and too many such bodies are being read. */
  takeFor(length: number): void {
    if (this.#isTaken || length <= LARGE_BYTES) return;
    const own = this.#slots.byOwner.get(this.#owner) ?? 0;
    if (this.#slots.taken >= MAX_LARGE_AT_ONCE || own >= MAX_LARGE_OF_ONE) {
      throw new AppError("UNAVAILABLE", "Too many large requests at once", {
        retryAfterS: 1,
        hint: "Send it again in a second.",
      });
    }
    this.#slots.taken += 1;
    this.#slots.byOwner.set(this.#owner, own + 1);
    this.#isTaken = true;
    this.#cancelDeadline = this.#clock.after(LARGE_DEADLINE_MS, () => this.#late.reject(tooSlow()));
  }

  release(): void {
    this.#cancelDeadline?.();
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#slots.taken -= 1;
    const own = (this.#slots.byOwner.get(this.#owner) ?? 1) - 1;
    if (own > 0) this.#slots.byOwner.set(this.#owner, own);
    else this.#slots.byOwner.delete(this.#owner);
  }
}

function tooSlow(): AppError {
  const seconds = LARGE_DEADLINE_MS / 1000;
  return new AppError("UNAVAILABLE", `The body did not come within ${seconds} s`, {
    retryAfterS: 1,
    hint: "Send less in one request, or over a faster connection.",
  });
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
