// The client of the operator's routes. If an instance runs, requests go over its socket, whose file permissions are
// the authorization. If none runs, the command takes the directory's lock and handles them in its own process. While an
// instance starts or stops, or another command runs, the lock is held and the socket does not answer: it tries again.

import { lstatSync } from "node:fs";
import { type Clock, systemClock } from "../../platform/clock.ts";
import type { ErrorItem } from "../../platform/errors.ts";
import { getSocketFile } from "../../platform/http/unix-socket.ts";
import { loadInstanceKey } from "../../platform/keyring/key-file.ts";
import { errorText, type Log } from "../../platform/log.ts";
import { type Offline, openOffline } from "../../server/offline.ts";
import { systemRandom } from "../../platform/random.ts";
import { CommandError, type FailureCode, type Terminal } from "../framework/definition.ts";
import { describeHolder, takeLock } from "../../platform/instance-lock.ts";
import type { InstancePlace } from "./settings.ts";
import { plain } from "../framework/text.ts";

/** The longest wait for an instance that starts or stops. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 100;
/** After this the command says why it waits. */
const QUIET_MS = 2_000;
/** An instance that takes longer to answer hangs. */
const ANSWER_MS = 60_000;

/** The operator's routes; an error answer is thrown as a CommandError with the API's message. */
export interface OperatorApi {
  /** Returns the answer's `data`. `path` begins after /api/v1. */
  call<T>(method: string, path: string, body?: object): Promise<T>;
  pages<Row>(path: string, query?: Query): AsyncGenerator<Row[]>;
  all<Row>(path: string, query?: Query): Promise<Row[]>;
  close(): Promise<void>;
}

/** Undefined values are left out. */
export type Query = Record<string, string | undefined>;

interface Answer {
  status: number;
  text: string;
}

interface AnswerBody {
  data?: unknown;
  meta?: { next_cursor?: string | null };
  errors?: ErrorItem[];
}

export class ApiError extends CommandError {
  readonly items: ErrorItem[];

  constructor(items: ErrorItem[]) {
    super(items.map(formatError).join("\n"));
    this.items = items;
  }
}

const PAGE = "100";

/** Connects with the first call. `needsInstance`: without a running instance the call fails with exit code 3. */
export function openOperatorApi(
  place: InstancePlace,
  terminal: Terminal,
  clock: Clock = systemClock,
  needsInstance = false,
): OperatorApi {
  const transport = openTransport(place, terminal, clock, needsInstance);
  const ask = async (method: string, path: string, body?: object): Promise<AnswerBody> => {
    const answer = await transport.send(method, `/api/v1${path}`, body);
    const read = readAnswer(answer);
    if (answer.status < 300) return read;
    throw new ApiError(read.errors ?? [{ message: `The instance answered ${answer.status}` }]);
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
    close: () => transport.close(),
  };
}

/** Parts of a list, for requests that take at most `size` items. */
export function toBatches<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

/** Sends requests over the socket. Without an instance it takes the lock and handles them itself. */
function openTransport(place: InstancePlace, { env, err }: Terminal, clock: Clock, needsInstance: boolean) {
  const { dataDir } = place;
  /** Keeps the lock until the command ends, so that no instance can start meanwhile. */
  let offline: Extract<Offline, { kind: "open" }> | null = null;
  const takeOver = async (): Promise<Offline> => {
    const config = place.config();
    const opened = await openOffline({
      config,
      instanceKey: loadInstanceKey({ file: config.secrets.instanceKeyFile, env }),
      environment: { clock: systemClock, random: systemRandom, log: createErrorLog(err) },
    });
    if (opened.kind === "open") offline = opened;
    return opened;
  };
  return {
    async send(method: string, path: string, body?: object): Promise<Answer> {
      const init = {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      };
      const startedAt = clock.now();
      let hasWarned = false;
      for (;;) {
        if (offline !== null) {
          const response = await offline.handle(new Request(`http://localhost${path}`, init));
          return { status: response.status, text: await response.text() };
        }
        const answer = await askSocket(getSocketFile(dataDir), path, init);
        if (answer !== null) return answer;
        const opened = needsInstance ? requireHolder(dataDir) : await takeOver();
        if (opened.kind === "open") continue;
        const waitedMs = clock.now() - startedAt;
        if (waitedMs >= PATIENCE_MS) throw noAnswer(dataDir, opened.pid, needsInstance ? 3 : 1);
        if (waitedMs >= QUIET_MS && !hasWarned) {
          hasWarned = true;
          err(`${describeHolder(opened.pid)} uses ${dataDir} and does not take commands yet: waiting …`);
        }
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
      }
    },
    async close(): Promise<void> {
      await offline?.close();
      offline = null;
    },
  };
}

