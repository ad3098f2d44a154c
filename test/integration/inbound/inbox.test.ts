// What came for the operator: kept whole, listed, shown, deleted, forgotten after 30 days or when there is too much.

import { expect, setDefaultTimeout, test } from "bun:test";
import { startHeld } from "../../support/api/kit.ts";
import { startAtNoon } from "../../support/api/one-email.ts";
import { temporaryDatabase } from "../../support/db/temporary.ts";
import { bytes, mail } from "../../support/dsn/mails.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { MAX_MAILS, openInboxStore } from "../../../src/modules/inbound-mail/store.ts";
import { inboxOf, inboundMessage, rowsOf } from "../../support/inbound/messages.ts";

setDefaultTimeout(30_000);

const INBOX = "/api/v1/operator/inbox";
const list = async ({ operator }: Instance, query = ""): Promise<Json> =>
  (await operator.call("GET", `${INBOX}${query}`)).body;

test("mail to postmaster and abuse is kept byte for byte, with who brought it, and nothing goes out for it", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const content = bytes(
    "From: =?utf-8?q?Jos=C3=A9?= <jose@example.net>\nSubject: =?utf-8?b?T2zDoQ==?=\n\n\u0000\u001B[31m\u00FF",
  );
  const destinations = (["postmaster", "abuse"] as const).map((mailbox) => ({ kind: "person", mailbox }) as const);
  await pombo.app.receive(inboundMessage(content, { destinations, envelopeFrom: "jose@example.net" }));
  const { data, meta } = await list(pombo);
  expect(data.map(({ mailbox }: Json) => mailbox)).toEqual(["abuse", "postmaster"]);
  expect(meta).toEqual({ has_more: false, next_cursor: null });
  const listed = { from: "José <jose@example.net>", subject: "Olá", receivedAt: "2026-11-21T12:00:00.000Z" };
  expect(data[0]).toEqual({ id: expect.any(String), mailbox: "abuse", ...listed });
  const one = (await pombo.operator.call("GET", `${INBOX}/${data[0].id.toUpperCase()}`)).body.data;
  expect(one).toEqual({
    ...data[0],
    ...{ envelopeFrom: "jose@example.net", helo: "mx1.example.net", clientAddress: "192.0.2.7", tls: true },
    ...{ size: content.byteLength, content: Buffer.from(content).toString("base64") },
  });
  expect([pombo.mx.connections.length, rowsOf(pombo, "email_queue"), pombo.bugs]).toEqual([0, 0, []]);
});

test("mail without a header, and with the most that one can hold, is kept too", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const huge = `Subject: ${"x".repeat(300_000)}\r\nFrom: ${"é".repeat(5_000)}\r\n\r\n`;
  for (const text of ["", "\r\n", "no header at all", huge, "Subject:\r\n\r\n"])
    await pombo.app.receive(inboundMessage(Buffer.from(text)));
  const { data } = await list(pombo);
  expect(data).toHaveLength(5);
  for (const { subject, from } of data) {
    expect((subject ?? "").length).toBeLessThanOrEqual(500);
    expect((from ?? "").length).toBeLessThanOrEqual(500);
  }
});

test("the list goes on by cursor, a deleted mail is gone, and another list's cursor is none", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  for (let n = 0; n < 5; n++) await pombo.app.receive(inboundMessage(mail({ subject: `${n}`, text: "x" })));
  const first = await list(pombo, "?limit=3");
  const second = await list(pombo, `?limit=3&cursor=${first.meta.next_cursor}`);
  expect([...first.data, ...second.data].map(({ subject }: Json) => subject)).toEqual(["4", "3", "2", "1", "0"]);
  const { id } = first.data[1];
  const path = `${INBOX}/${id}`;
  expect((await pombo.operator.call("DELETE", path)).body).toEqual({ data: { id, deleted: true } });
  for (const method of ["GET", "DELETE"]) expect((await pombo.operator.call(method, path)).status).toBe(404);
  expect((await list(pombo)).data).toHaveLength(4);
  const domains = await pombo.operator.call("GET", `/api/v1/operator/domains?cursor=${first.meta.next_cursor}`);
  expect(domains.status).toBe(422);
});

