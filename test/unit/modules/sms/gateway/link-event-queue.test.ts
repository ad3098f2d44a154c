import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import type { DispatchTarget, LinkEvent } from "../../../../../src/modules/sms/gateway/link-event.ts";
import { LinkEventQueue } from "../../../../../src/modules/sms/gateway/link-event-queue.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import type { Submission } from "../../../../../src/modules/sms/gateway/submission.ts";
import type { Kept } from "../../../../../src/platform/context.ts";
import { turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
if (route === undefined) throw new Error("no route");
const LINK: DispatchTarget = { name: "link", route, free: 0, freeWith: () => 0, send: () => undefined, returned: 0 };

/** A queue whose transactions, and what is claimed in them, are noted in order. */
function start({
  sendFails = false,
  poisoned = "",
  isUncertainPoisoned = false,
  keeping,
}: { sendFails?: boolean; poisoned?: string; isUncertainPoisoned?: boolean; keeping?: Kept } = {}) {
  const noted: string[] = [];
  const kept: (() => Promise<unknown>)[] = [];
  const queue = new LinkEventQueue({
    commit: async (work) => {
      await Promise.resolve();
      noted.push("begin");
      const value = work();
      noted.push("commit");
      return value;
    },
    kept: keeping,
    guard: { failure: null, whenOpen: () => () => {} },
    clock: fakeClock(),
    log: { event: () => {}, error: (where: string, error: unknown) => noted.push(`${where} ${String(error)}`) },
    failedWrites: {
      reportError: (_, error) => void noted.push(String(error)),
      keepSegment: (_, write) => void kept.push(write),
    },
    links: { pauseReading: () => {} },
    reducer: {
      apply(event) {
        const name = "submission" in event ? event.submission.route : event.kind;
        if (name === poisoned) throw new TypeError(`poisoned ${name}`);
        noted.push(`write ${name}`);
        return [];
      },
      markUncertain({ route: name }) {
        if (isUncertainPoisoned) throw new TypeError("poisoned as well");
        noted.push(`uncertain ${name}`);
        return [];
      },
    },
    dispatcher: {
      nudge: () => undefined,
      offer: ({ name }) => void noted.push(`offer ${name}`),
      forgetAlongside: () => undefined,
      claimAlongside(freed) {
        const places = freed.get(LINK) ?? 0;
        noted.push(`claim ${places}`);
        return () => {
          noted.push(`send ${places}`);
          if (sendFails) throw new Error("no link");
        };
      },
    },
  });
  /** A response to a submit of this name. */
  const respond = (name: string, isPresent = true, settled = () => {}): LinkEvent => ({
    kind: "responded",
    link: LINK,
    submission: { messageId: 1, seqs: [1], route: name } as Submission,
    status: 0,
    messageId: "",
    pdu: Buffer.alloc(0),
    isPresent: () => isPresent,
    settle() {
      noted.push(`done ${name}`);
      settled();
    },
  });
  const receive = (): LinkEvent =>
    ({
      kind: "received",
      link: LINK,
      receipt: null,
      acknowledge: (status) => void noted.push(`acknowledged ${status}`),
    }) as Extract<LinkEvent, { kind: "received" }>;
  const lose = (name: string): LinkEvent => ({
    kind: "lost",
    link: LINK,
    submission: { messageId: 2, seqs: [1], route: name } as Submission,
  });
  return { queue, noted, kept, respond, receive, lose };
}

test("places are filled in the transaction that frees them, and what was claimed leaves when they are given back", async () => {
  const { queue, noted, respond } = start();
  queue.push(respond("a"));
  queue.push(respond("b", false));
  queue.push(respond("c"));
  await queue.idle();
  expect(noted.join(", ")).toBe("begin, write a, write b, write c, claim 2, commit, done a, done b, done c, send 2");
});

test("nothing waits for a timer: what comes during a transaction shares the next", async () => {
  const { queue, noted, respond } = start();
  queue.push(respond("a", false, () => queue.push(respond("b", false))));
  await queue.idle();
  expect(noted.filter((each) => each === "commit")).toHaveLength(2);
});

test("what fails after the commit is told, and nothing is written again or lost for it", async () => {
  const { queue, noted, respond } = start({ sendFails: true });
  const failing = respond("a", true, () => {
    queue.push(respond("b", false));
    throw new Error("no place");
  });
  queue.push(failing);
  await queue.idle();
  expect(noted.filter((each) => !each.startsWith("claim") && !each.startsWith("send"))).toEqual([
    "begin",
    "write a",
    "commit",
    "done a",
    "sms link event Error: no place",
    "sms link event Error: no link",
    "begin",
    "write b",
    "commit",
    "done b",
    "sms link event Error: no link",
  ]);
});

test("an event that cannot be written holds up no other: its outcome is uncertain, and its place is given back", async () => {
  const { queue, noted, respond, kept } = start({ poisoned: "b" });
  for (const name of ["a", "b", "c"]) queue.push(respond(name, false));
  await queue.idle();
  expect(noted.filter((each) => /^(write|uncertain|done|TypeError)/.test(each)).slice(1)).toEqual([
    "write a",
    "done a",
    "TypeError: poisoned b",
    "uncertain b",
    "done b",
    "write c",
    "done c",
  ]);
  expect(kept).toEqual([]);
});

test("where that cannot be written either, both are kept to be tried again; a received message is refused", async () => {
  const { queue, noted, respond, receive, kept } = start({ poisoned: "received", isUncertainPoisoned: true });
  queue.push(receive());
  queue.push(respond("received", false));
  await queue.idle();
  expect(noted.filter((each) => /^(acknowledged|done)/.test(each))).toEqual(["acknowledged 100", "done received"]);
  expect(kept).toHaveLength(1);
  await expect(kept[0]?.()).rejects.toThrow("poisoned as well");
});

test("a link claims nothing before all that came back without a response is written", async () => {
  const { queue, noted, lose } = start();
  for (const name of ["a", "b"]) queue.push(lose(name));
  expect(LINK.returned).toBe(2);
  await queue.idle();
  expect(LINK.returned).toBe(0);
  expect(noted.join(", ")).toBe("begin, write a, write b, claim 0, commit, offer link, send 0");
});

test("where the replica must have it, a message is acknowledged when it has, a response settles before, and claims go their own way", async () => {
  const { promise: kept, resolve: keep } = Promise.withResolvers<void>();
  const { queue, noted, respond, receive } = start({ keeping: () => kept });
  queue.push(respond("a"));
  queue.push(receive());
  await queue.idle();
  expect(noted.join(", ")).toBe("begin, write a, write received, commit, done a");
  keep();
  await turn();
  expect(noted.at(-1)).toBe("acknowledged 0");
});

test("what the replica does not have when pombo stops is not acknowledged: the SMSC sends it again", async () => {
  const { queue, noted, receive } = start({ keeping: () => Promise.reject(new Error("stopped")) });
  queue.push(receive());
  await queue.idle();
  await turn();
  expect(noted.join(", ")).toBe("begin, write received, commit");
});