/** Null: nothing listens there. Throws CommandError when no answer comes. */
async function askSocket(socket: string, path: string, init: RequestInit): Promise<Answer | null> {
  // A symbolic link could lead to another user's socket.
  if (!isSocket(socket)) return null;
  try {
    const response = await fetch(`http://localhost${path}`, {
      ...init,
      unix: socket,
      // Bun repeats a request when a reused connection was closed: a change must not be made twice.
      keepalive: false,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    if (code === "ENOENT" || code === "ECONNREFUSED") return null;
    if (code === "EACCES" || code === "EPERM") {
      throw new CommandError(`This user may not open ${socket}: run the command as the service's user, or as root.`);
    }
    if (name === "TimeoutError") {
      const uncertain = init.method === "GET" ? "" : " The request may have taken effect: check before you repeat it.";
      throw new CommandError(
        `The instance on ${socket} has not answered for ${ANSWER_MS / 1000} s: look at its log.${uncertain}`,
      );
    }
    // It stopped in the middle. A read can be repeated.
    if (init.method === "GET") return null;
    throw new CommandError(
      `The instance on ${socket} stopped before it answered (${code ?? String(error)}). The request may have taken effect: check before you repeat it.`,
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
    throw new CommandError(`The instance answered ${status} without JSON: is it pombo?`);
  }
}

/** The API's hint names routes, and the operator: at a terminal a command does it. By the error's code. */
const COMMAND_HINTS: Readonly<Record<string, string>> = {
  DOMAIN_ALREADY_EXISTS:
    "Look up its records with pombo domain check NAME; with --zone that prints them as a zone file.",
  PLAN_LIMIT_REACHED:
    "Change the workspace's plan with pombo workspace plan WORKSPACE PLAN, or raise the limit in [plans] of the configuration.",
};

/** The API's message and hint, or the command to run instead. */
export function formatError(item: ErrorItem): string {
  // The command knows only routes of its own version, so the instance runs an older one.
  if (item.code === "NOT_FOUND" && item.message.startsWith("There is nothing at this path"))
    return "The running instance is older than this command: restart it.";
  const message = plain(item.message);
  const end = /[.!?]$/.test(message) ? "" : ".";
  const hint = COMMAND_HINTS[item.code ?? ""] ?? item.hint;
  return hint === undefined ? `${message}${end}` : `${message}${end} ${plain(hint)}`;
}

/** The holder of the directory's lock; throws if there is none. */
function requireHolder(dataDir: string): { kind: "held"; pid: number | null } {
  const lock = takeLock(dataDir, "command");
  if (lock.kind === "held") return lock;
  lock.release();
  throw new CommandError(
    `No pombo runs on ${dataDir}. Start it with pombo serve, or with systemctl start pombo if it is installed as a service. If you have, journalctl -u pombo -n 20 says why it ended.`,
    3,
  );
}

function noAnswer(dataDir: string, pid: number | null, exitCode: FailureCode): CommandError {
  return new CommandError(
    `${describeHolder(pid)} uses ${dataDir} and does not take commands: it is starting or stopping, or another command runs. Nothing was done; try again later.`,
    exitCode,
  );
}

/** A log that prints only internal errors. */
export function createErrorLog(err: (text: string) => void): Log {
  return { event: () => undefined, error: (where, error) => err(`internal error in ${where}: ${errorText(error)}`) };
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}
