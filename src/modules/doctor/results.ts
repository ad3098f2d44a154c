// What the last runs found, and what changed with each: alerts listen to that.

import { type FindingId, isAboutDomain } from "./catalog.ts";
import { type Finding, keyOf, type Level, worstFirst } from "./finding.ts";

/** `worse`: what began, or got worse. `better`: what ended or eased; of one that ended its level is ok. */
export type ChangeListener = (worse: Finding[], better: Finding[]) => void;

export interface LastRun {
  /** Unix ms. */
  at: number;
  tookMs: number;
}

const WEIGHT: Record<Exclude<Level, "unknown">, number> = { ok: 0, warning: 1, problem: 2 };

export interface Results {
  readonly lastRun: LastRun | null;
  /** The worst first. */
  findings(): Finding[];
  /** What was not well when it was last known, also where it is unknown by now. */
  troubles(): Finding[];
  /** Whether runs could tell, since the start, how this finding of that subject is. */
  isKnown(about: Pick<Finding, "id" | "subject">): boolean;
  /** Calls `listener` after each run that changed something; the returned function ends that. */
  onChange(listener: ChangeListener): () => void;
  /**
   * `isLookedAt`: whether a run of this extent looked at a finding of before, so that its absence from `found` says that
   * it is over.
   */
  record(found: readonly Finding[], run: LastRun, isLookedAt: (finding: Finding) => boolean): void;
}

export function createResults(): Results {
  const listeners = new Set<ChangeListener>();
  const last = new Map<string, Finding>();
  /** The last that was known of each that was not well: what is unknown neither begins a trouble nor ends it. */
  const troubles = new Map<string, Finding>();
  /** Ids of which a run could tell something, and the keys of what it told. */
  const known = new Set<string>();
  let lastRun: LastRun | null = null;

  const settle = (finding: Finding): "worse" | "better" | null => {
    if (finding.level === "unknown") return null;
    const key = keyOf(finding);
    known.add(finding.id).add(key);
    const before = troubles.get(key);
    if (finding.level === "ok") return troubles.delete(key) ? "better" : null;
    troubles.set(key, finding);
    const change = WEIGHT[finding.level] - (before === undefined ? 0 : WEIGHT[before.level as "warning"]);
    return change > 0 ? "worse" : change < 0 ? "better" : null;
  };

  const hasBlank = (id: FindingId) => [...last.values()].some((finding) => finding.id === id && isBlank(finding));

  return {
    get lastRun() {
      return lastRun;
    },
    findings: () => worstFirst([...last.values()]),
    troubles: () => worstFirst([...troubles.values()]),
    isKnown(about) {
      if (isAboutDomain(about.id)) return known.has(keyOf(about));
      // A run looks at all subjects of such an id, so that one that it does not name is gone.
      return known.has(about.id) && !hasBlank(about.id) && last.get(keyOf(about))?.level !== "unknown";
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    record(found, run, isLookedAt) {
      lastRun = run;
      const keys = new Set(found.map(keyOf));
      // One that is unknown as a whole says nothing of its subjects.
      const blank = new Set(found.filter(isBlank).map(({ id }) => id));
      const gone = [...last].filter(
        ([key, finding]) => !keys.has(key) && !blank.has(finding.id) && isLookedAt(finding),
      );
      for (const [key] of gone) last.delete(key);
      for (const finding of found) last.set(keyOf(finding), finding);
      const changes = [
        ...found,
        ...gone.map(([, { id, subject }]): Finding => {
          const seen = `${subject ?? "It"} is no longer there to be looked at.`;
          return { id, level: "ok", ...(subject === undefined ? {} : { subject }), seen, step: null };
        }),
      ].map((finding) => ({ finding, change: settle(finding) }));
      const pick = (wanted: string) => changes.flatMap(({ finding, change }) => (change === wanted ? [finding] : []));
      const [worse, better] = [pick("worse"), pick("better")];
      if (worse.length + better.length > 0) for (const listener of listeners) listener(worse, better);
    },
  };
}

function isBlank({ level, subject }: Finding): boolean {
  return level === "unknown" && subject === undefined;
}
