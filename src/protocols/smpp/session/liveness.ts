// The limits of every wait in a session, by its phase. Pure.
//
// binding   → bound by its response; broken when that does not come.
// bound     → after a while without anything received we ask (enquire_link); broken when that is not answered.
// unbinding → closing by the response to our unbind, or when that does not come.
// closing   → all is said, the peer should close; broken when it does not.
//
// In each of them an incomplete PDU, silence, and a pause of reading have their limits.

import type { LinkSettings } from "../settings.ts";

export type Phase = "binding" | "bound" | "unbinding" | "closing";

/** Times in ms of a clock that does not jump; null: not so now. */
export interface LivenessState {
  phase: Phase;
  phaseSince: number;
  receivedAt: number;
  enquiredAt: number | null;
  midPduSince: number | null;
  pausedSince: number | null;
}

export type Verdict =
  | { kind: "wait"; until: number }
  | { kind: "enquire" }
  /** Our unbind was not answered. */
  | { kind: "finish" }
  | { kind: "break"; reason: string };

type Limits = Pick<
  LinkSettings,
  "bindTimeoutMs" | "enquireMs" | "enquireTimeoutMs" | "silenceMs" | "halfPduMs" | "pauseLimitMs" | "unbindMs"
>;

/** What is due at `now`; the gravest first. */
export function checkLiveness(session: LivenessState, limits: Limits, now: number): Verdict {
  const due = deadlines(session, limits).toSorted((a, b) => a.at - b.at);
  const passed = due.filter(({ at }) => at <= now);
  const first = passed.find(({ verdict }) => verdict.kind === "break") ?? passed[0];
  return first?.verdict ?? { kind: "wait", until: due[0]?.at ?? Infinity };
}

interface Deadline {
  at: number;
  verdict: Verdict;
}

function deadlines(session: LivenessState, limits: Limits): Deadline[] {
  const { midPduSince, pausedSince, receivedAt } = session;
  const isReading = pausedSince === null;
  // What is not read cannot come: while we pause, no answer is late and no PDU cut off.
  const all = isReading || session.phase !== "bound" ? [getPhaseDeadline(session, limits)] : [];
  const breakAt = (at: number, reason: string) => all.push({ at, verdict: { kind: "break", reason } });
  breakAt(receivedAt + limits.silenceMs, "nothing was received for too long");
  if (midPduSince !== null && isReading) breakAt(midPduSince + limits.halfPduMs, "a PDU was not finished");
  if (!isReading) breakAt(pausedSince + limits.pauseLimitMs, "reading was paused for too long");
  return all;
}

function getPhaseDeadline({ phase, phaseSince, receivedAt, enquiredAt }: LivenessState, limits: Limits): Deadline {
  switch (phase) {
    case "binding":
      return { at: phaseSince + limits.bindTimeoutMs, verdict: { kind: "break", reason: "the bind was not answered" } };
    case "bound":
      if (enquiredAt === null) return { at: receivedAt + limits.enquireMs, verdict: { kind: "enquire" } };
      return {
        at: enquiredAt + limits.enquireTimeoutMs,
        verdict: { kind: "break", reason: "enquire_link was not answered" },
      };
    case "unbinding":
      return { at: phaseSince + limits.unbindMs, verdict: { kind: "finish" } };
    case "closing":
      return { at: phaseSince + limits.unbindMs, verdict: { kind: "break", reason: "the peer did not close" } };
  }
}
