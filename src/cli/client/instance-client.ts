import { lstatSync } from "node:fs";
import { type Clock, systemClock } from "../../platform/clock.ts";
import type { ErrorItem } from "../../platform/errors.ts";
import { getSocketFile } from "../../platform/http/unix-socket.ts";
import { loadInstanceKey } from "../../platform/keyring/key-file.ts";
import { errorText, type Log } from "../../platform/log.ts";
import { type Offline, openOffline } from "../../server/offline.ts";
import { systemRandom } from "../../platform/random.ts";
import type { Terminal } from "../framework/terminal.ts";
import { takeLock } from "../../platform/instance-lock.ts";
import { CommandError, type FailureCode } from "../framework/failure.ts";
import type { InstancePlace } from "./settings.ts";
import { plain } from "../framework/text.ts";

// How a command reaches the instance. One runs: over its socket, for which the file's permission is the key.
// None does: the command takes the directory's lock and asks the same routes in its own process. In between,
// while one starts or stops or another command is at work, the lock is held and the socket is silent: that
// passes, so it is tried again.

/** How long one that starts or stops is waited for. */
const PATIENCE_MS = 10_000;
const AGAIN_MS = 100;
/** A person who waits longer should know for what. */
const QUIET_MS = 2_000;
/** An answer that takes longer comes from an instance that hangs. */
const ANSWER_MS = 60_000;

/** The operator's routes; every refusal is thrown as a CommandError with the API's words. */
export interface OperatorApi {
  /** The answer's `data`. `path` begins behind /api/v1. */
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** A list, page by page. */
  pages<Row>(path: string, query?: Query): AsyncGenerator<Row[]>;
  /** The whole of it. */
  all<Row>(path: string, query?: Query): Promise<Row[]>;
  close(): Promise<void>;
}

/** What is undefined is left out. */
export type Query = Record<string, string | undefined>;

/** The answer of a route, as it came. */
interface Answer {
  status: number;
  text: string;
}

interface AnswerBody {
  data?: unknown;
  meta?: { next_cursor?: string | null };
  errors?: ErrorItem[];
}

/** A refusal that a command may deal with itself. */
export class Refusal extends CommandError {
  readonly items: ErrorItem[];

  constructor(items: ErrorItem[]) {
    super(items.map(sentencesOf).join("\n"));
    this.items = items;
  }
}

const PAGE = "100";

/**
 * Finds the way to the instance with the first call; `clock` times the patience alone. `isOfRunning`: it is about an
 * instance that runs, and where none does the call is refused (3).
 */
export function operatorApi(
  place: InstancePlace,
  terminal: Terminal,
  clock: Clock = systemClock,
  isOfRunning = false,
): OperatorApi {
  const way = new Way(place, terminal, { clock, isOfRunning });
  const ask = async (method: string, path: string, body?: object): Promise<AnswerBody> => {
    const answer = await way.send(method, `/api/v1${path}`, body);
    const read = readAnswer(answer);
    if (answer.status < 300) return read;
    throw new Refusal(read.errors ?? [{ message: `The instance answered ${answer.status}` }]);
  };
  const pages = async function* <Row>(path: string, query: Query = {}): AsyncGenerator<Row[]> {
    let cursor: string | null = null;
    do {
      const { data, meta } = await ask("GET", path + queryText({ ...query, limit: PAGE, cursor: cursor ?? undefined }));
      yield data as Row[];
      cursor = meta?.next_cursor ?? null;
    } while (cursor !== null);
  };
  return {
    call: async <T>(method: string, path: string, body?: object) => (await ask(method, path, body)).data as T,
    pages,
    async all<Row>(path: string, query?: Query) {
      const rows: Row[] = [];
      for await (const page of pages<Row>(path, query)) for (const row of page) rows.push(row);
      return rows;
    },
    close: () => way.close(),
  };
}

class Way {
  readonly #place: InstancePlace;
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #isOfRunning: boolean;
  /** Once the lock is ours it stays: no instance can start before the command ends. */
  #offline: Extract<Offline, { kind: "open" }> | null = null;

  constructor(place: InstancePlace, terminal: Terminal, options: { clock: Clock; isOfRunning: boolean }) {
    this.#place = place;
    this.#terminal = terminal;
    this.#clock = options.clock;
    this.#isOfRunning = options.isOfRunning;
  }

