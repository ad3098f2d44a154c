// Where an email's content is prepared: here, or on the thread when what came in one turn of the event
// loop is worth waking it. A single small email is done sooner than the thread wakes; thirty of them,
// or one whose long html needs a text, would keep everybody else waiting.

import type { ThreadClient } from "../../../platform/worker-threads/worker-thread.ts";
import { type GivenContent, prepareContent, type StoredBody } from "./body.ts";

/** Resolves with what is stored of each, in order. */
export type Preparer = (contents: GivenContent[]) => Promise<StoredBody[]>;

/** In characters of ready content, about 4 ns each. */
const WORTH_A_THREAD = 240_000;
/** Of one request, given to the thread at once: so many, and none behind so many characters. */
const TURN = 8;
const TURN_CHARACTERS = 240_000;
/** Making a text from html costs so many times what compressing does. */
const CONVERTING = 8;

export function createPreparer(line: ThreadClient<GivenContent, StoredBody>): Preparer {
  let dueThisTurn = 0;
  const isLittle = (contents: GivenContent[]): boolean => {
    if (dueThisTurn === 0) setImmediate(() => (dueThisTurn = 0));
    for (const content of contents) dueThisTurn += estimateCost(content);
    return dueThisTurn < WORTH_A_THREAD;
  };
  return async (contents) => {
    if (isLittle(contents)) return contents.map(prepareContent);
    // A few at a time, so that other requests' come in between.
    const prepared: StoredBody[] = [];
    while (prepared.length < contents.length) {
      const some = nextTurn(contents, prepared.length);
      prepared.push(
        ...(await Promise.all(some.map((content) => line.callOrDo(content, prepareContent)))).map(toStored),
      );
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

/** Bytes that cross from a thread are a Uint8Array. */
function toStored({ content, ...body }: StoredBody): StoredBody {
  return { ...body, content: Buffer.from(content.buffer, content.byteOffset, content.byteLength) };
}

function estimateCost(content: GivenContent): number {
  const ready = getLength(content);
  return content.text === undefined ? ready * CONVERTING : ready;
}

function getLength(content: GivenContent | undefined): number {
  return (content?.html?.length ?? 0) + (content?.text?.length ?? 0);
}
