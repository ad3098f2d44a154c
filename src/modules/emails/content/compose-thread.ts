import { plainKeyReader } from "../../../protocols/dkim/keys.ts";
import { ThreadGone, type ThreadLine } from "../../../platform/worker-threads/worker-thread.ts";
import { composeAndSign, type Composed, type ComposeInput } from "./compose.ts";

// Where emails are composed and signed: on a thread of their own, and here when that has ended.

export type Composer = (input: ComposeInput) => Promise<Composed>;

/** `line` null: everything is done here. */
export function createComposer(line: ThreadLine<ComposeInput, Composed> | null): Composer {
  const readKeys = plainKeyReader();
  return async (input) => {
    if (line !== null) {
      try {
        return await line.call(input);
      } catch (error) {
        if (!(error instanceof ThreadGone)) throw error;
      }
    }
    return composeAndSign(input, readKeys);
  };
}
