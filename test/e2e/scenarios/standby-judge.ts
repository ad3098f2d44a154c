/** What must hold after takeovers: every email that was answered 202 arrives, and whichever arrives twice is marked. */
import { expect } from "bun:test";
import { within } from "./child.ts";
import type { Load } from "./load.ts";
import type { createNodes, Node } from "./standby-nodes.ts";
import { call } from "./world.ts";

const LIMIT_MS = 20_000;

/** Waits for what is on its way. `load`: stopped. @returns how many came twice */
export async function checkArrivals(
  { mx, world }: Awaited<ReturnType<typeof createNodes>>,
  load: Load,
  working: Node,
): Promise<number> {
  const findMissing = () => {
    const arrived = new Set(mx.arrivals.map(({ subject }) => subject));
    return [...load.accepted.keys()].filter((subject) => !arrived.has(subject));
  };
  await within(
    LIMIT_MS,
    "all mail",
    mx.until(() => findMissing().length === 0),
  ).catch((error: unknown) => {
    throw new Error(`${findMissing().length} never came: ${findMissing().slice(0, 5).join(", ")}`, { cause: error });
  });
  const counts = new Map<string, number>();
  for (const { subject } of mx.arrivals) counts.set(subject, (counts.get(subject) ?? 0) + 1);
  const twice = [...counts].filter(([, count]) => count > 1).map(([subject]) => subject);
  for (const subject of twice) {
    const id = load.accepted.get(subject) ?? (await findId(working.url, world.key, subject));
    const { body } = await call(working.url, world.key, { path: `/api/v1/emails/${id}` });
    expect({ subject, isMarked: body.data.possibleDuplicate }).toEqual({ subject, isMarked: true });
  }
  return twice.length;
}

/** Of an email whose answer never came. */
async function findId(url: string, key: string, subject: string): Promise<string> {
  const { body } = await call(url, key, { path: `/api/v1/emails?subject=${encodeURIComponent(subject)}` });
  return body.data.find((email: { subject: string }) => email.subject === subject)?.id;
}
