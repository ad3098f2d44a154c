import { describe, expect, test } from "bun:test";
import { isMemberField, readMembers } from "../../../../../src/modules/emails/submitted/members.ts";
import { AppError } from "../../../../../src/platform/errors.ts";

type Taken = [name: string, value: string][];

const read = (...taken: Taken) => readMembers(taken.map(([name, value]) => ({ name, value })));

/** What is told of those that are not valid. */
function faultsOf(...taken: Taken): string[] {
  try {
    read(...taken);
  } catch (error) {
    if (error instanceof AppError && error.code === "VALIDATION_ERROR")
      return error.items?.map(({ message }) => message) ?? [];
    throw error;
  }
  return [];
}

test("fields of members are known by their lower-case name, and no others", () => {
  const members = [
    ...["x-pombo-tag", "x-pm-tag", "x-pombo-send-at", "x-pombo-unsubscribe-list", "x-pombo-idempotency-key"],
    ...["resend-idempotency-key", "x-pombo-metadata-a", "x-pm-metadata-a.b_c"],
  ];
  expect(members.filter((name) => !isMemberField(name))).toEqual([]);
  const others = [
    ...["from", "subject", "x-pombo-trace", "x-pombo-metadata-", "x-pm-message-stream", "tag", ""],
    // They are in every object.
    ...["constructor", "__proto__", "hasownproperty", "tostring"],
  ];
  expect(others.filter(isMemberField)).toEqual([]);
});

test("each is read in the spelling of its service", () => {
  expect(
    read(
      ["X-Pombo-Tag", "receipt"],
      ["x-pombo-send-at", "2026-11-22T08:00:00+02:00"],
      ["X-POMBO-UNSUBSCRIBE-LIST", "news"],
      ["X-Pombo-Idempotency-Key", " order-1 "],
      ["X-Pombo-Metadata-Order", "4711"],
      ["X-PM-Metadata-customer", "João"],
    ),
  ).toEqual({
    ...{ tag: "receipt", sendAt: "2026-11-22T08:00:00+02:00", list: "news", idempotencyKey: "order-1" },
    metadata: { Order: "4711", customer: "João" },
  });
  expect(read(["X-PM-Tag", "welcome"], ["Resend-Idempotency-Key", "k"])).toEqual({
    tag: "welcome",
    idempotencyKey: "k",
  });
});

test("without any there is none", () => {
  expect(read()).toEqual({ idempotencyKey: null });
});

test("of several of one member the first counts, of one metadata name the last", () => {
  expect(read(["X-Pombo-Tag", "a"], ["X-PM-Tag", "b"])).toMatchObject({ tag: "a" });
  expect(read(["X-Pombo-Metadata-A", "1"], ["X-PM-Metadata-A", "2"])).toMatchObject({ metadata: { A: "2" } });
});

test("an idempotency key that is empty is none, and a long one is cut at a whole character", () => {
  expect(read(["X-Pombo-Idempotency-Key", "  "]).idempotencyKey).toBeNull();
  expect(read(["X-Pombo-Idempotency-Key", "😀".repeat(300)]).idempotencyKey).toBe("😀".repeat(255));
});

describe("what is not valid", () => {
  test.each<[Taken[number], string]>([
    [["X-Pombo-Tag", "two words"], "X-Pombo-Tag "],
    [["X-PM-Tag", "a b"], "X-PM-Tag "],
    [["X-Pombo-Send-At", "tomorrow"], "X-Pombo-Send-At "],
    [["X-Pombo-Send-At", "2026-11-22T08:00:00"], "X-Pombo-Send-At "],
    [["x-pombo-unsubscribe-list", "a/b"], "x-pombo-unsubscribe-list "],
    [["X-Pombo-Metadata-A", "v".repeat(501)], "X-Pombo-Metadata-A "],
    [["X-PM-Metadata-a!b", "v"], "X-PM-Metadata-a!b "],
  ])("%j is told with the name of its field", (field, words) => {
    expect(faultsOf(field)).toEqual([expect.stringMatching(new RegExp(`^${words}`))]);
  });

  test("of metadata by two services' fields each is told by its own", () => {
    expect(faultsOf(["X-PM-Metadata-good", "v"], ["X-Pombo-Metadata-bad!", "v"])).toEqual([
      expect.stringMatching(/^X-Pombo-Metadata-bad! /),
    ]);
  });

  test("metadata that is too many or too much together names one of them", () => {
    const many = Array.from({ length: 60 }, (_, n): Taken[number] => [`X-Pombo-Metadata-k${n}`, "v"]);
    expect(faultsOf(...many)).toEqual([expect.stringMatching(/^X-Pombo-Metadata-k0 /)]);
  });

  test("a metadata name that every object has is a name like others", () => {
    const { metadata } = read(["X-Pombo-Metadata-constructor", "1"]);
    expect(Object.entries(metadata ?? {})).toEqual([["constructor", "1"]]);
  });
});
