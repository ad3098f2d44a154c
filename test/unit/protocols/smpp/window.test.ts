import { expect, test } from "bun:test";
import { nextSequence, Window } from "../../../../src/protocols/smpp/window.ts";

function filled(size: number, count: number, at = 0): Window<string> {
  const window = new Window<string>(size);
  for (let sequence = 1; sequence <= count; sequence += 1) window.add(sequence, `s${sequence}`, at);
  return window;
}

test("an answer keeps its place until what it means is committed", () => {
  const window = filled(3, 3);
  expect(window.free).toBe(0);
  expect(window.answer(2)).toEqual({ kind: "answered", segment: "s2", sentAt: 0, isLate: false });
  expect(window.free).toBe(0);
  expect(window.settle(2)).toBe(true);
  expect(window.free).toBe(1);
  expect(window.settle(2)).toBe(false);
  expect(window.free).toBe(1);
});

test("answers in any order are taken; repeated and unknown ones are not", () => {
  const window = filled(3, 3);
  for (const sequence of [3, 1]) expect(window.answer(sequence)).toMatchObject({ segment: `s${sequence}` });
  for (const sequence of [3, 0, 4, 0x80000001]) expect(window.answer(sequence)).toEqual({ kind: "stray" });
  expect(window.abandon()).toEqual(["s2"]);
});

test("nothing is added to a full window", () => {
  expect(() => filled(2, 3)).toThrow("full");
});

test("what is overdue is late: its place stays taken, and a late answer still counts", () => {
  const window = filled(10, 1);
  window.add(2, "s2", 5);
  expect(window.deadline(30)).toBe(30);
  expect(window.expire(29, 30)).toEqual([]);
  expect(window.expire(30, 30)).toEqual(["s1"]);
  expect(window.deadline(30)).toBe(35);
  expect(window.taken).toBe(2);
  expect(window.answer(1)).toEqual({ kind: "answered", segment: "s1", sentAt: -Infinity, isLate: true });
  expect(window.abandon()).toEqual(["s2"]);
  expect(window.settle(1)).toBe(true);
  expect(window.deadline(30)).toBe(Infinity);
});

test("three timeouts in a row, or half of the window late, and the session is hopeless", () => {
  const three = filled(100, 3);
  three.expire(30, 30);
  expect(three.isHopeless).toBe(true);

  const interrupted = filled(100, 2);
  interrupted.expire(30, 30);
  interrupted.add(3, "s3", 40);
  interrupted.add(4, "s4", 40);
  interrupted.answer(4);
  interrupted.expire(70, 30);
  expect(interrupted.isHopeless).toBe(false);

  const small = filled(4, 2);
  small.expire(30, 30);
  expect(small.isHopeless).toBe(true);
});

test("sequence numbers rise to 0x7FFFFFFF and begin again at 1", () => {
  expect([nextSequence(0), nextSequence(0x7ffffffe), nextSequence(0x7fffffff)]).toEqual([1, 0x7fffffff, 1]);
});
