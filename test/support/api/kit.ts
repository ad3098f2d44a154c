import { connect } from "node:net";
import { expect } from "bun:test";
import { type FakeClock, fakeClock } from "../fakes/clock.ts";
import {
  type Answer,
  type Client,
  type Instance,
  type InstanceOptions,
  type Json,
  startInstance,
} from "../fakes/instance.ts";

/** RFC 9562 §5.7. */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** ISO 8601, UTC, with milliseconds. */
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** A well-formed id that nobody has. */
export const UNKNOWN_ID = "0198a5a0-0000-7000-8000-000000000000";

export interface HeldInstance extends AsyncDisposable {
  pombo: Instance;
  clock: FakeClock;
  /** Lets what was accepted come to its end, then moves the time on. */
  advance(ms: number): Promise<void>;
  /** Ends the app and starts it again on the same data, after what is done `between`; that takes some milliseconds of its time. */
  restart(between?: () => void): Promise<void>;
}

/** An instance whose time stands still at `startMs`. */
export async function startHeld(startMs: number, options: Omit<InstanceOptions, "clock"> = {}): Promise<HeldInstance> {
  const clock = fakeClock(startMs);
  const pombo = await startInstance({ ...options, clock });
  return {
    pombo,
    clock,
    async advance(ms) {
      await pombo.app.worker.idle();
      clock.advance(ms);
    },
    restart: (between) => whileTimePasses(clock, pombo.restart(between)),
    [Symbol.asyncDispose]: () => whileTimePasses(clock, pombo[Symbol.asyncDispose]()),
  };
}

/** What ends a stop's grace and an attempt's waits is a timer too. */
async function whileTimePasses(clock: FakeClock, ending: Promise<void>): Promise<void> {
  let isEnded = false;
  const watched = ending.finally(() => (isEnded = true));
  while (!isEnded) {
    clock.advance(1);
    await new Promise<void>((next) => setImmediate(next));
  }
  await watched;
}

/** What an error item must be; a pattern where the words may change. */
export interface ExpectedFault {
  code?: string;
  field?: string;
  path?: string;
  message?: string | RegExp;
}

/** The answer has this status and exactly these error items, in any order, each in the form of the API. */
export function expectErrors(answer: Answer, status: number, expected: ExpectedFault[]): void {
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  const items = errorItems(answer);
  const seen = items.map(({ code, field, path }) => [code, field, path].join(" "));
  const wanted = expected.map(({ code = "VALIDATION_ERROR", field, path }) => [code, field, path].join(" "));
  expect(seen.toSorted()).toEqual(wanted.toSorted());
  for (const { message, field, path } of expected) {
    const item = items.find((one) => one.field === field && one.path === path);
    if (message !== undefined) expect(item?.message).toMatch(message);
  }
}

export interface Item {
  code: string;
  message: string;
  field?: string;
  path?: string;
  hint?: string;
}

/** The items of an error answer, after a look at their form. */
export function errorItems(answer: Answer): Item[] {
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(answer.headers.get("x-request-id")).toMatch(UUID_V7);
  expect(Object.keys(answer.body ?? {})).toEqual(["errors"]);
  const items = answer.body.errors as Item[];
  expect(items.length).toBeGreaterThan(0);
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      expect(["code", "message", "field", "path", "hint"]).toContain(name);
      expect(typeof value).toBe("string");
    }
    expect(item.code).toMatch(/^[A-Z][A-Z_]+$/);
    expect(item.message.length).toBeGreaterThan(5);
    // Nothing of the inside: no stack, SQL or file path.
    expect(item.message).not.toMatch(/\bat .+:\d+:\d+|SELECT |INSERT |SQLITE|\/src\/|node_modules/);
    // A hint is one or two whole sentences.
    if (item.hint !== undefined) expect(item.hint).toMatch(/^["A-Z`].+\.$/s);
  }
  return items;
}

/** How many emails a client sees in all. */
export async function totalOf(client: Client): Promise<number> {
  const { body } = await client.call("GET", "/api/v1/emails?limit=1");
  return body.meta.total;
}

/** Without these members. */
export function omit(value: Record<string, unknown>, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** Sends these bytes over a connection of their own, to a URL or a socket's path; resolves with the first answer, or what came until the end. */
export function exchange(base: string, ...pieces: (string | Uint8Array)[]): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const socket = base.startsWith("/") ? connect(base) : connect(Number(new URL(base).port), "127.0.0.1");
  let received: Buffer = Buffer.alloc(0);
  const finish = () => {
    socket.destroy();
    resolve(readAnswer(received));
  };
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (isWhole(received)) finish();
  });
  socket.on("error", (error) => (received.length > 0 ? finish() : reject(error)));
  socket.on("end", finish);
  for (const piece of pieces) socket.write(piece);
  return promise;
}

/** The head of a request, with its blank line. */
export function head(line: string, headers: Record<string, string | number>): string {
  const all = { Host: "localhost", ...headers };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

function isWhole(received: Buffer): boolean {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /^content-length: *(\d+)/im.exec(received.subarray(0, end).toString())?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}

function readAnswer(received: Buffer): Answer {
  const bodyAt = received.indexOf("\r\n\r\n") + 4;
  const [status = "", ...lines] = received
    .subarray(0, bodyAt - 4)
    .toString()
    .split("\r\n");
  const headers = new Headers(lines.map((line) => splitOnce(line, ": ")));
  const length = Number(headers.get("content-length") ?? received.length);
  const text = received.subarray(bodyAt, bodyAt + length).toString();
  let body: Json = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not every answer has a body of JSON.
  }
  return { status: Number(status.split(" ")[1] ?? 0), headers, text, body };
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + by.length)];
}
