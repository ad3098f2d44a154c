import { systemClock } from "../clock.ts";
import { systemRandom } from "../random.ts";
import { makeSecret, showSecret, signatureHeaders } from "../webhooks/sign.ts";
import type { Terminal } from "./command.ts";
import { CommandError } from "./failure.ts";

// `pombo webhook listen`: a workspace's events on a developer's machine, without a public address. It asks
// the API for what happens, prints a line an event, and posts each to a local URL as a webhook would
// be called, signed with a secret of its own.

export interface ListenOptions {
  /** Base of the API. */
  api: string;
  key: string | undefined;
  /** Where events go; undefined: they are only printed. */
  forward: string | undefined;
  json: boolean;
}

interface Event {
  id: string;
  type: string;
  timestamp: string;
  workspaceId: string;
  data: { id?: string; to?: string; address?: string; domain?: string };
}

interface Answer {
  data: Event[];
  meta: { next_cursor: string };
  errors?: { message: string; hint?: string }[];
}

const WAIT_S = 25;
/** Between two questions when the API does not answer. */
const AGAIN_MS = 1_000;
const ANSWER_TIMEOUT_MS = (WAIT_S + 15) * 1_000;
/** Short: events of emails are kept for a listener that asks at least once a minute. */
const FORWARD_TIMEOUT_MS = 5_000;

/** Listens until a signal. Throws CommandError when the API refuses the key. */
export async function listenToEvents(options: ListenOptions, terminal: Terminal): Promise<void> {
  const { key } = options;
  if (key === undefined || key === "")
    throw new CommandError(
      "There is no API key: put a workspace's key into the variable POMBO_KEY, or give it with --key.",
    );
  const ending = new AbortController();
  const isOver = terminal.stopSignal().then(() => ending.abort());
  const secret = makeSecret(systemRandom);
  let cursor = (await ask(options.api, key, null, ending.signal)).meta.next_cursor;
  const where = options.forward === undefined ? "" : `, forwarding to ${options.forward}`;
  terminal.err(`Listening to the events of this workspace${where}. Ctrl-C ends it.`);
  if (options.forward !== undefined) terminal.err(`They are signed with this secret: ${showSecret(secret)}`);
  while (!ending.signal.aborted) {
    let answer: Answer;
    try {
      answer = await ask(options.api, key, cursor, ending.signal);
    } catch (error) {
      if (ending.signal.aborted) break;
      if (error instanceof CommandError) throw error;
      terminal.err(`${options.api} does not answer; asking again …`);
      await pause(AGAIN_MS, ending.signal);
      continue;
    }
    for (const event of answer.data) {
      const said = options.forward === undefined ? "" : await forward(event, options.forward, secret);
      terminal.out(options.json ? JSON.stringify(event) : `${lineOf(event)}${said}`);
    }
    cursor = answer.meta.next_cursor;
  }
  await isOver;
}

async function ask(api: string, key: string, cursor: string | null, signal: AbortSignal): Promise<Answer> {
  const query = cursor === null ? "" : `?wait=${WAIT_S}&cursor=${encodeURIComponent(cursor)}`;
  const response = await fetch(`${api}/api/v1/events${query}`, {
    headers: { "x-api-key": key },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  });
  const answer = (await response.json()) as Answer;
  if (response.ok) return answer;
  const [first] = answer.errors ?? [];
  // Its own trouble passes; a wrong key does not.
  if (response.status >= 500 || response.status === 429) throw new Error(first?.message ?? "");
  throw new CommandError(`${api} answered ${response.status}: ${first?.message ?? ""}. ${first?.hint ?? ""}`.trim());
}

/** What became of it, for the line. */
async function forward(event: Event, url: string, secret: Uint8Array): Promise<string> {
  const { id, ...told } = event;
  const body = JSON.stringify(told);
  const timestampS = Math.floor(systemClock.now() / 1_000);
  const headers = { "content-type": "application/json", ...signatureHeaders({ id, timestampS, body }, [secret]) };
  try {
    const signal = AbortSignal.timeout(FORWARD_TIMEOUT_MS);
    const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "manual" });
    return `  → ${response.status}`;
  } catch (error) {
    return `  → not delivered (${error instanceof Error ? error.message : String(error)})`;
  }
}

function lineOf({ type, timestamp, data }: Event): string {
  const about = [data.id, data.to, data.address, data.domain].filter((word) => word !== undefined);
  return `${timestamp}  ${type.padEnd(24)}  ${about.join("  ")}`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = systemClock.after(ms, resolve);
    signal.addEventListener("abort", () => {
      cancel();
      resolve();
    });
  });
}
