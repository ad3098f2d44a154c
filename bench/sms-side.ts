// One side of `script/bench sms`: what sends texts, the SMSC that it sends them to, and what can be asked of both.

import { join } from "node:path";
import {
  type Cleanup,
  cpuSeconds,
  freePort,
  type Running,
  startProcess,
  waitForListener,
} from "../test/support/peers/process.ts";
import type { NumberTimes } from "./sms-log.ts";
import type { SmscState } from "./sms-smsc.ts";

/** The link that texts go by: its window, and whether their receipts are asked for. */
export type LinkName = "w50" | "w10" | "silent";
export const WINDOWS: Record<LinkName, number> = { w50: 50, w10: 10, silent: 50 };

export interface Side {
  name: string;
  smsc: BenchSmsc;
  /** Where texts are posted, and the request that posts one, with the digits of number 0. */
  httpPort: number;
  requestOf(link: LinkName): string;
  /** Its processes. */
  pids(): number[];
  /** How many receipts have taken effect where a user sees it, and the moment of the last (Unix ms). */
  applied(): Promise<{ count: number; lastAt: number }>;
  /** When each number's did. */
  appliedTimes(): Promise<NumberTimes>;
  /** Of which numbers a user can see that they arrived. */
  reported(): Promise<Set<number>>;
  /** How many texts are marked as perhaps doubled; null: it marks none. */
  marked(): number | null;
  /** Ends it in the middle, as kill -9 does, and starts it again. */
  killAndRestart(): Promise<void>;
}

export interface BenchSmsc {
  port: number;
  state(): Promise<SmscState>;
  log(): Promise<Record<"received" | "answered" | "acknowledged", NumberTimes>>;
  setAnswerMs(answerMs: number): Promise<void>;
  cpuSeconds(): number;
}

export async function startSmsc(folder: string, name: string, cleanup: Cleanup): Promise<BenchSmsc> {
  const [port, httpPort] = [await freePort(), await freePort()];
  const running = startBun("sms-smsc.ts", [port, httpPort], join(folder, `${name}-smsc.log`), cleanup);
  await waitForListener(httpPort);
  const url = `http://127.0.0.1:${httpPort}`;
  return {
    port,
    state: () => getJson(`${url}/state`),
    log: () => getJson(`${url}/log`),
    setAnswerMs: async (answerMs) => void (await getJson(`${url}/answer-ms?${answerMs}`)),
    cpuSeconds: () => cpuSeconds(running.pid),
  };
}

/** A program of this folder as a process of its own. */
export function startBun(program: string, ports: number[], logFile: string, cleanup: Cleanup): Running {
  const running = startProcess({
    command: [process.execPath, join(import.meta.dir, program), ...ports.map(String)],
    logFile,
  });
  cleanup.add(() => running.stop());
  return running;
}

export async function getJson<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}
