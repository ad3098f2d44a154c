// An update of a service takes two processes: one becomes the owner of the data directory; the other stays root and
// carries out the host actions (service.ts), which the first one requests in lines of JSON.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { CommandError, type FailureCode, type Terminal } from "../../framework/definition.ts";
import { pickEnvironment } from "../../client/child-environment.ts";
import type { Owner } from "../../client/data-owner.ts";
import type { HostActions } from "./service.ts";
import { getErrorMessage } from "../../../platform/errors.ts";

/** Set for the process that stays root: the uid of the data directory's owner. */
export const ACTIONS_FOR = "POMBO_UPDATE_FOR_UID";

/** The addresses that an update may request. */
const ACTIONS = ["bring", "inspect", "adopt", "stop", "start", "hasFailed", "replace", "putBack"] as const;
type Action = (typeof ACTIONS)[number];

type Answer = { value: unknown } | { fault: string; exitCode: FailureCode };

/** Starts the process that stays root, with the arguments of this command. */
export function startRootProcess(
  binary: string,
  { uid }: Owner,
  { env, args }: Pick<Terminal, "env" | "args">,
): HostActions {
  const child = spawn(binary, args, {
    // A session of its own: after Ctrl-C it is still needed to undo the update.
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...pickEnvironment(env), [ACTIONS_FOR]: String(uid) },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
  // Its end is noticed by a missing answer.
  child.stdin.on("error", () => undefined);
  const ask = async (action: Action, argument?: unknown): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ action, argument })}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new CommandError("The root process of the update has ended. Run the update again.");
    const answer = JSON.parse(value) as Answer;
    if ("fault" in answer) throw new CommandError(answer.fault, answer.exitCode);
    return answer.value;
  };
  const actions = ACTIONS.map((action) => [action, (argument?: unknown) => ask(action, argument)]);
  return {
    ...(Object.fromEntries(actions) as Pick<HostActions, Action>),
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

/** In the process that stays root: answers until its input ends. */
export async function serveHostActions(
  host: HostActions,
  { input, out }: Pick<Terminal, "input" | "out">,
): Promise<void> {
  try {
    for await (const line of readLines(input())) out(JSON.stringify(await reply(line, host)));
  } finally {
    await host.end();
  }
}

async function reply(line: string, host: HostActions): Promise<Answer> {
  try {
    const { action, argument } = JSON.parse(line) as { action: unknown; argument: unknown };
    const known = ACTIONS.find((each) => each === action);
    if (known === undefined) throw new Error("there is no such action");
    // The requesting process is not trusted: `inspect` takes a number, `adopt` a text.
    const given = known === "inspect" ? Number(argument) : String(argument);
    return { value: (await host[known](given as never)) ?? null };
  } catch (error) {
    return { fault: getErrorMessage(error), exitCode: error instanceof CommandError ? error.exitCode : 1 };
  }
}

const LINE_MAX = 4_096;

/** Requests are short: a longer one ends it. */
async function* readLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > LINE_MAX) return;
  }
}
