import { expect, test } from "bun:test";
import { RefusalLog } from "../../../../src/modules/submission/refusal-log.ts";
import { refusal } from "../../../../src/modules/submission/replies.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

function scene() {
  const clock = fakeClock();
  const told: unknown[] = [];
  const log = { event: (name: string, fields?: object) => void told.push([name, fields]), error: () => undefined };
  return { clock, told, refusals: new RefusalLog({ clock, log }) };
}

test("a wrong password is told once a minute of each client, with the beginning of a key and nothing else", async () => {
  const { clock, told, refusals } = scene();
  for (let n = 0; n < 20; n += 1) refusals.wrongPassword("192.0.2.1", `svc_${"a".repeat(43)}`);
  refusals.wrongPassword("192.0.2.2", "the password of my bank");
  expect(told).toEqual([
    ["submission.auth_failed", { client: "192.0.2.1", key: "svc_aaaaaaaa…" }],
    ["submission.auth_failed", { client: "192.0.2.2", key: null }],
  ]);
  await clock.advance(60_000);
  refusals.wrongPassword("192.0.2.1", "x");
  expect(told).toHaveLength(3);
});

test("a refusal is told of each workspace and reason, without the words that name an address", () => {
  const { told, refusals } = scene();
  const suppressed = refusal(550, "5.1.1 The recipient is suppressed (manual): DELETE …/maria%40example.com lifts it");
  for (let n = 0; n < 20; n += 1) refusals.refused(suppressed, "w", "192.0.2.1");
  refusals.refused(suppressed, "v", "192.0.2.1");
  refusals.refused(refusal(554, "5.6.0 line 7 has 1,204 octets"), "w", "192.0.2.1");
  expect(told).toEqual([
    [
      "submission.refused",
      { workspace: "w", client: "192.0.2.1", code: 550, why: "5.1.1 The recipient is suppressed (manual)" },
    ],
    [
      "submission.refused",
      { workspace: "v", client: "192.0.2.1", code: 550, why: "5.1.1 The recipient is suppressed (manual)" },
    ],
    ["submission.refused", { workspace: "w", client: "192.0.2.1", code: 554, why: "5.6.0 line 7 has 1,204 octets" }],
  ]);
});
