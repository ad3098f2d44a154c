import { ThreadGone, type ThreadLine } from "../threads/line.ts";
import type { StoredBody } from "./body.ts";
import { type GivenContent, prepareContent } from "./prepare.ts";

// Where an email's content is prepared: here, or on the thread when what came in one turn of the event
// loop is worth waking it. A single small email is done sooner than the thread wakes; thirty of them,
// or one whose long html needs a text, would keep everybody else waiting.

/** Resolves with what is stored of each, in order. */
export type Preparer = (contents: GivenContent[]) => Promise<StoredBody[]>;

/** In characters of ready content, about 4 ns each. */
const WORTH_A_THREAD = 240_000;
/** Of one request, given to the thread at once. */
const TURN = 8;
/** Making a text from html costs so many times what compressing does. */
const CONVERTING = 8;

/** `line` null: everything is done here. */
export function createPreparer(line: ThreadLine<GivenContent, StoredBody> | null): Preparer {
  let dueThisTurn = 0;
  const isLittle = (contents: GivenContent[]): boolean => {
    if (dueThisTurn === 0) setImmediate(() => (dueThisTurn = 0));
    for (const content of contents) dueThisTurn += costOf(content);
    return dueThisTurn < WORTH_A_THREAD;
  };
  return async (contents) => {
    if (line === null || isLittle(contents)) return contents.map(prepareContent);
    // A few at a time, so that other requests' come in between.
    const prepared: StoredBody[] = [];
    for (let at = 0; at < contents.length; at += TURN) {
      const some = contents.slice(at, at + TURN);
      prepared.push(...(await Promise.all(some.map((content) => prepareThere(line, content)))));
    }
    return prepared;
  };
}

async function prepareThere(line: ThreadLine<GivenContent, StoredBody>, content: GivenContent): Promise<StoredBody> {
  try {
    const prepared = await line.call(content);
    return { ...prepared, content: asBuffer(prepared.content) };
  } catch (error) {
    if (!(error instanceof ThreadGone)) throw error;
    return prepareContent(content);
  }
}

/** What crosses from a thread is a Uint8Array. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function costOf({ html, text }: GivenContent): number {
  const ready = (html?.length ?? 0) + (text?.length ?? 0);
  return text === undefined ? ready * CONVERTING : ready;
}
