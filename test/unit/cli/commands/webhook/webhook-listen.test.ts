// Listening with a program that is slow, or an API that is away: the real sockets, both played by the test.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Forwarder } from "../../../../../src/cli/commands/webhook/forwarder.ts";
import { layOut } from "../../../../../src/cli/framework/screen.ts";
import { listenToEvents, readListenKey } from "../../../../../src/cli/commands/webhook/listen.ts";
import { temporaryFolder, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { startReceiver } from "../../../../support/fakes/receiver.ts";

/** An API whose event number n is of resource `resourceOf(n)`; it gives out `total` of them, in pages of 100. */
function startApi(total: number, resourceOf: (number: number) => string) {
  const asked: { cursor: number; wait: string | null }[] = [];
  let isAway = false;
  const changed = new Set<() => void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const query = new URL(request.url).searchParams;
      const isFirst = query.get("cursor") === null;
      const cursor = Number(query.get("cursor") ?? "0");
      asked.push({ cursor, wait: query.get("wait") });
      for (const look of changed) look();
      if (isAway) return new Response("{}", { status: 503 });
      const numbers = Array.from(
        { length: isFirst ? 0 : Math.min(100, total - cursor) },
        (_, index) => cursor + index + 1,
      );
      // Nothing more happens: the answer comes when the question is given up.
      if (numbers.length === 0 && query.get("wait") === "25")
        await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      const data = numbers.map((number) => ({
        id: `event ${number}`,
        type: "email.sent",
        timestamp: "2026-06-30T12:00:00.000Z",
        workspaceId: "w",
        data: { id: resourceOf(number), number },
      }));
      return Response.json({ data, meta: { has_more: false, next_cursor: String(cursor + numbers.length) } });
    },
  });
  return {
    asked,
    url: `http://127.0.0.1:${server.port}`,
    setAway: (value: boolean) => void (isAway = value),
    until: (condition: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!condition()) return;
          changed.delete(look);
          resolve();
        };
        changed.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function listen(api: string, forward: string | undefined, json = false) {
  const clock = fakeClock();
  const said = { out: [] as string[], err: [] as string[] };
  const stop = Promise.withResolvers<string>();
  const terminal = {
    args: [],
    env: {},
    out: (text: string) => void said.out.push(text),
    say: (text: string) => void said.out.push(layOut(text, { width: null, hasColour: false })),
    err: (text: string) => void said.err.push(text),
    write: () => undefined,
    flushed: () => Promise.resolve(),
    width: null,
    input: () => new Blob([]).stream(),
    stopSignal: () => stop.promise,
    onUnhandledRejection: () => undefined,
    isInteractive: false,
    setExitCode: () => undefined,
    outliveSession: () => undefined,
    fail: () => undefined,
  };
  const ended = listenToEvents({ api, key: "svc_x", forward, json }, terminal, clock);
  return {
    clock,
    said,
    ended,
    end() {
      stop.resolve("SIGINT");
      return ended;
    },
  };
}

test("a slow program holds up the events of one resource alone, in their order, and the API is asked meanwhile", async () => {
  await using api = startApi(40, (number) => (number <= 10 ? "slow" : `r${number}`));
  await using receiver = startReceiver();
  const first = Promise.withResolvers<Response>();
  receiver.answer = (call) => (call.event.data.number === 1 ? first.promise : new Response());
  const on = listen(api.url, receiver.url);
  await receiver.until(() => receiver.calls.length === 31);
  await api.until(() => api.asked.some(({ cursor }) => cursor === 40));
  expect(receiver.calls.filter(({ event }) => event.data.id === "slow")).toHaveLength(1);
  first.resolve(new Response());
  await receiver.until(() => receiver.calls.length === 40);
  const ofSlow = receiver.calls.filter(({ event }) => event.data.id === "slow").map(({ event }) => event.data.number);
  expect(ofSlow).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  while (on.said.out.length < 40) await turn();
  expect(on.said.out.every((line) => line.endsWith("  → 200"))).toBe(true);
  await on.end();
});

