import { describe, expect, test } from "bun:test";
import { RecentChanges } from "../../../../src/modules/live/recent-changes.ts";
import { LiveStreams, type Reader } from "../../../../src/modules/live/streams.ts";
import { createWorkspaceSource, type WorkspaceView } from "../../../../src/modules/live/workspace-source.ts";
import { Changes } from "../../../../src/platform/db/changes.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

type Given = Partial<Reader & WorkspaceView["messages"] & Pick<WorkspaceView, "domains" | "kinds">>;

function start() {
  const clock = fakeClock();
  const changes = new Changes();
  const recent = new RecentChanges(changes, clock);
  const statuses = new Map([[7, "queued"]]);
  const streams = new LiveStreams(clock);
  const watched: number[] = [];
  const watchDomain = (id: number) => {
    watched.push(id);
    return () => void watched.splice(watched.indexOf(id), 1);
  };
  const openUnread = ({
    owner = "user 1",
    emails = new Map<number, string>(),
    sms = new Map<number, string>(),
    mayRead = (): boolean => true,
    ...view
  }: Given = {}) => {
    const findStatus = (_kind: string, id: number) => statuses.get(id) ?? null;
    return streams.open(
      { owner, mayRead },
      createWorkspaceSource(
        { workspaceId: 1, messages: { emails, sms }, domains: [], ...view },
        { recentChanges: recent, findStatus, watchDomain },
      ),
    );
  };
  const open = (given: Parameters<typeof openUnread>[0] = {}) => read(openUnread(given));
  const change = (...given: Parameters<Changes["note"]>) => {
    changes.note(...given);
    changes.onCommit();
  };
  return { clock, streams, statuses, open, openUnread, change, watched };
}

/** Streams hand over in a turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** What has come since the last look; `isOver`: the stream has ended. */
function read(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const all = { text: "", isOver: false };
  const pump = async () => {
    for (let chunk = await reader.read(); chunk.value !== undefined; chunk = await reader.read())
      all.text += decoder.decode(chunk.value);
    all.isOver = true;
  };
  void pump();
  return {
    get isOver() {
      return all.isOver;
    },
    cancel: () => reader.cancel(),
    async take() {
      await turn();
      const { text } = all;
      all.text = "";
      return text;
    },
  };
}

describe("what a stream tells", () => {
  test("what changed while its page opened another one, or was not told before", async () => {
    const on = start();
    const first = on.open();
    on.clock.advance(1_000);
    on.change(1, "sms", 3);
    await first.cancel();
    on.change(1, "keys");
    on.change(2, "domains");
    on.clock.advance(2_000);
    expect(await on.open({ owner: "user 2" }).take()).toBe(
      `: open\n\nevent: changed\ndata: ${JSON.stringify({ sms: 1, keys: 1 })}\n\n`,
    );
  });

  test("nothing of what is longer ago, and nobody watches on behind the last reader", async () => {
    const on = start();
    const first = on.open();
    on.change(1, "sms", 3);
    await first.cancel();
    on.clock.advance(5_000);
    expect(on.clock.pending).toBe(0);
    on.change(1, "keys");
    expect(await on.open().take()).toBe(": open\n\n");
  });

  test("the changes of its workspace, once a second and summed", async () => {
    const on = start();
    const stream = on.open();
    expect(await stream.take()).toBe(": open\n\n");
    on.change(1, "emails", 3);
    on.change(1, "emails", 4);
    on.change(1, "keys");
    on.change(2, "domains");
    on.clock.advance(999);
    expect(await stream.take()).toBe("");
    on.clock.advance(1);
    expect(await stream.take()).toBe('event: changed\ndata: {"emails":2,"keys":1}\n\n');
    on.clock.advance(5_000);
    expect(await stream.take()).toBe("");
  });

  test("the status of an SMS by its own key, which an email may have too", async () => {
    const on = start();
    const stream = on.open({ sms: new Map([[7, "public-id"]]) });
    expect(await stream.take()).toBe(': open\n\nevent: sms\ndata: {"id":"public-id","status":"queued"}\n\n');
    on.change(1, "emails", 7);
    on.clock.advance(1_000);
    expect(await stream.take()).toBe('event: changed\ndata: {"emails":1}\n\n');
    on.statuses.set(7, "delivered");
    on.change(1, "sms", 7);
    on.clock.advance(1_000);
    expect(await stream.take()).toBe(
      'event: sms\ndata: {"id":"public-id","status":"delivered"}\n\nevent: changed\ndata: {"sms":1}\n\n',
    );
  });

  test("the status of the emails that were asked for: at once, and when one changes", async () => {
    const on = start();
    const stream = on.open({ emails: new Map([[7, "public-id"]]) });
    expect(await stream.take()).toBe(': open\n\nevent: email\ndata: {"id":"public-id","status":"queued"}\n\n');
    on.statuses.set(7, "delivered");
    on.change(1, "emails", 8);
    on.change(1, "emails", 7);
    on.change(1, "emails", 7);
    on.clock.advance(1_000);
    expect(await stream.take()).toBe(
      'event: email\ndata: {"id":"public-id","status":"delivered"}\n\nevent: changed\ndata: {"emails":3}\n\n',
    );
  });

  test("a comment after 20 silent seconds", async () => {
    const on = start();
    const stream = on.open();
    await stream.take();
    on.clock.advance(19_999);
    expect(await stream.take()).toBe("");
    on.clock.advance(1);
    expect(await stream.take()).toBe(":\n\n");
  });
});

