import { describe, expect, test } from "bun:test";
import { packExtra } from "../../../../../src/modules/emails/content/pack-extra.ts";
import { openEmailRecipientStore } from "../../../../../src/modules/emails/store/recipient-store.ts";
import { openEmailStore, USUAL } from "../../../../../src/modules/emails/store/store.ts";
import { NEWEST } from "../../../../../src/platform/db/batches.ts";
import { openDatabase } from "../../../../../src/platform/db/open.ts";

const ADDRESS = "maria@example.com";

function scene() {
  const db = openDatabase(":memory:");
  const removed: [workspaceId: number, bytes: number][] = [];
  const emails = openEmailStore(db);
  const recipients = openEmailRecipientStore(db, (workspaceId, bytes) => void removed.push([workspaceId, bytes]));
  let made = 0;
  const add = (workspaceId: number, recipientAddress = ADDRESS) => {
    made += 1;
    return emails.insert({
      ...USUAL,
      ...{ uid: `e${made}`, workspaceId, domainId: 1, sender: "a@b.test", senderAddress: "a@b.test" },
      ...{ senderDomain: "b.test", recipient: "Maria@example.com", recipientAddress, subject: "Olá Maria" },
      ...{ replyTo: null, returnPath: "b+x@b.test", createdAt: made },
      body: { content: Buffer.from("Bom dia"), htmlBytes: null, textBytes: 7, encoding: "plain", mime: null },
    });
  };
  const attempt = (emailId: number, number: number) =>
    emails.insertAttempt({
      ...{ emailId, number, startedAt: 1, endedAt: 2, host: "mx.test", address: "192.0.2.1", tls: null },
      ...{ stage: "rcpt", code: 550, enhancedCode: "5.1.1", reply: "maria@ is unknown", outcome: "bounced" },
      ...{ category: null, tries: "[]", dialogue: "RCPT TO:<maria@example.com>", egress: null },
    });
  return { db, emails, recipients, removed, add, attempt, [Symbol.dispose]: () => db.close() };
}

test("one workspace's emails to one address are found, newest first, and by the index", () => {
  using on = scene();
  const ids = [on.add(1), on.add(2), on.add(1, "joao@example.com"), on.add(1)];
  expect(on.recipients.list(1, ADDRESS, NEWEST, 10).map(({ id }) => id)).toEqual([ids[3] ?? 0, ids[0] ?? 0]);
  expect(on.recipients.list(1, ADDRESS, { createdAt: 4, id: ids[3] ?? 0 }, 10).map(({ id }) => id)).toEqual([
    ids[0] ?? 0,
  ]);
  expect(on.recipients.listToErase(1, ADDRESS, 1)).toEqual([
    {
      ...{ id: ids[3] ?? 0, uid: "e4", recipient: "Maria@example.com", status: "queued", createdAt: 4 },
      isRunning: false,
    },
  ]);
  const plan = on.db.sqlite
    .query<{ detail: string }, []>(
      "EXPLAIN QUERY PLAN SELECT id FROM email WHERE workspace_id = 1 AND recipient_address = 'a' AND (created_at, id) < (1, 1) ORDER BY created_at DESC, id DESC LIMIT 5",
    )
    .all();
  expect(plan.map(({ detail }) => detail).join()).toMatch(/email_to/);
});

test("an email loses recipient, words and content; what is written later about it has no words either", () => {
  using on = scene();
  const [id, other] = [on.add(1), on.add(1, "joao@example.com")];
  on.attempt(id, 1);
  on.attempt(other, 1);
  on.recipients.erase({ id, workspaceId: 1 });
  expect([on.removed, on.recipients.list(1, ADDRESS, NEWEST, 10)]).toEqual([[[1, 7]], []]);
  on.attempt(id, 2);
  const end = { status: "bounced", endedAt: 3, attempts: 2, failedReason: "550 maria@ is unknown" } as const;
  on.emails.setEnd(id, end, "queued");
  on.emails.setEnd(other, end, "queued");
  const found = on.emails.findForDelivery(id);
  expect(found).toMatchObject({
    email: { recipient: "erased@erased.invalid", subject: "[erased]", failedReason: "[erased]", isErased: true },
    body: null,
  });
  for (const { reply, tries, dialogue, host, code } of on.emails.listAttempts(id, 10))
    expect([reply, tries, dialogue, host, code]).toEqual(["[erased]", null, null, "mx.test", 550]);
  expect(on.emails.listAttempts(other, 1)).toMatchObject([{ reply: "maria@ is unknown", tries: "[]" }]);
  expect(on.emails.findForDelivery(other)?.email).toMatchObject({
    subject: "Olá Maria",
    failedReason: end.failedReason,
  });
  expect([on.emails.isErased(id), on.emails.isErased(other)]).toEqual([true, false]);
});