test("mail is forgotten after 30 days", async () => {
  await using held = await startHeld(Date.UTC(2026, 11, 21, 12));
  const { pombo, clock } = held;
  const receivedAt = clock.now() - 30 * 86_400_000;
  for (let n = 0; n < 45; n++) await pombo.app.receive(inboundMessage(mail({ text: "old" }), { receivedAt }));
  await pombo.app.receive(inboundMessage(mail({ subject: "new", text: "x" }), { receivedAt: receivedAt + 3_600_000 }));
  for (let step = 0; step < 8; step++) {
    clock.advance(step === 0 ? 10 * 60_000 : 1);
    await pombo.app.committer.commit(() => undefined);
  }
  expect((await list(pombo)).data.map(({ subject }: Json) => subject)).toEqual(["new"]);
});

test("while the disk is low mail for people is put off", async () => {
  let freeBytes = 1e12;
  await using held = await startHeld(Date.UTC(2026, 10, 21), {
    readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
    configure: (config) => void (config.disk.minFreeBytes = 1_000),
  });
  const { pombo, clock } = held;
  freeBytes = 10;
  clock.advance(6_000);
  await expect(pombo.app.receive(inboundMessage(mail({ text: "x" })))).rejects.toThrow("free");
  freeBytes = 1e12;
  clock.advance(6_000);
  await pombo.app.receive(inboundMessage(mail({ text: "x" })));
  expect([await inboxOf(pombo), pombo.bugs]).toEqual([["postmaster"], []]);
});

test("a flood of one network, or of one provider's, washes nobody else's mail away, not in the same mailbox either", () => {
  using of = temporaryDatabase();
  const inbox = openInboxStore(of.db);
  const add = (uid: string, mailbox: "postmaster" | "abuse", clientAddress: string, bytesOfIt = 1) =>
    inbox.add({
      ...{ uid, mailbox, envelopeFrom: "", sender: null, subject: null, receivedAt: 0, helo: "" },
      ...{ clientAddress, isTls: false, size: bytesOfIt, content: Buffer.alloc(bytesOfIt) },
    });
  of.db.sqlite.run("PRAGMA synchronous = OFF");
  of.db.sqlite.transaction(() => {
    add("old", "postmaster", "192.0.2.7");
    add("large", "postmaster", "2001:db8:1::1", 30 * 1024 * 1024);
    add("other", "abuse", "203.0.113.1");
    for (let n = 0; n < MAX_MAILS + 20; n++) add(`host ${n}`, "postmaster", "198.51.100.9");
    // Each from a host and a site of its own.
    for (let n = 0; n < 300; n++) add(`site ${n}`, "postmaster", `2001:db9:${n.toString(16)}::1`);
    for (let n = 0; n < 3; n++) add(`bytes ${n}`, "postmaster", "198.51.100.9", 40 * 1024 * 1024);
  })();
  const kept = inbox.list(null, 2_000).map(({ uid }) => uid);
  expect(kept.filter((uid) => !/^(?:host|site) /.test(uid))).toEqual(["bytes 2", "other", "large", "old"]);
  expect(kept).toContain("site 299");
});

test("the oldest goes when there are too many, or when they take too much", () => {
  using of = temporaryDatabase();
  const inbox = openInboxStore(of.db);
  const add = (n: number, bytesOfIt: number) =>
    inbox.add({
      ...{ uid: `${n}`, mailbox: "postmaster", envelopeFrom: "", sender: null, subject: null, receivedAt: n, helo: "" },
      ...{ clientAddress: "", isTls: false, size: bytesOfIt, content: Buffer.alloc(bytesOfIt) },
    });
  of.db.sqlite.run("PRAGMA synchronous = OFF");
  of.db.sqlite.transaction(() => {
    for (let n = 0; n < MAX_MAILS + 5; n++) add(n, 1);
  })();
  const kept = () => inbox.list(null, 2_000).map(({ uid }) => Number(uid));
  expect([kept().length, kept()[0], kept().at(-1)]).toEqual([MAX_MAILS, MAX_MAILS + 4, 5]);
  for (let n = 2_000; n < 2_004; n++) add(n, 40 * 1024 * 1024);
  expect(kept()).toEqual([2_003, 2_002]);
});
