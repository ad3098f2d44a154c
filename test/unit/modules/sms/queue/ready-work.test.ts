import { expect, test } from "bun:test";
import { ReadyQueue } from "../../../../../src/modules/sms/queue/ready-work.ts";

const WORK = { route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 0 } as const;

test("what a claim read before work was told of anew does not take that away, though it was gone in between", () => {
  const ready = new ReadyQueue();
  ready.note(WORK);
  const [[seen] = []] = ready.due("vodacom", "a", 1);
  if (seen === undefined) throw new Error("nothing is due");
  const { version } = seen;
  // Two links have found nothing; between their words a text comes.
  ready.correct(seen, version, null);
  ready.note(WORK);
  ready.correct(seen, version, null);
  expect(ready.due("vodacom", "a", 1)).toHaveLength(1);
});
