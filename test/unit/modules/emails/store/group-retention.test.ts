import { expect, test } from "bun:test";
import { packExtra } from "../../../../../src/modules/emails/content/pack-extra.ts";
import { openContentStore } from "../../../../../src/modules/emails/content/store.ts";
import { openEmailRetentionStore } from "../../../../../src/modules/emails/store/retention-store.ts";
import { openEmailStore, USUAL } from "../../../../../src/modules/emails/store/store.ts";
import { openDatabase } from "../../../../../src/platform/db/open.ts";
import { walkBatch } from "../../../../../src/platform/db/purge.ts";

const TABLES = ["email", "email_body", "email_extra", "attempt"];

/** A group of three with an email before and behind it, each with a body, extras and an attempt. */
function scene() {
  const db = openDatabase(":memory:");
  const emails = openEmailStore(db);
  const storage: number[] = [];
  const counted: string[] = [];
  const giveBack = (_: number, bytes: number) => void storage.push(bytes);
  const contents = openContentStore(db, giveBack);
  const records = openEmailRetentionStore(db, {
    addTotal: ({ status }, amount) => void counted.push(`${status} ${amount}`),
    giveStorageBack: giveBack,
  });
  const add = (uid: string, group: { groupId?: number; startsGroup?: boolean } = {}): number => {
    const shared = {
      body: { content: Buffer.from("Bom dia"), htmlBytes: null, textBytes: 7, encoding: "plain", mime: null } as const,
      extra: packExtra({
        ...{ recipients: null, replyTo: null, headers: { "X-A": "1" }, metadata: { order: "4711" } },
        ...{ unsubscribe: null, attachmentBytes: null },
      }),
    };
    const id = emails.insert({
      ...USUAL,
      ...{ uid, workspaceId: 1, domainId: 1, sender: "a@b.test", senderAddress: "a@b.test", senderDomain: "b.test" },
      ...{ recipient: uid, recipientAddress: uid, subject: "Olá", replyTo: null, returnPath: "b", createdAt: 1 },
      ...group,
      ...(group.groupId === undefined ? shared : { body: null }),
    });
    emails.insertAttempt({
      ...{ emailId: id, number: 1, startedAt: 1, endedAt: 2, host: null, address: null, tls: null, stage: null },
      ...{ code: null, enhancedCode: null, reply: null, outcome: "delivered", category: null, tries: null },
      ...{ dialogue: null, egress: null },
    });
    return id;
  };
  const before = add("before");
  const first = add("first", { startsGroup: true });
  const others = [add("second", { groupId: first }), add("third", { groupId: first })];
  const behind = add("behind");
  return {
    ...{ db, storage, counted, first, others, all: [before, first, ...others, behind] },
    end: (id: number, endedAt: number) => emails.setEnd(id, { status: "delivered", endedAt, attempts: 1 }, "queued"),
    purge(walk: "contents" | "records", notBefore: number) {
      const step = (after: number): number | null => {
        const batch = { after, limit: 2, notBefore };
        return walk === "contents" ? walkBatch(contents, batch) : walkBatch(records, batch);
      };
      for (let after: number | null = 0; after !== null;) after = step(after);
    },
    count: () =>
      TABLES.map((table) => db.sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n),
    record: (uid: string) => emails.findRecord({ workspaceId: 1, domainId: null }, uid),
    [Symbol.dispose]: () => db.close(),
  };
}

test("the record of a group goes once all of it is old, with all that belongs to it, and each is counted out", () => {
  using on = scene();
  for (const id of [...on.all].filter((each) => each !== on.others[1])) on.end(id, 10);
  on.purge("records", 100);
  // The two that are alone.
  expect(on.count()).toEqual([3, 1, 1, 3]);
  expect(on.storage).toEqual([7, 7]);
  on.end(on.others[1] ?? 0, 100);
  on.purge("records", 100);
  expect(on.count()).toEqual([3, 1, 1, 3]);
  on.purge("records", 101);
  expect(on.count()).toEqual([0, 0, 0, 0]);
  expect([on.storage, on.counted]).toEqual([[7, 7, 7], Array.from({ length: 5 }, () => "delivered -1")]);
});

test("the content of a group goes once all of it is old, and its header fields; metadata stays with the records", () => {
  using on = scene();
  for (const id of [...on.all].filter((each) => each !== on.first)) on.end(id, 10);
  on.purge("contents", 100);
  expect(on.count()).toEqual([5, 1, 3, 5]);
  expect(on.record("third")).toMatchObject({ body: { textBytes: 7 }, extra: { headers: '[["X-A","1"]]' } });
  expect(on.record("behind")).toMatchObject({ body: null, extra: { headers: null, metadata: '{"order":"4711"}' } });
  on.end(on.first, 50);
  on.purge("contents", 100);
  expect(on.count()).toEqual([5, 0, 3, 5]);
  expect(on.record("third")).toMatchObject({ body: null, extra: { headers: null, metadata: '{"order":"4711"}' } });
  expect(on.record("third")?.group?.map(({ email }) => email.uid)).toEqual(["first", "second", "third"]);
  expect(on.storage).toEqual([7, 7, 7]);
});