test("an end without a reason has none when it is erased", () => {
  using on = scene();
  const id = on.add(1);
  on.recipients.erase({ id, workspaceId: 1 });
  on.emails.setEnd(id, { status: "delivered", endedAt: 3, attempts: 1 }, "queued");
  expect(on.emails.findForDelivery(id)?.email.failedReason).toBeNull();
});

describe("of a group", () => {
  const PEOPLE = [
    ["to", "Maria@example.com", "Maria"],
    ["cc", "joao@example.com", null],
    ["bcc", "zeca@example.com", null],
  ] as const;

  function group() {
    const on = scene();
    const shared = {
      ...{ sender: "a@b.test", senderAddress: "a@b.test", senderDomain: "b.test", subject: "Olá", replyTo: null },
      ...{ workspaceId: 1, domainId: 1, returnPath: "b+x@b.test", createdAt: 1, tag: "receipt" },
    };
    const extra = packExtra({
      ...{ recipients: [...PEOPLE], replyTo: null, headers: { "X-A": "1" }, metadata: { order: "4711" } },
      ...{ unsubscribe: null, attachmentBytes: null },
    });
    let groupId: number | null = null;
    const ids = PEOPLE.map(([kind, recipient, recipientName]) => {
      const own = { uid: recipient, kind, recipient, recipientName, recipientAddress: recipient.toLowerCase() };
      const body = {
        content: Buffer.from("Bom dia"),
        htmlBytes: null,
        textBytes: 7,
        encoding: "plain",
        mime: null,
      } as const;
      const id: number = on.emails.insert({
        ...USUAL,
        ...{ ...shared, ...own },
        ...(groupId === null ? { body, extra, startsGroup: true } : { body: null, groupId }),
      });
      groupId ??= id;
      return id;
    });
    const listStored = () =>
      on.db.sqlite.query<{ recipients: string }, []>("SELECT recipients FROM email_extra").get()?.recipients;
    return { ...on, ids, listStored, [Symbol.dispose]: () => on.db.close() };
  }

  test("one that is erased leaves the content to the others, without its address, and sees none of it", () => {
    using on = group();
    const [first = 0, second = 0, third = 0] = on.ids;
    on.recipients.erase({ id: first, workspaceId: 1 });
    expect(on.removed).toEqual([]);
    expect(on.listStored()).toBe('[["cc","joao@example.com",null],["bcc","zeca@example.com",null]]');
    expect(on.emails.findForDelivery(first)).toMatchObject({
      ...{ body: null, extra: null, groupUid: "Maria@example.com" },
      email: { recipient: "erased@erased.invalid", recipientName: null },
    });
    const seen = { body: { textBytes: 7 }, extra: { headers: '[["X-A","1"]]' }, groupUid: "Maria@example.com" };
    for (const id of [second, third]) expect(on.emails.findForDelivery(id)).toMatchObject(seen);
  });

  test("all of it goes with the last", () => {
    using on = group();
    for (const id of on.ids.toReversed()) on.recipients.erase({ id, workspaceId: 1 });
    expect(on.removed).toEqual([[1, 7]]);
    expect(on.db.sqlite.query("SELECT * FROM email_extra").all()).toEqual([]);
    expect(on.db.sqlite.query("SELECT * FROM email_body").all()).toEqual([]);
  });
});
