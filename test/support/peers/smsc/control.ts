// How the SMSC is told what to do: HTTP on loopback, one word a path, JSON both ways.

import type { Delivery } from "./codec.ts";
import type { Conversation } from "./conversation.ts";
import type { Door } from "./main.ts";
import type { Change, Script } from "./script.ts";
import type { Counters, Smsc } from "./smsc.ts";

/** Each task of one's wish, and what is answered. `connection`: its number; absent: all. */
export interface Tasks {
  state: { take: object; give: SmscState };
  script: { take: Change<Script>; give: object };
  /** Resolved when all counters are at least, and at most, so. */
  until: { take: { atLeast?: Partial<Counters>; atMost?: Partial<Counters>; limitMs: number }; give: Until };
  /** Bytes in hexadecimal, then the end that is asked for. */
  say: { take: { bytes: string; connection?: number; end?: "rst" | "fin" }; give: object };
  deliver: { take: { systemId: string; deliveries: Delivery[] }; give: object };
  enquire: { take: { times: number; connection?: number }; give: object };
  unbind: { take: { connection?: number }; give: object };
  drop: { take: { how: "rst" | "fin"; connection?: number }; give: object };
  stall: { take: { isStalled: boolean }; give: object };
  ids: { take: { next: number }; give: object };
  door: { take: { isOpen: boolean }; give: object };
}

export interface Until {
  isReached: boolean;
  counters: Counters;
}

export interface SmscState {
  counters: Counters;
  /** Submits without an answer at any moment, on one connection. */
  maxUnanswered: number;
  connections: {
    number: number;
    systemId: string | null;
    command: string | null;
    unanswered: number;
    maxUnanswered: number;
  }[];
}

export function serveControl(smsc: Smsc, door: Door): { port: number } {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const task = new URL(request.url).pathname.slice(1);
      const work = WORK[task as keyof Tasks] as ((take: unknown, on: On) => unknown) | undefined;
      if (work === undefined) return Response.json({ error: `no task ${task}` }, { status: 404 });
      const given: unknown = await work(await request.json(), { smsc, door });
      smsc.journal.flush();
      return Response.json(given ?? {});
    },
  });
  return { port: server.port ?? 0 };
}

interface On {
  smsc: Smsc;
  door: Door;
}

const WORK: { [T in keyof Tasks]: (take: Tasks[T]["take"], on: On) => unknown } = {
  state: (_, { smsc }): SmscState => ({
    counters: smsc.counters,
    maxUnanswered: smsc.maxUnanswered,
    connections: [...smsc.conversations].map(({ number, bound, unanswered, maxUnanswered }) => ({
      number,
      systemId: bound?.systemId ?? null,
      command: bound?.command ?? null,
      unanswered,
      maxUnanswered,
    })),
  }),
  script: (change, { smsc }) => smsc.change(change),
  until: async ({ atLeast = {}, atMost = {}, limitMs }, { smsc }): Promise<Until> => {
    const names = (of: Partial<Counters>) => Object.entries(of) as [keyof Counters, number][];
    const holds = (counters: Counters) =>
      names(atLeast).every(([name, value]) => counters[name] >= value) &&
      names(atMost).every(([name, value]) => counters[name] <= value);
    const isReached = await smsc.until(holds, limitMs);
    return { isReached, counters: smsc.counters };
  },
  say: ({ bytes, connection, end }, { smsc }) => {
    for (const conversation of chosen(smsc, connection)) {
      conversation.say(Buffer.from(bytes, "hex"));
      if (end !== undefined) conversation.close(end);
    }
  },
  deliver: ({ systemId, deliveries }, { smsc }) => {
    for (const delivery of deliveries) smsc.mailbox(systemId).put({ delivery, wanted: null, shunned: null });
  },
  enquire: ({ times, connection }, { smsc }) => {
    for (const conversation of chosen(smsc, connection)) {
      for (let time = 0; time < times; time += 1) conversation.enquire();
    }
  },
  unbind: ({ connection }, { smsc }) => {
    for (const conversation of chosen(smsc, connection)) conversation.unbind();
  },
  drop: ({ how, connection }, { smsc }) => {
    for (const conversation of chosen(smsc, connection)) conversation.close(how);
  },
  stall: ({ isStalled }, { smsc }) => {
    smsc.isStalled = isStalled;
    for (const conversation of smsc.conversations) conversation.stall(isStalled);
  },
  ids: ({ next }, { smsc }) => {
    smsc.nextId = next;
  },
  door: async ({ isOpen }, { door }) => {
    if (isOpen) await door.open();
    else door.shut();
  },
};

function chosen(smsc: Smsc, connection: number | undefined): Conversation[] {
  return [...smsc.conversations].filter(({ number }) => connection === undefined || number === connection);
}
