import { connect, type Socket } from "node:net";
import { expect, test } from "bun:test";
import { type FakeClock, fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, head } from "../../support/api/kit.ts";

// Bodies that are begun and held open: what they cost others, and how they end.

const EMAILS = "/api/v1/emails";
const MIB = 1024 * 1024;
/** So little that the pool is at its least: 4 MiB, of which one workspace has two. */
const LITTLE_MEMORY = 256 * MIB;

interface Held {
  socket: Socket;
  /** The head and body of its answer, once there is one. */
  answer: Promise<string>;
}

/** Begins a body of 3 MiB, of which `sent` bytes come. */
function hold(pombo: Instance, key: string, sent: number): Held {
  const socket = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
  const answer = new Promise<string>((resolve) => {
    let heard = "";
    socket.on("data", (bytes) => {
      heard += bytes.toString();
      if (heard.includes("}]}")) resolve(heard);
    });
  });
  socket.on("error", () => undefined);
  const headers = { "X-API-Key": key, "Content-Type": "application/json", "Content-Length": 3 * MIB };
  socket.write(head(`POST ${EMAILS}`, headers));
  socket.write(Buffer.alloc(sent, 32));
  return { socket, answer };
}

/** A body of `length` bytes, refused for its subject once it was read: nothing is left to do. */
function padded(pombo: Instance, length: number): string {
  const body = JSON.stringify(pombo.email({ subject: "" }));
  return body + " ".repeat(length - body.length);
}

async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((next) => setImmediate(next));
}

function startPoor(clock?: FakeClock): Promise<Instance> {
  return startInstance({ memory: LITTLE_MEMORY, ...(clock === undefined ? {} : { clock }) });
}

test("idle connections that announce much take no place from anybody", async () => {
  await using pombo = await startPoor();
  const others = [await pombo.newWorkspace(), await pombo.newWorkspace()];
  const held = others.flatMap(({ key }) => [1, 2, 3].map(() => hold(pombo, key, 1)));
  const large = padded(pombo, 5 * MIB);
  for (const { key } of [pombo.workspace, ...others]) {
    const answer = await pombo.workspace.call("POST", EMAILS, { rawBody: large, key });
    expect(answer.status).toBe(422);
  }
  for (const { socket } of held) socket.destroy();
  expect(pombo.bugs).toEqual([]);
});

test("bodies held open by one workspace keep no other's large request from being served", async () => {
  const clock = fakeClock(Date.now());
  const pombo = await startPoor(clock);
  const attacker = await pombo.newWorkspace();
  const held = Array.from({ length: 40 }, () => hold(pombo, attacker.key, MIB));
  const refused = await Promise.race(held.map(({ answer }) => answer));
  expect(refused).toContain("503 Service Unavailable");
  expect(refused).toMatch(/retry-after: 5/i);
  // What others send is small, or waits for the one in the seat, who has 5 s.
  expect((await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ subject: "" }) })).status).toBe(422);
  let served = 0;
  const requests = [1, 2, 3].map(async () => {
    const answer = await pombo.workspace.call("POST", EMAILS, { rawBody: padded(pombo, 5 * MIB) });
    expect([answer.status, answer.text]).toEqual([422, expect.any(String)]);
    served += 1;
  });
  while (served < 3) {
    await turns();
    clock.advance(200);
  }
  await Promise.all(requests);
  for (const { socket } of held) socket.destroy();
  const ending = pombo[Symbol.asyncDispose]();
  let isEnded = false;
  void ending.then(() => (isEnded = true));
  while (!isEnded) {
    clock.advance(1);
    await turns(1);
  }
  expect(pombo.bugs).toEqual([]);
});

test("large bodies of one workspace at once are served one after another", async () => {
  await using pombo = await startPoor();
  const sent = await Promise.all(
    Array.from({ length: 6 }, () => pombo.workspace.call("POST", EMAILS, { rawBody: padded(pombo, 8 * MIB) })),
  );
  expect(sent.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422, 422]);
});

test("a body that comes too slowly is 408, whatever its length, and its connection is closed", async () => {
  const clock = fakeClock(Date.now());
  await using pombo = await startInstance({ clock });
  const { key } = pombo.workspace;
  const timers = clock.pending;
  const idle = hold(pombo, key, 1);
  const small = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
  const heard = new Promise<string>((resolve) => small.once("data", (bytes) => resolve(bytes.toString())));
  const closed = new Promise<void>((resolve) => small.once("close", () => resolve()));
  small.write(head(`POST ${EMAILS}`, { "X-API-Key": key, "Content-Type": "application/json", "Content-Length": 500 }));
  while (clock.pending < timers + 2) await turns(1);
  clock.advance(14_000);
  // Each byte is worth its time, and no more.
  expect((await pombo.workspace.call("POST", EMAILS, { rawBody: "{" })).status).toBe(400);
  clock.advance(1_001);
  for (const answer of [await idle.answer, await heard]) {
    expect(answer).toStartWith("HTTP/1.1 408");
    expect(answer).toContain("REQUEST_TIMEOUT");
    expect(answer).toMatch(/connection: close/i);
  }
  await closed;
  expect(pombo.bugs).toEqual([]);
});

test("a chunked body is 413 the moment that it passes the limit", async () => {
  await using pombo = await startInstance();
  const answered = new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
    socket.once("data", (bytes) => {
      resolve(bytes.toString());
      socket.destroy();
    });
    const headers = {
      "X-API-Key": pombo.workspace.key,
      "Content-Type": "application/json",
      "Transfer-Encoding": "chunked",
    };
    // The chunk never ends.
    socket.write(`${head("POST /api/v1/domains", headers)}${MIB.toString(16)}\r\n${" ".repeat(65 * 1024)}`);
  });
  expect(await answered).toStartWith("HTTP/1.1 413");
});

test("a batch larger than the memory bears is 413 before any of it comes, whatever the configuration allows", async () => {
  await using pombo = await startPoor();
  const answerTo = (length: number) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
      socket.once("data", (bytes) => {
        resolve(bytes.toString());
        socket.destroy();
      });
      const headers = {
        "X-API-Key": pombo.workspace.key,
        "Content-Type": "application/json",
        "Content-Length": length,
        // One that is not refused is asked for.
        Expect: "100-continue",
      };
      socket.write(head(`POST ${EMAILS}/batch`, headers));
    });
  expect(await answerTo(20 * MIB)).toStartWith("HTTP/1.1 100");
  const refused = await answerTo(20 * MIB + 1);
  expect(refused).toContain("HTTP/1.1 413");
  expect(refused).toContain("larger than 20,480 KiB");
});

test("with memory for it, large bodies do not wait for each other", async () => {
  await using pombo = await startInstance({ memory: 16_384 * MIB });
  const held = hold(pombo, pombo.workspace.key, 2 * MIB);
  const answer = await pombo.workspace.call("POST", EMAILS, { rawBody: padded(pombo, 5 * MIB) });
  expectErrors(answer, 422, [{ field: "subject" }]);
  expect(errorItems(answer)).toHaveLength(1);
  held.socket.destroy();
});
