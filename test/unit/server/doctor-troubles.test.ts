// What the doctor found, beside what /ready tells: one trouble is told by one of them.

import { expect, test } from "bun:test";
import type { Finding } from "../../../src/modules/doctor/finding.ts";
import type { HealthIssue } from "../../../src/platform/health-issue.ts";
import { createDoctorSource } from "../../../src/server/doctor-troubles.ts";

const closed = (): Finding => ({ id: "port25_out", level: "problem", seen: "Port 25 is closed.", step: "Ask." });
const UNREACHABLE: HealthIssue = { component: "delivery", kind: "unreachable", reason: "No server answers", since: 0 };

function scene() {
  const troubles: Finding[] = [];
  const issues: HealthIssue[] = [];
  const source = createDoctorSource({ troubles: () => troubles, isUnsure: () => false }, () => issues);
  const look = () => [source().map(({ id }) => id), source.isUnsure?.("doctor.port25_out")];
  return { troubles, issues, look };
}

test("what /ready has told and seen end is not told anew from the run before, but from the next", () => {
  const { troubles, issues, look } = scene();
  troubles.push(closed());
  issues.push(UNREACHABLE);
  expect(look()).toEqual([[], true]);
  issues.length = 0;
  expect(look()).toEqual([[], true]);
  troubles.splice(0, 1, closed());
  expect(look()).toEqual([["doctor.port25_out"], false]);
});

test("what the doctor has told has not ended because /ready tells it too", () => {
  const { troubles, issues, look } = scene();
  troubles.push(closed());
  expect(look()).toEqual([["doctor.port25_out"], false]);
  issues.push(UNREACHABLE);
  expect(look()).toEqual([[], true]);
  troubles.length = 0;
  expect(look()).toEqual([[], false]);
});
