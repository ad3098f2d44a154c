// `pombo doctor`: what stands between a message and its reader, and what to do about it.

import { findIds, FINDING_IDS, GROUPS } from "../../modules/doctor/catalog.ts";
import type { DoctorReport } from "../../modules/doctor/schema.ts";
import type { OperatorCommand } from "../client/operator-command.ts";
import { UsageError } from "../framework/definition.ts";
import { type Colour, paint } from "../framework/screen.ts";
import { sendTest } from "./doctor-test.ts";
import { count, plain, plainLines } from "../framework/text.ts";

type Report = typeof DoctorReport.static;
type Shown = Report["findings"][number];
type Level = Shown["level"];

const COLOURS: Record<Level, Colour> = { ok: "green", warning: "yellow", unknown: "yellow", problem: "red" };

export const doctor: OperatorCommand = {
  name: "doctor",
  options: {
    domain: { value: "NAME", about: "of the sending domains only this one" },
    only: { value: "ID,…", about: "only these findings, or groups of them: pombo doctor --only name,spf" },
    "send-test": {
      value: "ADDRESS",
      about:
        "send one real message there instead, from --domain, and show what is said over it and what a reply quotes",
    },
    rdap: { about: "ask the registries how old the domains are" },
  },
  about:
    "Look at this instance as the world sees it, and say what to do next. Works before the first start too. Exit code 0: no problem, 1: a problem.",
  async run(work) {
    const { api, args } = work;
    const to = args.text("send-test");
    if (to !== undefined) return sendTest(work, to);
    const query = new URLSearchParams();
    const domain = args.text("domain");
    if (domain !== undefined) query.set("domain", domain);
    const only = args.text("only");
    if (only !== undefined) query.set("only", checkOnly(only));
    if (args.isSet("rdap")) query.set("rdap", "true");
    const found = await api.call<Report>("POST", `/operator/doctor${query.size === 0 ? "" : `?${query.toString()}`}`);
    const hasProblem = found.findings.some(({ level }) => level === "problem");
    return { kind: "words", data: found, words: format(found), exitCode: hasProblem ? 1 : 0 };
  },
};

/** Throws UsageError, so that a mistyped id is not taken for a healthy one. */
function checkOnly(text: string): string {
  const words = text.split(",").map((word) => word.trim());
  const stranger = words.find((word) => findIds(word) === null);
  if (stranger === undefined) return words.join(",");
  throw new UsageError(
    `--only knows no ${plain(stranger)}. Groups: ${GROUPS.join(", ")}. Ids: ${FINDING_IDS.join(", ")}.`,
  );
}

/** Troubles first, each with its step beneath; then what is well, in one line each. */
function format({ findings, tookMs }: Report): string {
  if (findings.length === 0) return "There is nothing to look at: what you named is not set up here.";
  const width = Math.max(...findings.map(({ id }) => id.length));
  const lines = findings.map((finding) => formatFinding(finding, width));
  const numbers = (["problem", "warning", "unknown", "ok"] as const).flatMap((level) => {
    const number = findings.filter((finding) => finding.level === level).length;
    if (number === 0) return [];
    return level === "ok" ? `${number} ok` : level === "unknown" ? `${number} unknown` : count(number, level);
  });
  return [...lines, "", `${numbers.join(", ")}; looked for ${((tookMs ?? 0) / 1_000).toFixed(1)} s.`].join("\n");
}

function formatFinding({ id, level, seen, step }: Shown, width: number): string {
  const word = paint(level.padEnd("problem".length), COLOURS[level]);
  const head = `${word}  ${id.padEnd(width)}  ${plain(seen)}`;
  if (step === null) return head;
  const lines = plainLines(step).split("\n");
  return [head, ...lines.map((line) => (line === "" ? "" : `    ${line}`)), ""].join("\n");
}
