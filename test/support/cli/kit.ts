/**
 * Commands run in the test's process against a socket that answers by a script: what they ask for, and what
 * they say, without an instance.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../src/cli/command-table.ts";
import { layOut } from "../../../src/cli/framework/screen.ts";
import { CommandError } from "../../../src/cli/framework/definition.ts";
import { StartError } from "../../../src/platform/errors.ts";
import type { Json } from "../fakes/instance.ts";

export interface Asked {
  /** "GET /operator/workspaces?limit=100", behind /api/v1. */
  line: string;
  body: Json;
}

/** The status and body of an answer. */
export interface Scripted {
  status?: number;
  data?: Json;
  meta?: Json;
  errors?: Json[];
}

export interface Said {
  code: number;
  out: string;
  err: string;
}

export interface Screen {
  width?: number;
  hasColour?: boolean;
  input?: string | Uint8Array;
  /** Somebody sits there. */
  isInteractive?: boolean;
  /** Resolves with the signal that ends it. */
  stop?: Promise<string>;
}

export interface Desk extends AsyncDisposable {
  /** The data directory. */
  folder: string;
  asked: Asked[];
  /** Runs `pombo ...args` for this directory. */
  run(args: string[], options?: Screen): Promise<Said>;
  /** A file in the directory; its path. */
  write(name: string, content: string | Uint8Array): string;
}

/** Listens on a directory's socket; `answer` is asked for each request. */
export function startDesk(answer: (asked: Asked) => Scripted): Desk {
  const folder = mkdtempSync(join(tmpdir(), "pombo-cli-"));
  const asked: Asked[] = [];
  const server = Bun.serve({
    unix: join(folder, "pombo.sock"),
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      const one = {
        line: `${request.method} ${pathname.replace("/api/v1", "")}${search}`,
        body: text === "" ? null : JSON.parse(text),
      };
      asked.push(one);
      const { status = 200, ...body } = answer(one);
      return Response.json(body, { status });
    },
  });
  return {
    folder,
    asked,
    run: ([group = "", name = "", ...rest], options = {}) => {
      const place = OTHERS.includes(group) ? [] : ["--data-dir", folder];
      return runHere([group, name, ...place, ...rest], options);
    },
    write(name, content) {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Commands that know no --data-dir, or mean something else by it. */
const OTHERS = ["help", "init", "serve", "dev", "version"];

/** Runs a command as main.ts does, on a screen of `width` columns or (undefined) into another program. */
export async function runHere(args: string[], options: Screen & { env?: Record<string, string> } = {}): Promise<Said> {
  const said = { out: "", err: "" };
  let code = 0;
  const input = Buffer.from(options.input ?? "");
  try {
    await runCommand(args, {
      args: [],
      env: options.env ?? {},
      out: (text) => void (said.out += `${text}\n`),
      say: (text) =>
        void (said.out += `${layOut(text, { width: options.width ?? null, hasColour: options.hasColour ?? false })}\n`),
      write: (bytes) => void (said.out += Buffer.from(bytes).toString("latin1")),
      err: (text) => void (said.err += `${text}\n`),
      flushed: () => Promise.resolve(),
      width: options.width ?? null,
      isInteractive: options.isInteractive ?? false,
      setExitCode: (exitCode) => void (code = exitCode),
      input: () => new Blob([input]).stream(),
      stopSignal: () => options.stop ?? new Promise(() => undefined),
      onUnhandledRejection: () => undefined,
      outliveSession: () => undefined,
      fail: () => undefined,
    });
    return { code, ...said };
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof StartError)) throw error;
    const failed = error instanceof CommandError ? error.exitCode : 1;
    return { code: failed, out: said.out, err: `${said.err}${error.message}\n` };
  }
}

/** A workspace as the API shows it. */
export function workspaceRecord(changes: Json = {}): Json {
  return {
    id: "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17",
    name: "Loja da Maria",
    plan: "starter",
    createdAt: "2026-01-31T08:15:00.000Z",
    smsCredits: 0,
    smsFolding: "none",
    smsPriority: "transactional",
    senderIds: [],
    blocks: [],
    usage: { emailsToday: 12, emailsThisMonth: 3400, smsThisMonth: 0, domains: 1, apiKeys: 2, storageBytes: 1_572_864 },
    waiting: 3,
    ...changes,
  };
}
