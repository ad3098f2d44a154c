// Work given to another thread, so that this one goes on answering. Calls of one turn of the event loop
// go over in one message and come back in one: waking a thread costs as much as what one email needs of
// it. A thread that dies takes no call with it: what it had not answered fails with ThreadGone, which
// tells the caller to do it here, and the next call starts a new thread. So it is with one that hangs.

import { getErrorMessage } from "../errors.ts";

/** A message to the thread: calls in order. */
export interface Calls {
  first: number;
  inputs: unknown[];
}

/** Its answer: the outputs of the same calls, in the same order. */
export interface Answers {
  first: number;
  outputs: Answer[];
}

export type Answer = { kind: "done"; output: unknown } | { kind: "threw"; message: string };

/** The part of a Worker that is used here. */
export interface ThreadPort {
  postMessage(message: Calls, transfer: ArrayBuffer[]): void;
  addEventListener(type: "message", listener: (event: MessageEvent<Answers>) => void): void;
  addEventListener(type: "error" | "close", listener: (event: Event) => void): void;
  terminate(): void;
  unref(): void;
}

export type OpenThread = () => ThreadPort;

/** The thread ended before it answered: nothing is known of the call but that it has no effect. */
export class ThreadGone extends Error {
  override readonly name = "ThreadGone";
  /** The thread was given the call, which may be what ended it. */
  readonly wasGiven: boolean;

  constructor(why: string, wasGiven: boolean) {
    super(why);
    this.wasGiven = wasGiven;
  }
}

/** Calls in a message; a turn with fewer sends them at its end. */
const CALLS_AT_ONCE = 8;

interface Waiting {
  resolve: (output: unknown) => void;
  reject: (error: Error) => void;
}

/** A thread that has not answered anything for so long, while calls wait, counts as dead. */
const SILENCE_MS = 20_000;
/** The restart delay after a thread that died before its first answer, then for twice that, … */
const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

export interface ThreadClientOptions<I> {
  open: OpenThread;
  /** Hears of a thread that died, and why. */
  report: (why: string) => void;
  /** The large buffers of an input, which go over without being copied; they are empty here from then on. */
  findLarge?: (input: I) => ArrayBuffer[];
  /** For work of another kind than the usual, and for tests. */
  silenceMs?: number;
  pauseMs?: number;
  maxPauseMs?: number;
}

/** One thread, started when it is first needed. `I` and `O` must be values that structuredClone can copy. */
export class ThreadClient<I, O> {
  readonly #options: ThreadClientOptions<I>;
  readonly #waiting = new Map<number, Waiting>();
  #port: ThreadPort | null = null;
  #unsent: I[] = [];
  #next = 0;
  #isClosed = false;
  #hasAnswered = false;
  #pauses = 0;
  #isPaused = false;
  #watch: ReturnType<typeof setTimeout> | null = null;

  constructor(options: ThreadClientOptions<I>) {
    this.#options = options;
  }

  /** Runs `input` on the thread. Rejects with what that threw, or with ThreadGone. */
  call(input: I): Promise<O> {
    if (this.#isClosed || this.#isPaused) return Promise.reject(new ThreadGone("there is no thread now", false));
    const { promise, resolve, reject } = Promise.withResolvers<O>();
    this.#waiting.set(this.#next++, { resolve: resolve as (output: unknown) => void, reject });
    this.#unsent.push(input);
    // Some at once, so that the thread begins while this one still reads the rest of what came.
    if (this.#unsent.length >= CALLS_AT_ONCE) this.#send();
    else if (this.#unsent.length === 1) setImmediate(() => this.#send());
    return promise;
  }

  /** The same; done `here` while there is no thread, or when it ends before it has answered. */
  async callOrDo(input: I, here: (input: I) => O | Promise<O>): Promise<O> {
    try {
      return await this.call(input);
    } catch (error) {
      if (!(error instanceof ThreadGone)) throw error;
      return here(input);
    }
  }

  /** Ends the thread; what it has not answered fails. */
  close(): void {
    this.#isClosed = true;
    this.#lose("the thread was closed");
  }

  #send(): void {
    const inputs = this.#unsent;
    this.#unsent = [];
    if (inputs.length === 0) return;
    try {
      const { findLarge } = this.#options;
      // Each once: a buffer that two attachments share goes over as one.
      const large = findLarge === undefined ? [] : [...new Set(inputs.flatMap(findLarge))];
      this.#started().postMessage({ first: this.#next - inputs.length, inputs }, large);
      this.#watch ??= this.#watchSilence();
    } catch (error) {
      this.#lose(getErrorMessage(error));
    }
  }

  #started(): ThreadPort {
    if (this.#port !== null) return this.#port;
    const port = this.#options.open();
    const gone = (event: Event) => {
      if (this.#port !== port) return;
      const { message } = event as Partial<ErrorEvent>;
      this.#die(message === undefined || message === "" ? `it ended (${event.type})` : message);
    };
    port.addEventListener("message", ({ data }) => this.#receive(data));
    port.addEventListener("error", gone);
    port.addEventListener("close", gone);
    // What waits for an answer keeps the process alive by itself.
    port.unref();
    this.#port = port;
    this.#hasAnswered = false;
    return port;
  }

  /**
   * A thread may hang without dying, and everything that waits for it with it. Two timers of half the time: when the
   * process goes on after it stood still, the first has expired, and the answer can still come during the second.
   */
  #watchSilence(isFirstPart = true): ReturnType<typeof setTimeout> {
    const end = () => {
      if (isFirstPart) this.#watch = this.#watchSilence(false);
      else this.#die("it does not answer");
    };
    const timer = setTimeout(end, (this.#options.silenceMs ?? SILENCE_MS) / 2);
    timer.unref();
    return timer;
  }

  #receive({ first, outputs }: Answers): void {
    this.#hasAnswered = true;
    this.#pauses = 0;
    for (const [index, answer] of outputs.entries()) {
      const waiting = this.#waiting.get(first + index);
      this.#waiting.delete(first + index);
      if (answer.kind === "done") waiting?.resolve(answer.output);
      else waiting?.reject(new Error(answer.message));
    }
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = this.#waiting.size > 0 ? this.#watchSilence() : null;
  }

  #die(why: string): void {
    const hasAnswered = this.#hasAnswered;
    this.#lose(why);
    if (this.#isClosed) return;
    this.#options.report(why);
    if (hasAnswered) return;
    this.#isPaused = true;
    const { pauseMs: firstMs = PAUSE_MS, maxPauseMs = MAX_PAUSE_MS } = this.#options;
    const pauseMs = Math.min(firstMs * 2 ** this.#pauses, maxPauseMs);
    this.#pauses += 1;
    setTimeout(() => (this.#isPaused = false), pauseMs).unref();
  }

  #lose(why: string): void {
    const port = this.#port;
    this.#port = null;
    this.#unsent = [];
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(new ThreadGone(why, !this.#isClosed));
    port?.terminate();
  }
}

/** Smaller ones are copied sooner than handed over. */
const LARGE_BYTES = 65_536;

/** The buffer behind `octets` where it is large, and theirs only: nobody else then misses it. */
export function findLargeBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return byteLength >= LARGE_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer ? [buffer] : [];
}

/** The thread's side: answers a message. */
export async function answerCalls({ first, inputs }: Calls, run: (input: never) => unknown): Promise<Answers> {
  const answer = async (input: unknown): Promise<Answer> => {
    try {
      return { kind: "done", output: await run(input as never) };
    } catch (error) {
      return { kind: "threw", message: getErrorMessage(error) };
    }
  };
  return { first, outputs: await Promise.all(inputs.map(answer)) };
}
