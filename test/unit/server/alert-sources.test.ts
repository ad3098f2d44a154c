import { expect, test } from "bun:test";
import type { HealthIssue } from "../../../src/platform/health-issue.ts";
import { buildAlertSources } from "../../../src/server/alert-sources.ts";

type Given = Parameters<typeof buildAlertSources>[0];

const REFUSED = { at: 0, reason: "the bind was refused", statusName: "ESME_RINVPASWD", advice: "Look at password." };
const UNBOUND: HealthIssue = {
  component: "sms",
  kind: "unbound",
  about: "vodacom",
  reason: "No link of the SMS route vodacom is bound, and messages wait for it.",
  since: 0,
  isAdvisory: true,
};

function ask(state: string, error: typeof REFUSED | { [Key in keyof typeof REFUSED]: unknown }, issues: HealthIssue[]) {
  const given = {
    issues: () => issues,
    stores: {
      workspaces: { blocked: () => [], rateWarnings: () => [], reportWarnings: () => [] },
      held: { list: () => [] },
    },
    modules: {
      sms: { links: { views: () => [{ route: "vodacom", state, error }] } },
      growth: { daysLeft: () => null },
      usedUp: { look: () => [] },
      doctor: { troubles: () => [], isUnsure: () => false },
    },
    clock: { now: () => 0 },
  };
  return buildAlertSources(given as unknown as Given).flatMap((source) => source());
}

test("an SMS route without a link stays one trouble when it becomes a problem because messages wait", () => {
  const [warning, ...others] = ask("refused", REFUSED, []);
  expect(warning).toEqual({
    id: "sms.unbound.vodacom",
    level: "warning",
    what: "No link of the SMS route vodacom is bound (the bind was refused, ESME_RINVPASWD): messages sent by it will wait.",
    step: "Look at password. See pombo sms links.",
    via: "sms",
    about: "vodacom",
  });
  expect(others).toEqual([]);
  expect(ask("refused", REFUSED, [UNBOUND])).toEqual([
    { id: "sms.unbound.vodacom", level: "problem", what: UNBOUND.reason, step: null, via: "sms", about: "vodacom" },
  ]);
  expect(ask("bound", REFUSED, [])).toEqual([]);
});

test("one that is tried again says so", () => {
  const error = { ...REFUSED, reason: "its connection ended", statusName: null, advice: null };
  expect(ask("waiting", error, [])).toMatchObject([
    {
      what: "No link of the SMS route vodacom is bound (its connection ended): messages sent by it will wait.",
      step: "pombo tries again by itself. See pombo sms links.",
    },
  ]);
});
