import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Terminal } from "../../framework/terminal.ts";
import { passedOn } from "../../client/child-environment.ts";
import { CommandError, type FailureCode } from "../../framework/failure.ts";
import type { Owner } from "../../client/data-owner.ts";
import type { Hands } from "./service.ts";

// An update of a service is two processes: this one becomes the owner of the data directory, and before that starts
// one more, which stays root and has the hands of the update (service.ts). It is asked by lines of JSON.

/** Set for the process that stays root: the uid of the data directory's owner. */
export const HANDS_FOR = "POMBO_UPDATE_HANDS_FOR";

type Verb = keyof Hands;

interface Question {
  verb: Verb;
  given?: number | string;
}

type Answer = { value: unknown } | { fault: string; exitCode: FailureCode };

/** Starts them with the words that this command was started with. */
export function startHands(binary: string, { uid }: Owner, { env, args }: Pick<Terminal, "env" | "args">): Hands {
  const child = spawn(binary, args, {
    // A session of its own: what a person breaks off must find hands to put things back.
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...passedOn(env), [HANDS_FOR]: String(uid) },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
  // Its end is told by its answers.
  child.stdin.on("error", () => undefined);
  const ask = async (verb: Verb, given?: number | string): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ verb, given })}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new CommandError("The root process of the update has ended. Run the update again.");
    const answer = JSON.parse(value) as Answer;
    if ("fault" in answer) throw new CommandError(answer.fault, answer.exitCode);
    return answer.value;
  };
  return {
    bring: () => ask("bring") as ReturnType<Hands["bring"]>,
    inspect: (pid) => ask("inspect", pid) as ReturnType<Hands["inspect"]>,
    adopt: (unit) => ask("adopt", unit) as ReturnType<Hands["adopt"]>,
    hasFailed: () => ask("hasFailed") as ReturnType<Hands["hasFailed"]>,
    stop: async () => void (await ask("stop")),
    start: async () => void (await ask("start")),
    replace: async () => void (await ask("replace")),
    putBack: async () => void (await ask("putBack")),
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

/** In the process that stays root: until nobody asks any more. */
export async function serveHands(hands: Hands, { input, out }: Pick<Terminal, "input" | "out">): Promise<void> {
  try {
    for await (const line of linesOf(input())) out(JSON.stringify(await answerOf(line, hands)));
  } finally {
    await hands.end();
  }
}

async function answerOf(line: string, hands: Hands): Promise<Answer> {
  try {
    const { verb, given } = JSON.parse(line) as Question;
    return { value: (await obey(verb, given, hands)) ?? null };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return { fault, exitCode: error instanceof CommandError ? error.exitCode : 1 };
  }
}

function obey(verb: Verb, given: unknown, hands: Hands): Promise<unknown> {
  switch (verb) {
    case "bring":
    case "stop":
    case "start":
    case "hasFailed":
    case "replace":
    case "putBack":
      return hands[verb]();
    case "inspect":
      return hands.inspect(Number(given));
    case "adopt":
      return hands.adopt(String(given));
    case "end":
      return Promise.resolve();
    default:
      throw new Error("there is no such verb");
  }
}

const LINE_MAX = 4_096;

/** What is asked is short: one that is not ends it. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > LINE_MAX) return;
  }
}
