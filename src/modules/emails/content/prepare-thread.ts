import { ThreadGone, type ThreadLine } from "../../../platform/worker-threads/worker-thread.ts";
import type { StoredBody } from "./body.ts";
import { type GivenContent, prepareContent } from "./prepare.ts";

// Where an email's content is prepared: here, or on the thread when what came in one turn of the event
// loop is worth waking it. A single small email is done sooner than the thread wakes; thirty of them,
// or one whose long html needs a text, would keep everybody else waiting.

/** Resolves with what is stored of each, in order. */
export type Preparer = (contents: GivenContent[]) => Promise<StoredBody[]>;

/** In characters of ready content, about 4 ns each. */
const WORTH_A_THREAD = 240_000;
/** Of one request, given to the thread at once: so many, and none behind so many characters. */
const TURN = 8;
const TURN_CHARACTERS = 240_000;
/** Making a text from html costs so many times what compressing does. */
const CONVERTING = 8;

/** `line` null: everything is done here. */
export function createPreparer(line: ThreadLine<GivenContent, StoredBody> | null): Preparer {
  let dueThisTurn = 0;
  const isLittle = (contents: GivenContent[]): boolean => {
    if (dueThisTurn === 0) setImmediate(() => (dueThisTurn = 0));
    for (const content of contents) dueThisTurn += estimateCost(content);
    return dueThisTurn < WORTH_A_THREAD;
  };
  return async (contents) => {
    if (line === null || isLittle(contents)) return contents.map(prepareContent);
    // A few at a time, so that other requests' come in between.
    const prepared: StoredBody[] = [];
    while (prepared.length < contents.length) {
      const some = nextTurn(contents, prepared.length);
      prepared.push(...(await Promise.all(some.map((content) => prepareThere(line, content)))));
    }
    return prepared;
  };
}

/** Contents that wait in a thread are in memory twice. */
function nextTurn(contents: GivenContent[], from: number): GivenContent[] {
  let [end, characters] = [from, 0];
  for (; end < Math.min(contents.length, from + TURN) && characters < TURN_CHARACTERS; end += 1)
    characters += getLength(contents[end]);
  return contents.slice(from, end);
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

/** Bytes that cross from a thread are a Uint8Array. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function estimateCost(content: GivenContent): number {
  const ready = getLength(content);
  return content.text === undefined ? ready * CONVERTING : ready;
}

function getLength(content: GivenContent | undefined): number {
  return (content?.html?.length ?? 0) + (content?.text?.length ?? 0);
}
