import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openInbox, summarize } from "../../../../src/sandbox/mx/inbox.ts";
import { lines, received } from "../../../support/sandbox/kit.ts";

const UNLIMITED = { maxMessages: 1_000, maxBytes: 1_000_000 };

test("the newest message is listed first and comes back as it was put in", () => {
  const inbox = openInbox(":memory:");
  inbox.add(received({ subject: "one" }));
  const id = inbox.add(received({ subject: "two", tls: null, envelopeFrom: "" }));
  expect(inbox.list().map((message) => message.subject)).toEqual(["two", "one"]);
  expect(inbox.get(id)).toMatchObject({ id, subject: "two", tls: null, envelopeFrom: "" });
  expect(Buffer.from(inbox.raw(id) ?? "")).toEqual(
    lines("From: Ada <ada@shop.example>", "Subject: Hello", "", "Good morning"),
  );
});

test("the inbox's files are for their owner alone, also one that was open to others", () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-inbox-"));
  try {
    const file = join(folder, "sandbox.db");
    writeFileSync(file, "", { mode: 0o644 });
    const inbox = openInbox(file);
    inbox.add(received());
    const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
    expect(modes.sort()).toEqual(["sandbox.db", "sandbox.db-shm", "sandbox.db-wal"].map((name) => [name, 0o600]));
    inbox.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the recipient filter matches the whole address without regard to case", () => {
  const inbox = openInbox(":memory:");
  inbox.add(received({ to: "Ada@Example.com" }));
  inbox.add(received({ to: "grace@example.com" }));
  expect(inbox.list({ to: "ada@example.COM" })).toHaveLength(1);
  expect(inbox.list({ to: "example.com" })).toHaveLength(0);
  expect(inbox.list({ to: "%" })).toHaveLength(0);
});

test("the oldest messages leave when there are too many", () => {
  const inbox = openInbox(":memory:", { ...UNLIMITED, maxMessages: 3 });
  for (const subject of ["1", "2", "3", "4", "5"]) inbox.add(received({ subject }));
  expect(inbox.list().map((message) => message.subject)).toEqual(["5", "4", "3"]);
});

test("the oldest messages leave when the inbox is too large, the newest never", () => {
  const inbox = openInbox(":memory:", { ...UNLIMITED, maxBytes: 1_000 });
  for (const subject of ["1", "2", "3"]) inbox.add(received({ subject, raw: Buffer.alloc(400) }));
  expect(inbox.list().map((message) => message.subject)).toEqual(["3", "2"]);
  inbox.add(received({ subject: "huge", raw: Buffer.alloc(5_000) }));
  expect(inbox.list().map((message) => message.subject)).toEqual(["huge"]);
});

test("an emptied inbox says how much it held and never uses an id again", () => {
  const inbox = openInbox(":memory:");
  const first = inbox.add(received());
  inbox.add(received());
  expect(inbox.clear(0)).toBe(2);
  expect(inbox.list()).toEqual([]);
  expect(Number(inbox.add(received()))).toBeGreaterThan(Number(first) + 1);
  expect(inbox.get(first)).toBeNull();
  expect(inbox.raw(first)).toBeNull();
});

test("a file keeps its messages, and their count against the limits, between runs", () => {
  inDirectory((directory) => {
    const file = join(directory, "sandbox.db");
    const before = openInbox(file);
    before.add(received({ subject: "kept" }));
    before.close();
    const after = openInbox(file, { ...UNLIMITED, maxMessages: 2 });
    after.add(received({ subject: "2" }));
    after.add(received({ subject: "3" }));
    expect(after.list().map((message) => message.subject)).toEqual(["3", "2"]);
    after.close();
  });
});

test("a file of another layout is emptied instead of refused", () => {
  inDirectory((directory) => {
    const file = join(directory, "sandbox.db");
    const other = new Database(file);
    other.run("CREATE TABLE messages (something TEXT)");
    other.run("PRAGMA user_version = 77");
    other.close();
    const inbox = openInbox(file);
    inbox.add(received());
    expect(inbox.list()).toHaveLength(1);
    inbox.close();
  });
});

test("one failing signature makes the summary fail, and no signature makes it none", () => {
  const signature = { domain: "x.example", selector: "s", algorithm: "rsa-sha256", reason: null };
  const pass = { ...signature, result: "pass" as const };
  expect(summarize([])).toBe("none");
  expect(summarize([pass, pass])).toBe("pass");
  expect(summarize([pass, { ...signature, result: "fail" }])).toBe("fail");
  expect(summarize([pass, { ...signature, result: "temperror" }])).toBe("fail");
});

function inDirectory(work: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), "pombo-inbox-"));
  try {
    work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
