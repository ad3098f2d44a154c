/**
 * Customers that keep sending, each one email after the other. Every other email carries an
 * Idempotency-Key; after a lost connection it is sent again under that key until it is answered,
 * while one without a key is given up, for nobody knows what became of it.
 */
import { call, DESTINATIONS, emailTo, type Reply } from "./world.ts";

/** Sends that may wait for delivery before the customers pause: the backlog of a scenario stays small. */
const BACKLOG = 400;
/** Retry-After, shortened: a scenario has no seconds to spare. */
const AFTER_REFUSAL_MS = 50;

export interface Load {
  /** Id of each email answered with 202, by its subject. */
  readonly accepted: Map<string, string>;
  /** Subjects whose answer never came and that carried no key. */
  readonly unknown: Set<string>;
  /** Requests sent again under their key. */
  readonly retries: number;
  /** Answers that were an earlier one's, told again. */
  readonly replays: number;
  /** Answers by status. */
  readonly statuses: Map<number, number>;
  /** Resolves when `isTrue` holds; looked at again at each answer. */
  until(isTrue: () => boolean): Promise<void>;
  /** Sends an accepted email with a key once more, under that key. */
  repeat(subject: string): Promise<Reply>;
  /** Subjects of the accepted emails that carried a key. */
  keyed(): string[];
  /** Takes nothing new up and resolves when the running requests are answered. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  key: string;
  customers: number;
  /** The address to send to; waits while there is none. Rejects when there will be none. */
  url: () => Promise<string>;
  /** How many have been delivered, and a wait until more have been. */
  delivered: { count(): number; until(isTrue: () => boolean): Promise<void> };
}

function hasKey(subject: string): boolean {
  return Number(subject.split("-").at(-1)) % 2 === 0;
}

class AcceptedTwice extends Error {}

export function startLoad(options: LoadOptions): Load {
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  const accepted = new Map<string, string>();
  const unknown = new Set<string>();
  const statuses = new Map<number, number>();
  let retries = 0;
  let replays = 0;
  let next = 0;
  let isOver = false;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();

  const note = (subject: string, reply: Reply) => {
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    if (reply.headers.has("idempotent-replayed")) replays += 1;
    if (reply.status === 202) {
      const id: string = reply.body.data.id;
      const before = accepted.get(subject);
      if (before !== undefined && before !== id)
        throw new AcceptedTwice(`${subject} was accepted twice: ${before}, ${id}`);
      accepted.set(subject, id);
    }
    look();
  };
  const requestOf = (subject: string) => {
    const number = Number(subject.split("-").at(-1));
    const to = `user${number}@${DESTINATIONS[number % DESTINATIONS.length]}`;
    const request = { method: "POST", path: "/api/v1/emails", body: emailTo(to, subject) };
    return hasKey(subject) ? { ...request, idempotencyKey: `key-${subject}` } : request;
  };
  /** False when it was refused. */
  const sendOne = async (subject: string): Promise<boolean> => {
    const request = requestOf(subject);
    for (;;) {
      const url = await options.url();
      try {
        const reply = await call(url, options.key, request);
        note(subject, reply);
        return reply.status === 202;
      } catch (error) {
        if (error instanceof AcceptedTwice) throw error;
        if (!hasKey(subject)) {
          unknown.add(subject);
          return true;
        }
        retries += 1;
        // The port of a process that was just killed refuses at once: let its end be noticed.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    }
  };
  const runCustomer = async () => {
    while (!isOver) {
      await Promise.race([over, options.delivered.until(() => accepted.size - options.delivered.count() < BACKLOG)]);
      if (!isOver && !(await sendOne(`load-${next++}`)))
        await new Promise((resolve) => setTimeout(resolve, AFTER_REFUSAL_MS));
    }
  };
  const running = Promise.all(Array.from({ length: options.customers }, runCustomer));
  return {
    accepted,
    unknown,
    statuses,
    get retries() {
      return retries;
    },
    get replays() {
      return replays;
    },
    until(isTrue) {
      if (isTrue()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const watcher = () => {
          if (!isTrue()) return;
          watchers.delete(watcher);
          resolve();
        };
        watchers.add(watcher);
        running.catch(reject);
      });
    },
    repeat: async (subject) => call(await options.url(), options.key, requestOf(subject)),
    keyed: () => [...accepted.keys()].filter(hasKey),
    async stop() {
      isOver = true;
      end();
      await running;
    },
  };
}