test("with too many waiting no more are taken, the API hears that somebody listens, and nothing is lost", async () => {
  await using api = startApi(1_500, (number) => `r${number}`);
  await using receiver = startReceiver();
  const held = Promise.withResolvers<void>();
  receiver.answer = () => held.promise.then(() => new Response());
  const on = listen(api.url, receiver.url);
  await api.until(() => api.asked.some(({ wait }) => wait === "0"));
  const stillHere = () => api.asked.filter(({ wait }) => wait === "0").length;
  for (const count of [1, 2, 3]) {
    await api.until(() => stillHere() >= count);
    // It waits for room, or for the time.
    while (on.clock.pending === 0) await turn();
    expect(stillHere()).toBe(count);
    on.clock.advance(20_000);
  }
  expect(receiver.calls).toHaveLength(16);
  held.resolve();
  await receiver.until(() => receiver.calls.length === 1_500);
  expect(new Set(receiver.calls.map(({ event }) => event.data.number)).size).toBe(1_500);
  await on.end();
});

test("what was heard and not forwarded by the end is said", async () => {
  await using api = startApi(100, () => "one");
  await using receiver = startReceiver();
  const never = Promise.withResolvers<Response>();
  receiver.answer = () => never.promise;
  const on = listen(api.url, receiver.url);
  await receiver.until(() => receiver.calls.length === 1);
  await on.end();
  expect(on.said.out).toHaveLength(1);
  expect(on.said.out[0]).toContain("not delivered");
  expect(on.said.err.at(-1)).toBe("99 events received, but not forwarded.");
  never.resolve(new Response());
});

test("an API that was away is said to have been, once, and what may be missing", async () => {
  await using api = startApi(0, () => "one");
  const on = listen(api.url, undefined);
  await api.until(() => api.asked.length === 2);
  await on.end();

  await using other = startApi(3, () => "one");
  const again = listen(other.url, undefined);
  await other.until(() => other.asked.length === 1);
  other.setAway(true);
  await other.until(() => other.asked.length >= 2);
  for (const count of [3, 4]) {
    while (again.clock.pending === 0) await turn();
    again.clock.advance(1_000);
    await other.until(() => other.asked.length >= count);
  }
  other.setAway(false);
  while (again.said.out.length < 3) {
    again.clock.advance(1_000);
    await turn();
  }
  const told = again.said.err.filter((line) => /answer/.test(line));
  expect(told).toEqual([
    expect.stringContaining("does not answer"),
    expect.stringContaining("Events of emails may be missing"),
  ]);
  await again.end();
});

test("an API that is not there at the beginning is an error with what to do", async () => {
  const on = listen("http://127.0.0.1:1", undefined);
  expect(await on.ended.catch((error: unknown) => String(error))).toMatch(/does not answer .*--api/);
});

test("a closed port is named, of the API and of the program", async () => {
  const closed = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  closed.stop(true);
  const where = `127.0.0.1:${closed.port}`;
  const away = listen(`http://${where}`, undefined);
  expect(await away.ended.catch((error: unknown) => String(error))).toContain(
    `http://${where} does not answer (nothing listens at ${where}): start pombo there`,
  );
  await using api = startApi(1, () => "a");
  const on = listen(api.url, `http://${where}/hook`);
  while (on.said.out.length === 0) await turn();
  expect(on.said.out[0]).toEndWith(`  → not delivered (nothing listens at ${where})`);
  await on.end();
});

test("at most sixteen are on their way at once", async () => {
  const forwarder = new Forwarder(3);
  const ends: (() => void)[] = [];
  for (let number = 0; number < 19; number += 1)
    forwarder.add(`r${number}`, () => new Promise((resolve) => ends.push(resolve)));
  expect([ends.length, forwarder.isFull]).toEqual([16, true]);
  const room = forwarder.room();
  ends[3]?.();
  await room;
  expect([ends.length, forwarder.isFull]).toEqual([17, false]);
  const ended = forwarder.end();
  for (const end of ends) end();
  expect(await ended).toBe(2);
});

test("nothing in an event moves a terminal, as a line or as JSON", async () => {
  const hostile = "a\u009b2J\u001b[31m\u202e\nb";
  await using api = startApi(1, () => hostile);
  for (const json of [false, true]) {
    const on = listen(api.url, undefined, json);
    while (on.said.out.length === 0) await turn();
    const [line = ""] = on.said.out;
    expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
    if (json) expect((JSON.parse(line) as { data: { id: string } }).data.id).toBe(hostile);
    await on.end();
  }
});

test("the key is in the environment or in a file, and refused on the command line", () => {
  const env = { POMBO_KEY: "svc_env" };
  using folder = temporaryFolder();
  const file = join(folder.path, "key");
  writeFileSync(file, "svc_file\n");
  expect(readListenKey(undefined, env)).toBe("svc_env");
  expect(readListenKey(file, env)).toBe("svc_file");
  expect(() => readListenKey(`${file}-not-there`, env)).toThrow("cannot be read");
});