describe("the end of a stream", () => {
  test("who may not read any more is told so, and nothing of the change that came with it", async () => {
    const on = start();
    let mayRead = true;
    const stream = on.open({ mayRead: () => mayRead });
    await stream.take();
    mayRead = false;
    on.change(1, "members");
    on.clock.advance(1_000);
    expect(await stream.take()).toBe("event: ended\ndata: {}\n\n");
    expect(stream.isOver).toBe(true);
    on.clock.advance(5_000);
    expect(on.clock.pending).toBe(0);
  });

  test("a reader who leaves gives the place back, and no timer is left", async () => {
    const on = start();
    const stream = on.open();
    expect([on.streams.count, on.clock.pending]).toEqual([1, 1]);
    await stream.cancel();
    on.clock.advance(5_000);
    expect([on.streams.count, on.clock.pending]).toEqual([0, 0]);
  });

  test("a stop ends all, and no new one is opened", async () => {
    const on = start();
    const streams = [on.open(), on.open({ owner: "user 2" })];
    on.streams.close();
    await turn();
    expect(streams.map(({ isOver }) => isOver)).toEqual([true, true]);
    on.clock.advance(5_000);
    expect(on.clock.pending).toBe(0);
    expect(() => on.open()).toThrow("no more");
  });

  test("a reader that takes nothing is dropped", () => {
    const on = start();
    const ids = new Map(
      Array.from({ length: 100 }, (_, index): [number, string] => [index, "0198a5a0-0000-7000-8000-000000000000"]),
    );
    for (const id of ids.keys()) on.statuses.set(id, "delivery_delayed");
    on.openUnread({ emails: ids });
    for (let second = 0; second < 20; second += 1) {
      for (const id of ids.keys()) on.change(1, "emails", id);
      on.clock.advance(1_000);
    }
    expect([on.streams.count, on.clock.pending]).toEqual([0, 0]);
  });
});

describe("how many there may be", () => {
  test("four of one person, and another's after them", () => {
    const on = start();
    for (let index = 0; index < 4; index += 1) on.open();
    expect(() => on.open()).toThrow("may have 4 live streams");
    expect(() => on.open({ owner: "user 2" })).not.toThrow();
  });

  test("200 in all", () => {
    const on = start();
    for (let index = 0; index < 200; index += 1) on.open({ owner: `user ${index}` });
    expect(() => on.open({ owner: "user 1000" })).toThrow("200 live streams");
  });
});

test("the domains of a stream are looked after until it ends, and one for a link is told of no other kind", async () => {
  const on = start();
  const stream = on.open({ domains: [3, 4], kinds: ["domains"] });
  expect(on.watched).toEqual([3, 4]);
  await stream.take();
  on.change(1, "emails");
  on.clock.advance(1_000);
  expect(await stream.take()).toBe("");
  on.change(1, "domains");
  on.clock.advance(1_000);
  expect(await stream.take()).toBe('event: changed\ndata: {"domains":1}\n\n');
  on.streams.close();
  expect(on.watched).toEqual([]);
});
