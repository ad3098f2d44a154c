import { expect, test } from "bun:test";
import { checkLiveness, type LivenessState } from "../../../../../src/protocols/smpp/session/liveness.ts";

const LIMITS = {
  bindTimeoutMs: 30_000,
  enquireMs: 30_000,
  enquireTimeoutMs: 10_000,
  silenceMs: 300_000,
  halfPduMs: 10_000,
  pauseLimitMs: 10_000,
  unbindMs: 5_000,
};

const BOUND: LivenessState = {
  phase: "bound",
  phaseSince: 0,
  receivedAt: 50_000,
  enquiredAt: null,
  midPduSince: null,
  pausedSince: null,
};

const at = (now: number, change: Partial<LivenessState>) => checkLiveness({ ...BOUND, ...change }, LIMITS, now);

test("half a PDU, an answer that is missing and silence end a session that reads", () => {
  expect(at(60_000, { midPduSince: 50_000 })).toEqual({ kind: "break", reason: "a PDU was not finished" });
  expect(at(60_000, { enquiredAt: 50_000 })).toEqual({ kind: "break", reason: "enquire_link was not answered" });
  expect(at(350_000, {})).toEqual({ kind: "break", reason: "nothing was received for too long" });
  expect(at(80_000, {})).toEqual({ kind: "enquire" });
});

test("while we do not read, nothing that could not come is missed: the pause alone ends it", () => {
  const paused = { pausedSince: 50_000, midPduSince: 45_000, enquiredAt: 44_000 };
  expect(at(59_999, paused)).toEqual({ kind: "wait", until: 60_000 });
  expect(at(60_000, paused)).toEqual({ kind: "break", reason: "reading was paused for too long" });
});

test("an unbind has its own limit, also while we do not read", () => {
  expect(at(55_000, { phase: "unbinding", phaseSince: 50_000, pausedSince: 49_000 })).toEqual({ kind: "finish" });
});
