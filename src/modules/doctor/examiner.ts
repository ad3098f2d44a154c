// Runs of the doctor, one at a time: whoever wishes for the same while one is under way gets what that one finds.

import type { Context } from "../../platform/context.ts";
import { type FindingId, isAboutDomain } from "./catalog.ts";
import type { DomainView } from "./domain-view.ts";
import type { Finding } from "./finding.ts";
import type { Results } from "./results.ts";
import { examine } from "./run.ts";
import { openWorld } from "./open-world.ts";
import type { DoctorConfig, InstanceView, Outside } from "./world.ts";

/** The commands give an instance a minute to answer, in which a run in the background may have to end first. */
const SHORTEST_RUN_MS = 15_000;
const LONGEST_RUN_MS = 40_000;
const PER_DOMAIN_MS = 60;

export interface ExaminationWish {
  /** Null: all that are verified. */
  domain: string | null;
  /** Null: everything. */
  only: readonly FindingId[] | null;
  rdap: boolean;
}

export interface Examination {
  findings: Finding[];
  /** Unix ms. */
  at: number;
  tookMs: number;
}

interface ExaminerDeps extends Pick<Context, "clock" | "steady" | "log"> {
  config: DoctorConfig;
  outside: Outside;
  results: Results;
  findInstance: () => InstanceView | null;
  isGone: (domain: string) => boolean;
  stopping: AbortSignal;
}

/** The returned function runs: `domains` in their order, as far as the questions go. */
export function createExaminer(deps: ExaminerDeps) {
  let last: Promise<unknown> = Promise.resolve();
  const underWay = new Map<string, Promise<Examination>>();
  return (wish: ExaminationWish, questions: number, domains: readonly DomainView[]): Promise<Examination> => {
    const key = JSON.stringify([wish, questions]);
    const present = underWay.get(key);
    if (present !== undefined) return present;
    const next = last.then(() => examineNow(wish, { questions, domains }, deps));
    last = next.catch(() => undefined);
    const shared = next.finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };
}

async function examineNow(
  wish: ExaminationWish,
  { questions, domains }: { questions: number; domains: readonly DomainView[] },
  deps: ExaminerDeps,
): Promise<Examination> {
  const { config, outside, clock, steady, log, stopping } = deps;
  const [at, startedAt] = [clock.now(), steady.now()];
  const ending = new AbortController();
  const limitMs = Math.min(LONGEST_RUN_MS, SHORTEST_RUN_MS + PER_DOMAIN_MS * domains.length);
  const cancel = steady.after(limitMs, () => ending.abort());
  try {
    const world = await openWorld(config, outside, {
      domains,
      questions,
      signal: AbortSignal.any([ending.signal, stopping]),
      instance: deps.findInstance(),
      rdap: wish.rdap,
    });
    const findings = await examine(world, wish.only, log);
    const run = { at, tookMs: steady.now() - startedAt };
    record(findings, { wish, run }, deps);
    return { findings, ...run };
  } finally {
    cancel();
  }
}

/** What a run did not look at stays as it was: findings that it was not asked for, and domains that it did not reach. */
function record(
  findings: readonly Finding[],
  { wish, run }: { wish: ExaminationWish; run: { at: number; tookMs: number } },
  { results, isGone }: Pick<ExaminerDeps, "results" | "isGone">,
): void {
  const names = findDomains(findings);
  const wanted = wish.only === null ? null : new Set(wish.only);
  results.record(findings, run, ({ id, subject = "" }) => {
    if (wanted !== null && !wanted.has(id)) return false;
    return !isAboutDomain(id) || names.has(subject) || isGone(subject);
  });
}

export function findDomains(findings: readonly Finding[]): Set<string> {
  return new Set(findings.flatMap(({ id, subject }) => (isAboutDomain(id) ? (subject ?? []) : [])));
}
