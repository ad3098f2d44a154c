import { expect, test } from "bun:test";
import {
  type RefusedRecipient,
  RefusalWatch,
  type Suppressing,
} from "../../../../../src/modules/emails/delivery/refusal-watch.ts";

const MINUTE = 60_000;
const START = 1_000 * MINUTE;
const recipient = (n: number, workspaceId = 1) => ({ workspaceId, address: `user${n}@example.com` });

/** A hard answer whose consequence is written at once. */
function hardAnswer(watch: RefusalWatch, site: string, whom: RefusedRecipient, now: number): Suppressing {
  watch.noteHard(site, whom.workspaceId, now);
  const suppressing = watch.decide(site, whom, now);
  if (suppressing.kind === "held") watch.forget(site, suppressing.earlier);
  return suppressing;
}

/** Hard answers one after another, `everyMs` apart; how each was treated. */
function hardAnswers(
  watch: RefusalWatch,
  count: number,
  options: { from?: number; everyMs?: number; site?: string } = {},
) {
  const { from = START, everyMs = 1_000, site = "mx.example.com" } = options;
  return Array.from({ length: count }, (_, n) => hardAnswer(watch, site, recipient(n), from + n * everyMs));
}

test("nineteen hard answers suppress, the twentieth does not, and takes the others back", () => {
  const treated = hardAnswers(new RefusalWatch(), 21);
  expect(treated.slice(0, 19).every(({ kind }) => kind === "now")).toBe(true);
  expect(treated[19]).toEqual({ kind: "held", earlier: Array.from({ length: 19 }, (_, n) => recipient(n)) });
  expect(treated[20]).toEqual({ kind: "held", earlier: [] });
});

test("of a site that mostly says something else they suppress, however many", () => {
  const watch = new RefusalWatch();
  for (let n = 0; n < 100; n++) {
    watch.noteReply("mx.example.com", 1, START + n);
    expect(hardAnswer(watch, "mx.example.com", recipient(n), START + n).kind).toBe("now");
  }
});

test("exactly half is not over half", () => {
  const watch = new RefusalWatch();
  for (let n = 0; n < 20; n++) watch.noteReply("mx.example.com", 1, START);
  expect(hardAnswers(watch, 20, { everyMs: 0 }).at(-1)?.kind).toBe("now");
  expect(hardAnswers(watch, 1).at(-1)?.kind).toBe("held");
});

test("what is over ten minutes old no longer counts", () => {
  const watch = new RefusalWatch();
  hardAnswers(watch, 19);
  expect(hardAnswers(watch, 1, { from: START + 12 * MINUTE })[0]?.kind).toBe("now");
  expect(hardAnswers(new RefusalWatch(), 60, { everyMs: MINUTE }).every(({ kind }) => kind === "now")).toBe(true);
});

test("one site's mass is not another's", () => {
  const watch = new RefusalWatch();
  hardAnswers(watch, 30);
  expect(hardAnswers(watch, 1, { site: "mx.example.net" })[0]?.kind).toBe("now");
});

test("the clock set back does not break it", () => {
  const watch = new RefusalWatch();
  hardAnswers(watch, 10);
  expect(hardAnswers(watch, 25, { from: START - 60 * MINUTE }).some(({ kind }) => kind === "held")).toBe(true);
});

test("a decision asked for again counts nothing twice, and one that was never kept loses nobody", () => {
  const watch = new RefusalWatch();
  const site = "mx.example.com";
  hardAnswers(watch, 18);
  watch.noteHard(site, 1, START);
  // The transaction is rolled back and tried again, and again.
  for (let time = 0; time < 5; time++) expect(watch.decide(site, recipient(18), START).kind).toBe("now");
  watch.noteHard(site, 1, START);
  const everybody = { kind: "held", earlier: Array.from({ length: 19 }, (_, n) => recipient(n)) } as const;
  for (let time = 0; time < 3; time++) expect(watch.decide(site, recipient(19), START)).toEqual(everybody);
  watch.forget(site, everybody.earlier);
  expect(watch.decide(site, recipient(19), START)).toEqual({ kind: "held", earlier: [] });
});

test("one workspace's mass holds its own recipients and nobody else's, before and after it", () => {
  const watch = new RefusalWatch();
  const site = "mx.example.com";
  expect(hardAnswer(watch, site, recipient(0, 2), START).kind).toBe("now");
  const treated = hardAnswers(watch, 40);
  expect(treated[19]).toEqual({ kind: "held", earlier: Array.from({ length: 19 }, (_, n) => recipient(n)) });
  for (let n = 1; n < 19; n++) expect(hardAnswer(watch, site, recipient(n, 2), START).kind).toBe("now");
});

test("small parts of several workspaces are a mass together, where no one of them makes it", () => {
  const watch = new RefusalWatch();
  const site = "mx.example.com";
  // Five each of four workspaces: without the largest other one there are fifteen.
  for (let n = 0; n < 20; n++) expect(hardAnswer(watch, site, recipient(n, 1 + (n % 4)), START + n).kind).toBe("now");
  for (let n = 0; n < 4; n++) expect(hardAnswer(watch, site, recipient(n, 5), START).kind).toBe("now");
  const last = hardAnswer(watch, site, recipient(4, 5), START);
  // All five were refused alike, and all of theirs are held.
  expect([last.kind, last.kind === "held" ? last.earlier.length : 0]).toEqual(["held", 24]);
});

test("other workspaces' delivered mail shows that a site works", () => {
  const watch = new RefusalWatch();
  const site = "mx.example.com";
  for (let n = 0; n < 100; n++) watch.noteReply(site, 1 + (n % 5), START);
  for (let n = 0; n < 60; n++) expect(hardAnswer(watch, site, recipient(n, 1 + (n % 5)), START).kind).toBe("now");
});

test("workspaces whose answers are too old are forgotten", () => {
  const watch = new RefusalWatch();
  for (let n = 0; n < 18; n++) hardAnswer(watch, "mx.example.com", recipient(n, n), START);
  const later = START + 11 * MINUTE;
  for (let n = 0; n < 19; n++) expect(hardAnswer(watch, "mx.example.com", recipient(n), later).kind).toBe("now");
});

test("a workspace that mails to any number of sites has its own answers forgotten, those of longest ago, and nobody else's", () => {
  const watch = new RefusalWatch();
  const mail = (count: number, from = 0) => {
    for (let n = from; n < from + count; n++) watch.noteReply(`mx.s${n}.example`, 2, START);
  };
  const refuse = (n: number, by: number) => hardAnswer(watch, `mx.of${by}.example`, recipient(n, by), START).kind;
  for (const by of [1, 2, 3]) for (let n = 0; n < 19; n++) refuse(n, by);
  mail(4_000);
  expect(refuse(19, 2)).toBe("held");
  mail(10_000, 4_000);
  expect([1, 2, 3].map((by) => refuse(20, by))).toEqual(["held", "now", "held"]);
});

test("what is too old goes first: many workspaces that sent something once take no room", () => {
  const watch = new RefusalWatch();
  for (let n = 0; n < 5_100; n++) watch.noteReply("mx.example.com", 100 + n, START);
  const later = START + 11 * MINUTE;
  for (let n = 0; n < 4_000; n++) watch.noteReply(`mx.s${n}.example`, 1, later);
  for (let n = 0; n < 19; n++) {
    for (const site of ["mx.s0.example", "mx.s3999.example"]) hardAnswer(watch, site, recipient(n), later);
  }
  for (const site of ["mx.s0.example", "mx.s3999.example"])
    expect(hardAnswer(watch, site, recipient(19), later).kind).toBe("held");
});
