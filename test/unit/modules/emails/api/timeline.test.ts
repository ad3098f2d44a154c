import { expect, test } from "bun:test";
import type { AttemptRow, EmailRow, QueueRow } from "../../../../../src/modules/emails/store/store.ts";
import { showTimeline } from "../../../../../src/modules/emails/api/timeline.ts";
import { formatDialogue, formatTries } from "../../../../../src/modules/emails/delivery/connection-attempts.ts";

const EMAIL: EmailRow = {
  ...{ id: 1, uid: "0198a5a0-0000-7000-8000-000000000000", workspaceId: 1, domainId: 1 },
  ...{
    sender: "a@loja.test",
    senderAddress: "loja@loja.test",
    senderDomain: "loja.test",
    recipient: "maria@example.com",
    recipientAddress: "maria@example.com",
    subject: "x",
  },
  ...{
    replyTo: null,
    recipientName: null,
    kind: "to",
    groupId: null,
    tag: null,
    sendAt: null,
    keyId: null,
    userId: null,
    messageId: null,
    returnPath: "b@loja.test",
    createdAt: 1_000,
    status: "queued",
    sentAt: null,
  },
  ...{
    deliveredAt: null,
    endedAt: null,
    failedReason: null,
    bounce: null,
    attempts: 0,
    possibleDuplicate: false,
    isErased: false,
  },
};

const ATTEMPT: AttemptRow = {
  ...{ emailId: 1, number: 1, startedAt: 2_000, endedAt: 3_000, outcome: "deferred", category: null },
  ...{ host: "mx.example.com", address: "192.0.2.1", tls: null, stage: "rcpt", code: 450 },
  ...{ enhancedCode: "4.2.0", reply: "4.2.0 Later", tries: null, dialogue: null, egress: null },
};

const typesAndTimes = (email: Partial<EmailRow>, attempts: Partial<AttemptRow>[], queue: QueueRow | null = null) =>
  showTimeline(
    { email: { ...EMAIL, ...email }, queue },
    attempts.map((each) => ({ ...ATTEMPT, ...each })),
  ).map(({ type, at }) => [type, Date.parse(at)]);

test("an email that waits for its first attempt has been queued, and nothing else", () => {
  expect(typesAndTimes({}, [])).toEqual([["email.queued", 1_000]]);
});

test("every outcome of an attempt that ends an email is its end, told once", () => {
  for (const status of ["delivered", "sent", "bounced", "failed"] as const) {
    expect(typesAndTimes({ status, endedAt: 3_000, attempts: 1 }, [{ outcome: status }])).toEqual([
      ["email.queued", 1_000],
      [`email.${status}`, 3_000],
    ]);
  }
});

test("what became of a delivered email later has an entry of its own", () => {
  for (const status of ["bounced", "complained"] as const) {
    expect(typesAndTimes({ status, endedAt: 9_000, attempts: 1 }, [{ outcome: "delivered" }])).toEqual([
      ["email.queued", 1_000],
      ["email.delivered", 3_000],
      [`email.${status}`, 9_000],
    ]);
  }
});

test("an end that overtook the answer to the message stands before it", () => {
  expect(typesAndTimes({ status: "bounced", endedAt: 2_500, attempts: 1 }, [{ outcome: "delivered" }])).toEqual([
    ["email.queued", 1_000],
    ["email.bounced", 2_500],
    ["email.delivered", 3_000],
  ]);
});

test("entries of one moment stand in the order in which they came about", () => {
  const all = { startedAt: 1_000, endedAt: 1_000 };
  expect(typesAndTimes({ status: "canceled", endedAt: 1_000, attempts: 2 }, [all, { ...all, number: 2 }])).toEqual([
    ["email.queued", 1_000],
    ["email.delivery_delayed", 1_000],
    ["email.delivery_delayed", 1_000],
    ["email.canceled", 1_000],
  ]);
});

test("a lost answer is a delay, but for the one with which the email was given up", () => {
  const lost = (number: number, endedAt: number) => ({ outcome: "unknown" as const, number, endedAt });
  expect(
    typesAndTimes({ status: "failed", endedAt: 5_000, attempts: 2 }, [lost(1, 3_000), lost(2, 5_000)]).slice(1),
  ).toEqual([
    ["email.delivery_delayed", 3_000],
    ["email.failed", 5_000],
  ]);
  // It expired later.
  expect(typesAndTimes({ status: "failed", endedAt: 8_000, attempts: 1 }, [lost(1, 3_000)]).slice(1)).toEqual([
    ["email.delivery_delayed", 3_000],
    ["email.failed", 8_000],
  ]);
});

test("one connection leaves nothing to keep of its tries, and none neither", () => {
  const policy = { mode: "opportunistic", source: "default" } as const;
  const result = { kind: "broken", stage: "connect", reason: "refused", isDotSent: false } as const;
  const one = {
    host: "a",
    address: "192.0.2.1",
    isReused: false,
    tls: null,
    policy,
    result,
    dialogue: "0 < 220 hi",
    endedAt: 1,
  };
  expect([formatTries({ tries: [] }), formatTries({ tries: [one] })]).toEqual([null, null]);
  expect(JSON.parse(formatTries({ tries: [one, one] }) ?? "")).toHaveLength(2);
  expect(formatDialogue({ tries: [one, { ...one, dialogue: null }] })).toBe("= a [192.0.2.1]\n0 < 220 hi");
});
