// The SMSC as tests have it: started, told what to do, asked what it saw.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Delivery } from "./codec.ts";
import type { SmscState, Tasks } from "./control.ts";
import { eachNoted, type Noted } from "./journal.ts";
import type { SmscOptions } from "./main.ts";
import type { Change, Script } from "./script.ts";
import type { Counters } from "./smsc.ts";

export interface SmscHandle {
  readonly port: number;
  script(change: Change<Script>): Promise<void>;
  state(): Promise<SmscState>;
  /** Resolves when all these counters are at least so; rejects with what they are after a few seconds. */
  until(atLeast: Partial<Counters>): Promise<void>;
  untilAtMost(atMost: Partial<Counters>): Promise<void>;
  tell<T extends keyof Tasks>(task: T, take: Tasks[T]["take"]): Promise<Tasks[T]["give"]>;
  /** To whoever is bound as `systemId`, now or later. */
  deliver(systemId: string, ...deliveries: Delivery[]): Promise<void>;
  /** Every PDU so far. */
  journal(): Promise<Noted[]>;
  /** The same one by one. */
  notes(): Promise<Iterable<Noted>>;
  [Symbol.asyncDispose](): Promise<void>;
}

const UNTIL_LIMIT_MS = 15_000;

export interface StartOptions extends Partial<Omit<SmscOptions, "journal">> {
  /** Whether PDUs are kept; for loads they need not be. */
  isJournalKept?: boolean;
}

export async function startSmsc({ isJournalKept = true, ...options }: StartOptions = {}): Promise<SmscHandle> {
  const folder = mkdtempSync(join(tmpdir(), "smsc-"));
  const journal = isJournalKept ? join(folder, "pdus") : null;
  const whole: SmscOptions = { port: 0, script: {}, certificate: null, ...options, journal };
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "main.ts"), JSON.stringify(whole)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { port, control } = await firstLine(child.stdout);
  const smsc: SmscHandle = {
    port,
    async tell(task, take) {
      const answer = await fetch(`http://127.0.0.1:${control}/${task}`, { method: "POST", body: JSON.stringify(take) });
      if (!answer.ok) throw new Error(`${task}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as never;
    },
    script: async (change) => void (await smsc.tell("script", change)),
    state: () => smsc.tell("state", {}),
    until: (atLeast) => reach({ atLeast }),
    untilAtMost: (atMost) => reach({ atMost }),
    deliver: async (systemId, ...deliveries) => void (await smsc.tell("deliver", { systemId, deliveries })),
    journal: async () => [...(await smsc.notes())],
    async notes() {
      if (journal === null) throw new Error("this one keeps no journal");
      await smsc.state();
      return eachNoted(journal);
    },
    async [Symbol.asyncDispose]() {
      // It ends by itself.
      void child.stdin.end();
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const reach = async (wish: Omit<Tasks["until"]["take"], "limitMs">) => {
    const { isReached, counters } = await smsc.tell("until", { ...wish, limitMs: UNTIL_LIMIT_MS });
    if (!isReached) throw new Error(`waited in vain for ${JSON.stringify(wish)}: ${JSON.stringify(counters)}`);
  };
  return smsc;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<{ port: number; control: number }> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the SMSC did not start");
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return JSON.parse(text) as { port: number; control: number };
}
