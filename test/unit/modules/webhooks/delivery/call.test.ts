import { createServer } from "node:net";
import { expect, test } from "bun:test";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { type CallerDeps, type CallResult, createCaller } from "../../../../../src/modules/webhooks/delivery/call.ts";
import type { Target } from "../../../../../src/modules/webhooks/delivery/target.ts";
import { AUTHORITY, RELAY_CERTIFICATE } from "../../../../support/fakes/certificates.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { startReceiver } from "../../../../support/fakes/receiver.ts";

const RUNNING = new AbortController().signal;

function targetAt(port: number, change: Partial<Target> = {}): Target {
  return {
    isSecure: false,
    hostname: "hook.test",
    isAddress: false,
    port,
    path: "/hook?a=b",
    host: `hook.test:${port}`,
    ...change,
  };
}

async function post(target: Target, parts: CallerDeps = { clock: systemClock }): Promise<CallResult> {
  const caller = createCaller(parts);
  const request = { target, address: "127.0.0.1", headers: { "webhook-id": "1" }, body: "{}" };
  const result = await caller.call(request, RUNNING);
  caller.close();
  return result;
}

test("the address given is dialled, and the receiver is asked by its name", async () => {
  await using receiver = startReceiver();
  expect(await post(targetAt(receiver.port))).toEqual({
    kind: "answer",
    status: 204,
    text: "",
    body: "",
    retryAfter: null,
  });
  expect(receiver.calls[0]).toMatchObject({
    path: "/hook",
    body: "{}",
    headers: { host: `hook.test:${receiver.port}` },
  });
});

test("a certificate is verified against the name, not the address, and its authority must be known", async () => {
  await using receiver = startReceiver({ tls: RELAY_CERTIFICATE });
  const secure = targetAt(receiver.port, { isSecure: true, hostname: "relay.test", host: "relay.test" });
  const caller = createCaller({ clock: systemClock, authorities: AUTHORITY });
  const call = (target: Target) => caller.call({ target, address: "127.0.0.1", headers: {}, body: "{}" }, RUNNING);
  expect(await call(secure)).toMatchObject({ kind: "answer", status: 204 });
  // Over the connection that the first call has left open neither.
  expect(await call({ ...secure, hostname: "other.test", host: "other.test" })).toEqual({
    kind: "broken",
    reason: "the certificate of other.test is for another name",
    isTimeout: false,
  });
  caller.close();
  expect(await post(secure)).toMatchObject({ kind: "broken", reason: expect.stringContaining("cannot be verified") });
  expect(receiver.calls).toHaveLength(1);
});

test("of an endless answer a little is read, and nothing of a compressed one is blown up", async () => {
  await using receiver = startReceiver();
  let sent = 0;
  receiver.answer = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(120));
        },
      }),
      { status: 500 },
    );
  const endless = await post(targetAt(receiver.port));
  expect(endless).toMatchObject({ kind: "answer", status: 500, text: "x".repeat(200) });
  expect(sent).toBeLessThan(64 * 1024 * 1024);

  const bomb = Bun.gzipSync(new Uint8Array(50_000_000));
  receiver.answer = () => new Response(bomb, { status: 500, headers: { "content-encoding": "gzip" } });
  const before = process.memoryUsage().rss;
  expect(await post(targetAt(receiver.port))).toMatchObject({ kind: "answer", status: 500 });
  expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000);
});

test("an answer that begins and never ends is late", async () => {
  await using receiver = startReceiver();
  const clock = fakeClock();
  receiver.answer = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array([120]));
          setImmediate(() => clock.advance(15_000));
        },
      }),
    );
  expect(await post(targetAt(receiver.port), { clock })).toEqual({
    kind: "broken",
    reason: "no answer within 15 s",
    isTimeout: true,
  });
});

test("control characters of an answer do not reach who reads of it", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response("a\u0000b\r\n\u001b[31mc\u202Ed", { status: 500 });
  expect(await post(targetAt(receiver.port))).toMatchObject({ text: "a b [31mc d" });
});

test("a receiver that is not there, and one that hangs up, are told apart", async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  expect(await post(targetAt(port))).toMatchObject({
    kind: "broken",
    reason: `hook.test:${port} closed the connection without an answer`,
  });
  await new Promise((resolve) => server.close(resolve));
  expect(await post(targetAt(port))).toEqual({
    kind: "broken",
    reason: `hook.test:${port} refused the connection`,
    isTimeout: false,
  });
});

test("a stop ends a call", async () => {
  await using receiver = startReceiver();
  const ending = new AbortController();
  const never = Promise.withResolvers<Response>();
  receiver.answer = () => {
    ending.abort();
    return never.promise;
  };
  const caller = createCaller({ clock: systemClock });
  const request = { target: targetAt(receiver.port), address: "127.0.0.1", headers: {}, body: "{}" };
  expect(await caller.call(request, ending.signal)).toEqual({
    kind: "broken",
    reason: "pombo was stopped",
    isTimeout: false,
  });
  caller.close();
  never.resolve(new Response());
});

test("an answer that breaks off in the middle is no timeout", async () => {
  const server = createServer((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  expect(await post(targetAt(port))).toMatchObject({ kind: "broken", isTimeout: false });
  await new Promise((resolve) => server.close(resolve));
});

test("the kept beginning of an answer has its lines, and no control character as it came", async () => {
  await using receiver = startReceiver();
  const answered = async (body: string | Uint8Array<ArrayBuffer>) => {
    receiver.answer = () => new Response(body, { status: 500 });
    return (await post(targetAt(receiver.port))) as { body: string };
  };
  expect(await answered("a\u0000b\r\n\tc\u001b[31md\u202Ee\rf")).toMatchObject({
    body: "a\uFFFDb\n\tc\uFFFD[31md\uFFFDe\uFFFDf",
  });
  expect(await answered(new Uint8Array([0xff, 0xfe, 0x41]))).toMatchObject({ body: "\uFFFD\uFFFDA" });
  // The last character would be cut in two.
  expect(await answered(`${"x".repeat(1_023)}ção`)).toMatchObject({ body: "x".repeat(1_023) });
  const long = await answered(new Uint8Array(5_000).map((_, index) => index % 256));
  expect(long.body.length).toBeLessThanOrEqual(1_024);
  expect(long.body).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
});
