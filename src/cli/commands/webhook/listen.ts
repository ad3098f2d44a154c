// `pombo webhook listen`: a workspace's events on a developer's machine, without a public address. It polls the API,
// prints a line an event, and posts each to a local URL like a webhook call, signed with a secret of its own. It polls
// also while it posts: events of emails are kept only for a listener that polls at least once a minute, and a program
// at a breakpoint answers late.

import { BUILD } from "../../../platform/build-info.ts";
import { type Clock, systemClock } from "../../../platform/clock.ts";
import { readSecret } from "../../../config/secret-files.ts";
import { systemRandom } from "../../../platform/random.ts";
import { createSecret, formatSecret, buildSignatureHeaders } from "../../../modules/webhooks/sign.ts";
import { CommandError, type Terminal } from "../../framework/definition.ts";
import { Forwarder } from "./forwarder.ts";
import { paintStatus } from "../../framework/screen.ts";
import { count, jsonLine, plain } from "../../framework/text.ts";
import { getErrorCode, getErrorMessage } from "../../../platform/errors.ts";

export interface ListenOptions {
  /** Base of the API. */
  api: string;
  key: string | undefined;
  /** Undefined: events are only printed. */
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

interface Poll {
  cursor: string | null;
  /** Seconds; 0: the answer comes at once and is discarded: the poll only keeps the listener registered. */
  waitS: number;
}

const WAIT_S = 25;
/** Between two polls when the API does not answer. */
const RETRY_MS = 1_000;
const ANSWER_TIMEOUT_MS = (WAIT_S + 15) * 1_000;
/** As for webhook calls. */
const FORWARD_TIMEOUT_MS = 15_000;
/** With so many events waiting for a slow program the cursor stays where it is, so that none is lost. */
const MAX_WAITING = 1_000;
/** How often it polls meanwhile. */
const KEEPALIVE_MS = 20_000;

/** The key to listen with; undefined: there is none. Throws CommandError for a file that cannot be read. */
export function readListenKey(file: string | undefined, env: Terminal["env"]): string | undefined {
  if (file === undefined) return env["POMBO_KEY"];
  const faults: string[] = [];
  const key = readSecret(file, "--key-file", faults);
  if (faults.length > 0 || key === null) throw new CommandError(faults.join("\n"));
  return key;
}

/** Listens until a signal. Throws CommandError when the API refuses the key. */
export async function listenToEvents(
  options: ListenOptions,
  terminal: Terminal,
  clock: Clock = systemClock,
): Promise<void> {
  const { key } = options;
  if (key === undefined || key === "")
    throw new CommandError(
      "An API key is required: put a workspace's key into the variable POMBO_KEY, or into a file that --key-file names.",
    );
  const ending = new AbortController();
  const { signal } = ending;
  const forwarder = new Forwarder(MAX_WAITING);
  const isOver = terminal.stopSignal().then(() => {
    // First: calls that are aborted below must not start the next ones.
    const left = forwarder.end();
    ending.abort();
    return left;
  });
  const secret = createSecret(systemRandom);
  const askFor = (poll: Poll) => ask(options.api, key, { ...poll, signal });
  const cursor = await begin(options.api, askFor);
  const where = options.forward === undefined ? "" : `, forwarding to ${options.forward}`;
  terminal.err(`Listening to the events of this workspace${where}. Ctrl-C ends it.`);
  if (options.forward !== undefined) terminal.err(`Signing secret: ${formatSecret(secret)}`);
  const take = (event: Event) => {
    const print = (outcome: string) =>
      options.json ? terminal.out(jsonLine(event)) : terminal.say(`${formatLine(event)}${plain(outcome)}`);
    const { forward: url } = options;
    if (url === undefined) return print("");
    forwarder.add(toResource(event), async () => print(await forward(event, url, { secret, clock, signal })));
  };
  await pollEvents({ cursor, askFor, take, forwarder, options, terminal, clock, signal });
  const left = await isOver;
  if (left > 0) terminal.err(`${count(left, "event")} received, but not forwarded.`);
}

/** The cursor of the first poll. */
async function begin(api: string, askFor: (poll: Poll) => Promise<Answer>): Promise<string> {
  try {
    return (await askFor({ cursor: null, waitS: 0 })).meta.next_cursor;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(
      `${api} does not answer (${describeFault(error, api)}): start pombo there, or name another address with --api.`,
    );
  }
}

interface Polling {
  cursor: string;
  askFor: (poll: Poll) => Promise<Answer>;
  take: (event: Event) => void;
  forwarder: Forwarder;
  options: ListenOptions;
  terminal: Terminal;
  clock: Clock;
  signal: AbortSignal;
}

/** Polls until `signal`. */
async function pollEvents(polling: Polling): Promise<void> {
  const { askFor, take, forwarder, options, terminal, clock, signal } = polling;
  let { cursor } = polling;
  let isSilent = false;
  while (!signal.aborted) {
    const { isFull } = forwarder;
    try {
      const answer = await askFor({ cursor, waitS: isFull ? 0 : WAIT_S });
      if (isSilent) terminal.err(MISSING);
      isSilent = false;
      if (!isFull) {
        answer.data.forEach(take);
        cursor = answer.meta.next_cursor;
        continue;
      }
      const tired = new AbortController();
      const either = AbortSignal.any([signal, tired.signal]);
      await Promise.race([forwarder.room(), pause(KEEPALIVE_MS, either, clock)]);
      tired.abort();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CommandError) throw error;
      if (!isSilent) terminal.err(`${options.api} does not answer; trying again …`);
      isSilent = true;
      await pause(RETRY_MS, signal, clock);
    }
  }
}

