import { expect, test } from "bun:test";
import { RefusalWatch } from "../../src/emails/refusals.ts";

const MINUTE = 60_000;
const START = 1_000 * MINUTE;
const recipient = (n: number) => ({ workspaceId: 1, address: `user${n}@example.com` });

/** Hard answers one after another, `everyMs` apart; how each was treated. */
function hardAnswers(
  watch: RefusalWatch,
  count: number,
  options: { from?: number; everyMs?: number; site?: string } = {},
) {
  const { from = START, everyMs = 1_000, site = "mx.example.com" } = options;
  return Array.from({ length: count }, (_, n) => watch.noteHard(site, recipient(n), from + n * everyMs));
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
    watch.noteReply("mx.example.com", START + n);
    expect(watch.noteHard("mx.example.com", recipient(n), START + n).kind).toBe("now");
  }
});

test("exactly half is not over half", () => {
  const watch = new RefusalWatch();
  for (let n = 0; n < 20; n++) watch.noteReply("mx.example.com", START);
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
