import { expect, test } from "bun:test";
import { STORED_STATUSES } from "../../../../../src/platform/db/schema/schema.ts";
import { EMAIL_STATUSES } from "../../../../../src/modules/emails/api/schema.ts";
import { toStatus } from "../../../../../src/modules/emails/api/serialize.ts";

test.each([
  ["just accepted", { attempts: 0, inFlight: false, sendAt: null }, "queued"],
  ["just accepted for later", { attempts: 0, inFlight: false, sendAt: 1 }, "scheduled"],
  ["its first attempt runs", { attempts: 1, inFlight: true, sendAt: null }, "sending"],
  ["the first attempt of a scheduled one runs", { attempts: 1, inFlight: true, sendAt: 1 }, "sending"],
  ["it waits for another attempt", { attempts: 1, inFlight: false, sendAt: null }, "delivery_delayed"],
  ["a scheduled one waits for another attempt", { attempts: 1, inFlight: false, sendAt: 1 }, "delivery_delayed"],
  ["another attempt runs", { attempts: 2, inFlight: true, sendAt: null }, "sending"],
] as const)("an email in the queue: %s", (_, queue, status) => {
  expect(toStatus("queued", queue)).toBe(status);
});

test("a final status stands, whatever a queue row says beside it", () => {
  for (const stored of STORED_STATUSES.filter((status) => status !== "queued")) {
    expect(toStatus(stored, null)).toBe(stored);
    expect(toStatus(stored, { attempts: 1, inFlight: true, sendAt: null })).toBe(stored);
  }
});

test("every status that is stored or derived is one that the interface knows", () => {
  const known = new Set<string>(EMAIL_STATUSES);
  for (const status of [...STORED_STATUSES, "scheduled", "sending", "delivery_delayed"])
    expect(known.has(status)).toBe(true);
});
