/** The corpora of real reports that may lie beside the project, and the score of the parser on them. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { parseReport, type Report } from "../../../src/protocols/dsn/parse-report.ts";
import { JUDGED } from "./corpus-judged.ts";

const FOLDER = new URL("../../../../shared/corpora/", import.meta.url).pathname;

export const isCorpusHere = existsSync(FOLDER);
if (!isCorpusHere)
  console.warn("skipped: the corpora of reports are not here (../shared/corpora); the parser is not scored");

/** What somebody says of one recipient of a report. */
interface Label {
  status: string;
  replycode: string;
  reason: string;
  hardbounce: boolean;
}

interface Sample {
  name: string;
  bytes: Uint8Array;
  /** One for each recipient; empty where the file has none. */
  labels: Label[];
}

/** With the labels as they came, or with those that were judged anew (corpus-judged.ts). */
export function bounceSamples(labelled: "raw" | "judged"): Sample[] {
  const given = JSON.parse(readFileSync(`${FOLDER}bounces/labels.json`, "utf8")) as Record<string, Label[]>;
  return mailsIn("bounces").map(({ name, bytes }) => {
    const labels = given[name] ?? [];
    const judged = labelled === "judged" ? JUDGED[name]?.[0] : undefined;
    return { name, bytes, labels: labels.map((label) => ({ ...label, hardbounce: judged ?? label.hardbounce })) };
  });
}

export function complaintSamples(): {
  name: string;
  bytes: Uint8Array;
  expected: Record<string, string | null> | null;
}[] {
  return mailsIn("complaints").map(({ name, bytes }) => {
    const path = `${FOLDER}complaints/${name.replace(/\.eml$/, ".json")}`;
    const expected = existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, string | null>)
      : null;
    return { name, bytes, expected };
  });
}

function mailsIn(folder: string): { name: string; bytes: Uint8Array }[] {
  return readdirSync(`${FOLDER}${folder}`)
    .filter((name) => name.endsWith(".eml"))
    .map((name) => ({ name, bytes: readFileSync(`${FOLDER}${folder}/${name}`) }));
}

export interface Score {
  /** Permanent or passing, where the label has a code of its own: the names of those that are wrong. */
  class: { right: number; wrong: string[] };
  /** To suppress or not. */
  hard: { found: number; missed: string[]; spared: number; false: string[] };
  complaints: { right: number; wrong: string[] };
  answers: { right: number; wrong: string[] };
}

export function score(samples: Sample[]): Score {
  const result: Score = {
    class: { right: 0, wrong: [] },
    hard: { found: 0, missed: [], spared: 0, false: [] },
    complaints: { right: 0, wrong: [] },
    answers: { right: 0, wrong: [] },
  };
  const count = (part: { right: number; wrong: string[] }, isRight: boolean, name: string) => {
    if (isRight) part.right += 1;
    else part.wrong.push(name);
  };
  for (const { name, bytes, labels } of samples) {
    const report = parseReport(bytes);
    for (const [at, label] of labels.entries()) {
      if (label.reason === "feedback") count(result.complaints, report.kind === "complaint", name);
      else if (label.reason === "vacation") count(result.answers, report.kind === "auto_reply", name);
      // Suspended mailboxes are labelled soft; here they are inactive mailboxes, which suppress.
      else if (label.reason !== "suspend") {
        const truth = classOf(label);
        if (truth !== null) count(result.class, saidClass(report, at, labels.length) === truth, name);
        const isHard = recipientAt(report, at, labels.length)?.isHard ?? false;
        if (label.hardbounce && isHard) result.hard.found += 1;
        else if (label.hardbounce) result.hard.missed.push(name);
        else if (isHard) result.hard.false.push(name);
        else result.hard.spared += 1;
      }
    }
  }
  return result;
}

/** "5" or "4" as the mail itself says it; codes x.0.9xx are the labeller's own. */
function classOf({ status, replycode }: Label): string | null {
  const code = /^\d\.0\.9\d\d$/.test(status) ? replycode : status || replycode;
  return /^[45]/.exec(code)?.[0] ?? null;
}

function saidClass(report: Report, at: number, of: number): string | null {
  if (report.kind === "delayed") return "4";
  const recipient = recipientAt(report, at, of);
  return recipient === null ? null : recipient.isPermanent ? "5" : "4";
}

/** What is said of the recipient of a label: labels are in the order of the mail, where the report tells as many apart. */
function recipientAt(report: Report, at: number, of: number) {
  if (report.kind !== "bounce") return null;
  return report.recipients.length === of ? (report.recipients[at] ?? null) : report;
}

/** Which half a file is in: the rules were written on the first, and measured on the second before anybody looked at it. */
export function isInFirstHalf({ name }: { name: string }): boolean {
  return (createHash("sha256").update(name).digest()[0] ?? 0) % 2 === 0;
}

export function percent(part: number, of: number): string {
  return of === 0 ? "–" : `${((100 * part) / of).toFixed(1)} %`;
}
