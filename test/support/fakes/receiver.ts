/** A receiver of webhooks over a real socket, which answers as a test says. */
import { Webhook } from "standardwebhooks";

export interface ReceivedCall {
  headers: Record<string, string>;
  body: string;
  path: string;
  // JSON whose shape the test knows.
  // oxlint-disable-next-line no-explicit-any
  event: any;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly calls: ReceivedCall[];
  /** Answers from now on; default: 204. */
  answer: (call: ReceivedCall) => Response | Promise<Response>;
  /** Resolves when `condition` holds, looked at after each call. */
  until(condition: () => boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export function startReceiver(options: { tls?: { key: string; cert: string } } = {}): Receiver {
  const calls: ReceivedCall[] = [];
  const waiting = new Set<() => void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    async fetch(request) {
      const body = await request.text();
      const headers = Object.fromEntries(request.headers.entries());
      const call = { headers, body, path: new URL(request.url).pathname, event: JSON.parse(body) as unknown };
      calls.push(call);
      for (const look of waiting) look();
      return receiver.answer(call);
    },
  });
  const receiver: Receiver = {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${server.port}/hook`,
    port: server.port ?? 0,
    calls,
    answer: () => new Response(null, { status: 204 }),
    until: (condition) =>
      new Promise((resolve) => {
        const look = () => {
          if (!condition()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
  return receiver;
}

/** Throws unless the call is signed by `secret`, as the independent library of Standard Webhooks sees it. */
export function verify(call: ReceivedCall, secret: string): unknown {
  return new Webhook(secret).verify(call.body, call.headers);
}