  async send(method: string, path: string, body?: object): Promise<Answer> {
    const init = {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    };
    const { dataDir } = this.#place;
    const startedAt = this.#clock.now();
    let isTold = false;
    for (;;) {
      if (this.#offline !== null) {
        const response = await this.#offline.handle(new Request(`http://localhost${path}`, init));
        return { status: response.status, text: await response.text() };
      }
      const answer = await askSocket(getSocketFile(dataDir), path, init);
      if (answer !== null) return answer;
      const opened = this.#isOfRunning ? requireHolder(dataDir) : await this.#openOffline();
      if (opened.kind === "open") continue;
      const waitedMs = this.#clock.now() - startedAt;
      if (waitedMs >= PATIENCE_MS) throw silent(dataDir, opened.pid, this.#isOfRunning ? 3 : 1);
      if (waitedMs >= QUIET_MS && !isTold) {
        isTold = true;
        this.#terminal.err(`${holderOf(dataDir, opened.pid)} and takes no commands yet: waiting …`);
      }
      await new Promise<void>((resolve) => this.#clock.after(AGAIN_MS, resolve));
    }
  }

  async close(): Promise<void> {
    await this.#offline?.close();
    this.#offline = null;
  }

  async #openOffline(): Promise<Offline> {
    const config = this.#place.config();
    const { env, err } = this.#terminal;
    const opened = await openOffline({
      config,
      instanceKey: loadInstanceKey({ file: config.secrets.instanceKeyFile, env }),
      environment: { clock: systemClock, random: systemRandom, log: errorsOnly(err) },
    });
    if (opened.kind === "open") this.#offline = opened;
    return opened;
  }
}

/** Null: nobody listens there. Throws CommandError when somebody does and no answer comes. */
async function askSocket(socket: string, path: string, init: RequestInit): Promise<Answer | null> {
  // A link would lead to whoever made it.
  if (!isSocket(socket)) return null;
  try {
    const response = await fetch(`http://localhost${path}`, {
      ...init,
      unix: socket,
      // On a connection used before, Bun would send it again when that has died: a change must not be made twice.
      keepalive: false,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    if (code === "ENOENT" || code === "ECONNREFUSED") return null;
    if (code === "EACCES" || code === "EPERM") {
      throw new CommandError(
        `${socket} may not be opened by this user: run pombo as the user that pombo runs as, or as root.`,
      );
    }
    if (name === "TimeoutError") {
      const doubt =
        init.method === "GET" ? "" : " Whether it did what was asked is not known: look before you repeat it.";
      throw new CommandError(
        `The pombo behind ${socket} has not answered for ${ANSWER_MS / 1000} s: look at its log.${doubt}`,
      );
    }
    // It ended in the middle. What only looks can look again.
    if (init.method === "GET") return null;
    throw new CommandError(
      `The pombo behind ${socket} ended before it answered (${code ?? String(error)}): whether it did what was asked is not known. Look before you repeat it.`,
    );
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}

function readAnswer({ status, text }: Answer): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    throw new CommandError(`The instance answered ${status} with what is no JSON: is it pombo?`);
  }
}

/** As the API says it, and what to do. */
export function sentencesOf(item: ErrorItem): string {
  // The routes are those of this program: one that is not known there was made by an older one.
  if (item.code === "NOT_FOUND" && item.message.startsWith("There is nothing at this path"))
    return "The pombo that runs does not know this command yet: restart it, so that it is the version of this one.";
  const message = plain(item.message);
  const end = /[.!?]$/.test(message) ? "" : ".";
  return item.hint === undefined ? `${message}${end}` : `${message}${end} ${plain(item.hint)}`;
}

/** Whoever has the directory; throws where nobody does. */
function requireHolder(dataDir: string): { kind: "held"; pid: number | null } {
  const lock = takeLock(dataDir, "command");
  if (lock.kind === "held") return lock;
  lock.release();
  throw new CommandError(
    `No pombo runs on ${dataDir}. Start it: pombo serve, or with systemctl start pombo where it was installed as a service.`,
    3,
  );
}

function silent(dataDir: string, pid: number | null, exitCode: FailureCode): CommandError {
  return new CommandError(
    `${holderOf(dataDir, pid)} and takes no commands: it starts or stops, or is a command at work. Nothing was done; try again when it is through.`,
    exitCode,
  );
}

function holderOf(dataDir: string, pid: number | null): string {
  return `${pid === null ? "Another pombo" : `Another pombo (process ${pid})`} works on ${dataDir}`;
}

/** What a running instance would log as an event is its answer here. */
/** A log of which a person sees only internal errors. */
export function errorsOnly(err: (text: string) => void): Log {
  return { event: () => undefined, error: (where, error) => err(`internal error in ${where}: ${errorText(error)}`) };
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}
