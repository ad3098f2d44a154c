import { expect, test } from "bun:test";
import { createEventCursors } from "../../../../src/modules/events/cursor.ts";

const KEY = new Uint8Array(32).fill(7);

test("a cursor leads back to its place, and the same place has always the same one", () => {
  const cursors = createEventCursors(KEY);
  for (const id of [0, 1, 255, 256, 1_000_000, 2 ** 40, 2 ** 48 - 1]) {
    const cursor = cursors.write(3, id);
    expect([id, cursors.read(3, cursor)]).toEqual([id, id]);
    expect(createEventCursors(KEY).write(3, id)).toBe(cursor);
  }
});

test("nothing of the number of events can be seen in a cursor, nor how many lie between two", () => {
  const cursors = createEventCursors(KEY);
  const written = Array.from({ length: 100 }, (_, id) => Buffer.from(cursors.write(1, 1_000 + id), "base64url"));
  expect(new Set(written.map((bytes) => bytes.toString("hex"))).size).toBe(100);
  expect(written.every((bytes) => bytes.length === 16)).toBe(true);
  // Neighbours differ in about half of their bits, as chance would have it.
  const bits = (a: Buffer, b: Buffer) =>
    a.reduce((sum, byte, at) => sum + (byte ^ (b[at] ?? 0)).toString(2).replaceAll("0", "").length, 0);
  const distances = written.slice(1).map((bytes, at) => bits(bytes, written[at] ?? bytes));
  for (const distance of distances) expect(Math.abs(distance - 64)).toBeLessThan(40);
});

test("another workspace's cursor, another key's, a changed and a made-up one are none", () => {
  const cursors = createEventCursors(KEY);
  const cursor = cursors.write(1, 42);
  expect(cursors.read(2, cursor)).toBeNull();
  expect(createEventCursors(new Uint8Array(32)).read(1, cursor)).toBeNull();
  for (let at = 0; at < cursor.length; at += 1) {
    const other = cursor[at] === "A" ? "B" : "A";
    expect(cursors.read(1, cursor.slice(0, at) + other + cursor.slice(at + 1))).toBeNull();
  }
  for (const made of ["", "A", `${cursor}A`, cursor.slice(1), `${cursor}=`, ` ${cursor}`, "after 42", "YWZ0ZXIgNDI"])
    expect([made, cursors.read(1, made)]).toEqual([made, null]);
});
