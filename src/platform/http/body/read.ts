// Reads a request's body: its type, its length (announced or not), its JSON.

import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import type { Clock } from "../../clock.ts";
import { AppError } from "../../errors.ts";
import { freeOctets } from "../../free-octets.ts";
import type { BodyAccount, BodyBudget } from "./budget.ts";
import { parseJsonObject, type ParsedBody } from "./json.ts";
import { getPath } from "../path.ts";

// With `aot` off Elysia would answer a malformed body with a bare SyntaxError, and Bun's own 413 has an empty body.

export interface BodyLimits {
  batchBytes: number;
  sendBytes: number;
  otherBytes: number;
}

/** A body announced as no longer than this is read in one piece, and counted before it comes. */
const WHOLE_BYTES = 64 * 1024;
/** Of a large one. */
const LARGE_BYTES = 4 * 1024 * 1024;
/** A body may come this late, */
const GRACE_MS = 15_000;
/** and must come this fast otherwise; time in which it waited for room does not count. */
const BYTES_PER_MS = 32;

/** `application/json` or `application/…+json`, of the characters of a token (RFC 9110 §5.6.2), with parameters or none. */
const JSON_TYPE = /^application\/(?:[\w!#$%&'*+.^`|~-]+\+)?json\s*(?:;|$)/i;

export interface BodyDeps {
  clock: Clock;
  /** The owner of a request, for its share of the budget. */
  getOwner: (request: Request) => string;
  /** For all bodies that are read or in use. */
  budget: BodyBudget;
  /** Whether somebody asks for a body's hash: that of a large one is made as it comes. */
  isHashed: (request: Request) => boolean;
  /** Called when the body has come; throws when its sender's key is no longer valid. */
  arrived?: (request: Request) => void;
}

export function bodyPlugin(limits: BodyLimits, deps: BodyDeps) {
  return new Elysia({ name: "body" })
    .onParse({ as: "global" }, async ({ request }) => {
      if (isIgnored(request)) return {};
      requireJsonType(request);
      const account = deps.budget.open(deps.getOwner(request));
      const body: Body = { account, hash: NOTHING.hash };
      bodies.set(request, body);
      const { value, leftBytes } = await readObject(request, body, findBodyLimit(getPath(request), limits), deps);
      account.finishParsing(leftBytes);
      return value;
    })
    .onTransform({ as: "global" }, ({ request, body }) => {
      // Elysia does not ask the parser about a body that came without a type.
      if (body === undefined && request.body !== null && request.method !== "GET" && !isIgnored(request))
        requireJsonType(request);
    });
}

/** `hash`: SHA-256 of the body as it came; the bytes of a large one are not kept. */
type Body = Pick<Read, "hash"> & { account: BodyAccount; large?: Uint8Array };

const NO_BYTES = new Uint8Array();
const NOTHING: Read = { bytes: NO_BYTES, hash: () => computeHash(NO_BYTES) };

/** Each until its request is answered. */
const bodies = new WeakMap<Request, Body>();

/** SHA-256 of a body that was parsed, as it came. Throws for a large one that is not to be hashed. */
export function getBodyHash(request: Request): Buffer {
  return (bodies.get(request) ?? NOTHING).hash();
}

/** The request is answered: its body's memory is free. */
export function releaseBody(request: Request): void {
  const body = bodies.get(request);
  if (body === undefined) return;
  bodies.delete(request);
  if (body.large !== undefined) freeOctets(body.large);
  body.account.release();
}

/** RFC 9110 §9.3.5: the body of a DELETE means nothing. RFC 8058 §3.2: the POST that unsubscribes comes as any type of form. */
function isIgnored(request: Request): boolean {
  return request.method === "DELETE" || getPath(request).startsWith("/u/");
}

function requireJsonType(request: Request): void {
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding !== "" && encoding !== "identity") {
    const message = `The body must not be compressed; it came as ${encoding.slice(0, 100)}`;
    const hint = "Send it as it is, without the header Content-Encoding.";
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", message, { hint });
  }
  const type = request.headers.get("content-type");
  if (type !== null && JSON_TYPE.test(type)) return;
  throw notJsonType(type);
}

export function notJsonType(type: string | null): AppError {
  const found = type === null ? "it came without a Content-Type" : `it came as ${type.slice(0, 100)}`;
  return new AppError("UNSUPPORTED_MEDIA_TYPE", `The body must be application/json; ${found}`, {
    hint: "Send the header Content-Type: application/json.",
  });
}

const BATCH_PATH = /\/emails\/batch\/?$/;

/** How large a body may be at this path. */
export function findBodyLimit(path: string, limits: BodyLimits): number {
  if (BATCH_PATH.test(path)) return limits.batchBytes;
  // Five hundred of the longest addresses are more than other requests may hold.
  return /\/(emails|suppressions\/import|workspace\/preview)\/?$/.test(path) ? limits.sendBytes : limits.otherBytes;
}

/** A function of its own: when it has returned nothing holds the bytes, and finishParsing can free them. */
async function readObject(request: Request, body: Body, limit: number, deps: BodyDeps): Promise<ParsedBody> {
  const { account } = body;
  const reading = { account, clock: deps.clock, isHashed: deps.isHashed(request) };
  const { bytes, hash } = await readBody(request, limit, reading);
  body.hash = hash;
  if (bytes.length >= LARGE_BYTES) body.large = bytes;
  account.finishReading();
  deps.arrived?.(request);
  return parseJsonObject(bytes);
}

function computeHash(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function notHashed(): never {
  throw new Error("this body was not to be hashed");
}

interface Reading extends Pick<BodyDeps, "clock"> {
  account: BodyAccount;
  isHashed: boolean;
}

interface Read {
  bytes: Uint8Array;
  hash: () => Buffer;
}

/** Rejects also when the body comes too slowly, or keeps others from the seat. */
async function readBody(request: Request, limit: number, reading: Reading): Promise<Read> {
  const header = request.headers.get("content-length");
  const announced = header !== null && /^\d+$/.test(header) ? Number(header) : null;
  if (announced !== null && announced > limit) throw tooLarge(limit, getPath(request));
  try {
    if (announced !== null && announced <= WHOLE_BYTES) {
      const bytes = await readWhole(request, announced, reading);
      return { bytes, hash: () => computeHash(bytes) };
    }
    if (request.body === null) return NOTHING;
    return await readPieces(request.body as ReadableStream<Uint8Array>, announced, { ...reading, limit, request });
  } catch (error) {
    throw (error as Error).name === "AbortError" ? cutOff() : error;
  }
}

async function readWhole(request: Request, length: number, { account, clock }: Reading): Promise<Uint8Array> {
  const room = account.draw(length, length);
  if (room !== null) await room;
  return new Promise((resolve, reject) => {
    const cancel = clock.after(GRACE_MS, () => reject(tooSlow()));
    account.whenEvicted(reject);
    // Not resolve(promise): that would settle for it, and no deadline could end the wait.
    void request.bytes().then(resolve, reject).finally(cancel);
  });
}

/** Counts bytes as they come, so that Bun holds no more of them than of a body that waits. */
async function readPieces(
  body: ReadableStream<Uint8Array>,
  announced: number | null,
  { account, clock, isHashed, limit, request }: Reading & { limit: number; request: Request },
): Promise<Read> {
  const ended = Promise.withResolvers<never>();
  account.whenEvicted(ended.reject);
  const pace = new Pace(clock, () => ended.reject(tooSlow()));
  const reader = body.getReader();
  const pieces = new Pieces(announced);
  const sum = isHashed ? createHash("sha256") : null;
  let length = 0;
  try {
    for (;;) {
      // One after another: the next piece is not read before this one has room.
      const { done, value } = await Promise.race([reader.read(), ended.promise]);
      if (done) {
        const hash = sum?.digest();
        return { bytes: pieces.join(), hash: () => hash ?? notHashed() };
      }
      length += value.byteLength;
      // The server takes no more than was announced.
      if (length > (announced ?? limit)) throw tooLarge(limit, getPath(request));
      const room = account.draw(value.byteLength, (announced ?? limit) - length);
      if (room !== null) await pace.pausedFor(room);
      const { byteLength } = value;
      sum?.update(value);
      pieces.add(value);
      pace.came(byteLength);
    }
  } catch (error) {
    // The rest is thrown away.
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    pace.end();
  }
}

/** The pieces of a body. Those of a large one are written to their place as they come: joined at the end they would be in memory twice. */
class Pieces {
  readonly #announced: number | null;
  readonly #pieces: Uint8Array[] = [];
  #length = 0;
  #whole: Buffer | null = null;
  #written = 0;

  constructor(announced: number | null) {
    this.#announced = announced;
  }

  /** `piece` is used up. */
  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.byteLength;
    // Not before so much has come: to announce costs nothing.
    if (this.#announced === null || this.#length < LARGE_BYTES) return;
    this.#whole ??= Buffer.allocUnsafeSlow(this.#announced);
    for (const each of this.#pieces.splice(0)) {
      this.#whole.set(each, this.#written);
      this.#written += each.byteLength;
      freeOctets(each);
    }
  }

  join(): Uint8Array {
    return this.#whole?.subarray(0, this.#length) ?? Buffer.concat(this.#pieces, this.#length);
  }
}

/** Whether a body comes fast enough; calls `late` when it does not. */
class Pace {
  readonly #clock: Clock;
  readonly #late: () => void;
  /** When more must have come. */
  #dueAt: number;
  #cancel: () => void;

  constructor(clock: Clock, late: () => void) {
    this.#clock = clock;
    this.#late = late;
    this.#dueAt = clock.now() + GRACE_MS;
    this.#cancel = clock.after(GRACE_MS, () => this.#look());
  }

  came(bytes: number): void {
    this.#dueAt += bytes / BYTES_PER_MS;
  }

  /** Time in which the body waits for room is not its sender's. */
  async pausedFor(waiting: Promise<void>): Promise<void> {
    this.#cancel();
    const leftMs = this.#dueAt - this.#clock.now();
    await waiting;
    this.#dueAt = this.#clock.now() + leftMs;
    this.#look();
  }

  end(): void {
    this.#cancel();
  }

  #look(): void {
    const leftMs = this.#dueAt - this.#clock.now();
    if (leftMs > 0) this.#cancel = this.#clock.after(leftMs, () => this.#look());
    else this.#late();
  }
}

export function tooSlow(): AppError {
  return new AppError("REQUEST_TIMEOUT", "The body came too slowly", {
    hint: `A body must come at ${BYTES_PER_MS} KB a second, after ${GRACE_MS / 1000} seconds of grace: send less in one request.`,
  });
}

/** The client closed the connection within its body: nobody reads the answer, and it is no internal error. */
function cutOff(): AppError {
  return new AppError("INVALID_JSON", "The body ended before its announced length");
}

export function tooLarge(limit: number, path: string): AppError {
  const hint = BATCH_PATH.test(path) ? "Split the batch." : "Send less in one request.";
  const message = `The body is larger than ${Math.floor(limit / 1024).toLocaleString("en")} KiB`;
  return new AppError("PAYLOAD_TOO_LARGE", message, { hint });
}
