import { expect, test } from "bun:test";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { JUDGED } from "../../../support/dsn/corpus-judged.ts";
import {
  bounceSamples,
  complaintSamples,
  isCorpusHere,
  isInFirstHalf,
  percent,
  type Score,
  score,
} from "../../../support/dsn/corpus.ts";

function print(name: string, { class: codes, hard, complaints, answers }: Score): void {
  const [coded, hards] = [codes.right + codes.wrong.length, hard.found + hard.missed.length];
  console.log(
    [
      `bounce corpus, ${name}: permanent or passing ${codes.right}/${coded} (${percent(codes.right, coded)})`,
      `to suppress ${hard.found}/${hards} found (${percent(hard.found, hards)}), ${hard.false.length} false of ${hard.false.length + hard.spared}`,
      `complaints ${complaints.right}/${complaints.right + complaints.wrong.length}`,
      `automatic answers ${answers.right}/${answers.right + answers.wrong.length}`,
    ].join("; "),
  );
}

test.skipIf(!isCorpusHere)(
  "real bounces are told permanent from passing, and nobody is suppressed without cause",
  () => {
    const samples = bounceSamples("judged");
    const all = score(samples);
    print("the half the rules were written on", score(samples.filter(isInFirstHalf)));
    print("the other half", score(samples.filter((sample) => !isInFirstHalf(sample))));
    print("all", all);
    console.log(`wrong: ${all.class.wrong.join(" ")}; missed: ${all.hard.missed.join(" ")}`);
    expect(all.hard.false).toEqual([]);
    expect(all.complaints.wrong).toEqual([]);
    expect(all.answers.wrong).toEqual([]);
    expect(all.class.right / (all.class.right + all.class.wrong.length)).toBeGreaterThanOrEqual(0.97);
    expect(all.hard.found / (all.hard.found + all.hard.missed.length)).toBeGreaterThanOrEqual(0.95);
  },
);

test.skipIf(!isCorpusHere)("by the labels as they came: no mail is wrong but those that were judged anew", () => {
  const raw = score(bounceSamples("raw"));
  print("all, raw labels", raw);
  expect(raw.hard.found / (raw.hard.found + raw.hard.missed.length)).toBeGreaterThanOrEqual(0.95);
  expect([...raw.hard.missed, ...raw.hard.false].filter((name) => JUDGED[name] === undefined)).toEqual([]);
  expect(raw.hard.false.length).toBeLessThanOrEqual(3);
});

test.skipIf(!isCorpusHere)("the same bytes with CRLF, as they come by SMTP, mean the same", () => {
  for (const { name, bytes } of bounceSamples("raw")) {
    const crlf = Buffer.from(Buffer.from(bytes).toString("latin1").replace(/\r?\n/g, "\r\n"), "latin1");
    const lf = Buffer.from(Buffer.from(bytes).toString("latin1").replace(/\r\n/g, "\n"), "latin1");
    expect([name, parseReport(crlf)]).toEqual([name, parseReport(lf)]);
  }
});

test.skipIf(!isCorpusHere)("every complaint is one, with the type that its fields say", () => {
  for (const { name, bytes, expected } of complaintSamples()) {
    const report = parseReport(bytes);
    if (report.kind !== "complaint") throw new Error(`${name} is read as ${report.kind}`);
    if (expected === null) continue;
    const type = (expected["feedback_type"] ?? "").replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
    expect([name, report.feedbackType]).toEqual([name, type]);
  }
});