/** The instance may have been restarted, or more than a minute has passed since the last poll. */
const MISSING = "It answers again. Events of emails may be missing here; the API shows the state of each email.";

/** Events of one resource are forwarded in their order. */
function toResource({ type, data }: Event): string {
  return data.id ?? data.address ?? type;
}

async function ask(
  api: string,
  key: string,
  { cursor, waitS, signal }: Poll & { signal: AbortSignal },
): Promise<Answer> {
  const query =
    cursor === null ? "" : `?wait=${waitS}&cursor=${encodeURIComponent(cursor)}${waitS === 0 ? "&limit=1" : ""}`;
  const response = await fetch(`${api}/api/v1/events${query}`, {
    headers: { "x-api-key": key },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  });
  const answer = (await response.json()) as Answer;
  if (response.ok) return answer;
  const [first] = answer.errors ?? [];
  // A server error is retried; a wrong key is not.
  if (response.status >= 500 || response.status === 429) throw new Error(first?.message ?? "");
  throw new CommandError(
    plain(`${api} answered ${response.status}: ${first?.message ?? ""}. ${first?.hint ?? ""}`.trim()),
  );
}

/** The outcome, for the event's line. */
async function forward(
  event: Event,
  url: string,
  { secret, clock, signal: stopping }: { secret: Uint8Array; clock: Clock; signal: AbortSignal },
): Promise<string> {
  const { id, ...rest } = event;
  const body = JSON.stringify(rest);
  const timestampS = Math.floor(clock.now() / 1_000);
  const headers = {
    "content-type": "application/json",
    "user-agent": `pombo/${BUILD.version}`,
    ...buildSignatureHeaders({ id, timestampS, body }, [secret]),
  };
  try {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]);
    const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "manual" });
    return `  → ${response.status}`;
  } catch (error) {
    return `  → not delivered (${describeFault(error, url)})`;
  }
}

/** Why a call got no answer; the runtime's own words for a closed port name neither host nor port. */
function describeFault(error: unknown, url: string): string {
  const code = getErrorCode(error);
  if (code !== "ConnectionRefused" && code !== "ECONNREFUSED") return getErrorMessage(error);
  const { hostname, port, protocol } = new URL(url);
  return `nothing listens at ${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

function formatLine({ type, timestamp, data }: Event): string {
  const about = [data.id, data.to, data.address, data.domain].filter((word) => word !== undefined);
  return `${plain(timestamp)}  ${paintStatus(plain(type.padEnd(24)))}  ${plain(about.join("  "))}`;
}

function pause(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}
