import { afterEach, expect, test } from "bun:test";
import {
  type Answers,
  answerCalls,
  type Calls,
  ThreadGone,
  ThreadClient,
  type ThreadPort,
} from "../../../../src/platform/worker-threads/worker-thread.ts";

type OnMessage = (event: MessageEvent<Answers>) => void;
type OnEnd = (event: Event) => void;

/** A thread whose answers a test holds back or loses. */
class FakePort implements ThreadPort {
  readonly messages: Calls[] = [];
  isTerminated = false;
  #onMessage: OnMessage | null = null;
  #onEnd: OnEnd | null = null;

  postMessage(message: Calls): void {
    this.messages.push(message);
  }
  addEventListener(type: string, listener: (event: never) => void): void {
    if (type === "message") this.#onMessage = listener as OnMessage;
    else this.#onEnd = listener as OnEnd;
  }
  terminate(): void {
    this.isTerminated = true;
  }
  unref(): void {}

  answer(run: (input: never) => unknown = (input) => `did ${String(input)}`): void {
    for (const message of this.messages.splice(0))
      void answerCalls(message, run).then((data) => this.#onMessage?.({ data } as MessageEvent<Answers>));
  }
  die(): void {
    this.#onEnd?.(new Event("error"));
  }
}

function start(limits: { silenceMs?: number; pauseMs?: number } = {}) {
  const ports: FakePort[] = [];
  const told: string[] = [];
  const line = new ThreadClient<string, string>({
    open: () => {
      const port = new FakePort();
      ports.push(port);
      return port;
    },
    report: (why) => told.push(why),
    ...limits,
  });
  return { line, ports, told };
}

/** After the end of this turn, when the calls of it have gone. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("calls of one turn go over in one message and each gets its own answer", async () => {
  const { line, ports } = start();
  const answers = Promise.all([line.call("a"), line.call("b"), line.call("c")]);
  await turn();
  expect(ports[0]?.messages).toEqual([{ first: 0, inputs: ["a", "b", "c"] }]);
  ports[0]?.answer();
  expect(await answers).toEqual(["did a", "did b", "did c"]);
});

test("answers that come in another order find their calls", async () => {
  const { line, ports } = start();
  const first = line.call("a");
  await turn();
  const second = line.call("b");
  await turn();
  ports[0]?.messages.reverse();
  ports[0]?.answer();
  expect([await first, await second]).toEqual(["did a", "did b"]);
});

test("what one call throws fails that call alone", async () => {
  const { line, ports } = start();
  const answers = Promise.allSettled([line.call("a"), line.call("b")]);
  await turn();
  ports[0]?.answer((input) => {
    if (input === "a") throw new Error("not a");
    return input;
  });
  const [a, b] = await answers;
  expect(a).toMatchObject({ status: "rejected", reason: { message: "not a" } });
  expect(b).toMatchObject({ status: "fulfilled", value: "b" });
});

test("a thread that dies fails what it had not answered, is told of, and the next call starts another", async () => {
  const { line, ports, told } = start();
  const answered = line.call("first");
  await turn();
  ports[0]?.answer();
  await answered;
  const lost = line.call("a");
  await turn();
  ports[0]?.die();
  await expect(lost).rejects.toBeInstanceOf(ThreadGone);
  expect(told).toHaveLength(1);
  const next = line.call("b");
  await turn();
  expect(ports).toHaveLength(2);
  ports[1]?.answer();
  expect(await next).toBe("did b");
});

test("a thread that hangs is given up: what waits for it fails, and it is told", async () => {
  const { line, ports, told } = start({ silenceMs: 5 });
  await expect(line.call("a")).rejects.toBeInstanceOf(ThreadGone);
  expect(told).toEqual(["it does not answer"]);
  expect(ports[0]?.isTerminated).toBe(true);
});

test("after the whole process stood still the answer that waits counts", async () => {
  const silenceMs = 200;
  const { line, ports, told } = start({ silenceMs });
  const answer = line.call("a");
  await turn();
  for (const until = performance.now() + silenceMs * 2; performance.now() < until;);
  // Behind the timers that are over by now.
  setTimeout(() => ports[0]?.answer(), 1);
  expect(await answer).toBe("did a");
  expect(told).toEqual([]);
});

test("a thread that dies before its first answer is not begun again at once", async () => {
  const { line, ports, told } = start({ pauseMs: 60_000 });
  const lost = line.call("a");
  await turn();
  ports[0]?.die();
  await expect(lost).rejects.toBeInstanceOf(ThreadGone);
  for (let i = 0; i < 10; i++) await expect(line.call("b")).rejects.toBeInstanceOf(ThreadGone);
  expect([ports.length, told.length]).toEqual([1, 1]);
});

test("a closed line ends its thread, fails what waits and takes no more", async () => {
  const { line, ports, told } = start();
  const lost = line.call("a");
  await turn();
  line.close();
  await expect(lost).rejects.toBeInstanceOf(ThreadGone);
  await expect(line.call("b")).rejects.toBeInstanceOf(ThreadGone);
  expect(ports[0]?.isTerminated).toBe(true);
  expect(told).toEqual([]);
});

test("an input that cannot be copied fails and does not hang", async () => {
  const line = new ThreadClient<unknown, unknown>({
    open: () => new Worker(URL.createObjectURL(new Blob(["self.onmessage = () => {}"]))),
    report: () => undefined,
  });
  await expect(line.call(() => 1)).rejects.toBeInstanceOf(ThreadGone);
  line.close();
});

let opened: ThreadClient<{ html: string; text: undefined }, { htmlBytes: number }> | null = null;
afterEach(() => opened?.close());

test("the thread of the executable prepares an email as this thread does", async () => {
  opened = new ThreadClient({
    open: () => new Worker(new URL("../../../../src/server/mail-worker.ts", import.meta.url)),
    report: () => undefined,
  });
  const html = `<p>${"Olá, a sua encomenda seguiu. ".repeat(100)}</p>`;
  const { prepareContent } = await import("../../../../src/modules/emails/content/body.ts");
  const there = await opened.call({ html, text: undefined });
  const here = prepareContent({ html, text: undefined });
  expect({ ...there, content: null }).toEqual({ ...here, content: null } as never);
});
