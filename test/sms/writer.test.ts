import { expect, test } from "bun:test";
import type { DispatchTarget } from "../../src/modules/sms/gateway/dispatch.ts";
import { type QueuedLinkEvent, LinkEventQueue } from "../../src/modules/sms/gateway/link-event-queue.ts";
import { fakeClock } from "../fakes/clock.ts";

const LINK = { name: "link" } as DispatchTarget;

/** A writer whose transactions, and what is claimed in them, are noted in order. */
function start(sendFails = false) {
  const noted: string[] = [];
  const writer = new LinkEventQueue({
    commit: async (work) => {
      await Promise.resolve();
      noted.push("begin");
      const value = work();
      noted.push("commit");
      return value;
    },
    guard: { failure: null, whenOpen: () => () => {} },
    clock: fakeClock(),
    log: { event: () => {}, error: (where: string, error: unknown) => noted.push(`${where} ${String(error)}`) },
    unwritten: { tellBug: () => undefined, keepSegment: () => undefined },
    pressed: () => {},
    freeing(freed) {
      const places = freed.get(LINK) ?? 0;
      noted.push(`claim ${places}`);
      return () => {
        noted.push(`send ${places}`);
        if (sendFails) throw new Error("no link");
      };
    },
  });
  const item = (name: string, frees: DispatchTarget | null): QueuedLinkEvent => ({
    frees: () => frees,
    write: () => void noted.push(`write ${name}`),
    done: () => void noted.push(`done ${name}`),
  });
  return { writer, noted, item };
}

test("places are filled in the transaction that frees them, and what was claimed leaves when they are given back", async () => {
  const { writer, noted, item } = start();
  writer.push(item("a", LINK));
  writer.push(item("b", null));
  writer.push(item("c", LINK));
  await writer.idle();
  expect(noted.join(", ")).toBe("begin, write a, write b, write c, claim 2, commit, done a, done b, done c, send 2");
});

test("nothing waits for a timer: what comes during a transaction shares the next", async () => {
  const { writer, noted, item } = start();
  writer.push({ ...item("a", null), done: () => writer.push(item("b", null)) });
  await writer.idle();
  expect(noted.filter((each) => each === "commit")).toHaveLength(2);
});

test("what fails after the commit is told, and nothing is written again or lost for it", async () => {
  const { writer, noted, item } = start(true);
  writer.push({ ...item("a", LINK), done: () => writer.push(item("b", null)) });
  await writer.idle();
  expect(noted.filter((each) => !each.startsWith("claim") && !each.startsWith("send"))).toEqual([
    "begin",
    "write a",
    "commit",
    "sms writer Error: no link",
    "begin",
    "write b",
    "commit",
    "done b",
    "sms writer Error: no link",
  ]);
});
