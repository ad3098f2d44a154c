import { expect, test } from "bun:test";
import type { Stage } from "../../../../../src/protocols/smtp/replies/stage.ts";
import { classifyRelayResult } from "../../../../../src/protocols/smtp/replies/classify.ts";
import { readWhole } from "../../../../../src/protocols/smtp/replies/remove-echo.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";

function judged(stage: Stage, text: string) {
  const reply = makeReply(Number(text.slice(0, 3)), [text.slice(4)]);
  const result = { kind: "refused", stage, reply, isReusable: false, envelopeReached: true } as const;
  return classifyRelayResult(result, readWhole(reply));
}

const BOUNCED: [stage: Stage, reply: string, category: string][] = [
  ["rcpt", "550 5.1.1 No such user", "invalid_recipient"],
  ["rcpt", "550 5.1.2 Host unknown", "bad_domain"],
  ["rcpt", "552 5.2.2 Mailbox full", "mailbox_full"],
  ["mail", "553 5.7.1 Sender address rejected: not owned by user loja", "policy"],
  ["dot", "554 5.7.1 Message looks like spam", "spam_content"],
  ["dot", "550 5.7.26 Unauthenticated email", "auth_failed"],
  ["dot", "535 5.7.0 Refused by our rules", "policy"],
];

test.each(BOUNCED)("a relay's 5xx bounces and never suppresses: %s %s", (stage, reply, category) => {
  expect(judged(stage, reply)).toMatchObject({ kind: "bounced", category, isHard: false, isAccessDenied: false });
});

const OURS: [stage: Stage, reply: string][] = [
  ["auth", "535 5.7.8 Error: authentication failed"],
  ["auth", "530 5.7.0 Must issue STARTTLS first"],
  ["auth", "534 5.7.9 Too weak"],
  ["auth", "538 5.7.11 Encryption required"],
  ["auth", "504 5.5.4 Unrecognized authentication type"],
  ["auth", "550 5.1.1 No such user"],
  ["mail", "530 5.7.0 Authentication required"],
  ["rcpt", "530 5.7.1 Authentication required"],
  ["mail", "535 5.7.3 Authentication unsuccessful"],
  ["rcpt", "554 5.7.1 <maria@example.com>: Relay access denied"],
  ["rcpt", "550 5.7.1 Relaying denied"],
  ["rcpt", "550 relay not permitted"],
  ["rcpt", "550-is not permitted to relay through this server without authentication."],
  ["rcpt", "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain"],
];

test.each(OURS)(
  "a relay that does not let us in is the operator's to mend, and the email waits: %s %s",
  (stage, reply) => {
    const expected = {
      kind: "deferred",
      category: "auth_failed",
      type: "transient",
      isHard: false,
      isAccessDenied: true,
    };
    expect(judged(stage, reply)).toMatchObject(expected);
  },
);

const PASSING: [stage: Stage, reply: string, category: string][] = [
  // RFC 4954 §6: the relay's own trouble.
  ["auth", "454 4.7.0 Temporary authentication failure", "auth_failed"],
  ["auth", "421 4.7.0 Too many connections", "rate_limited"],
  ["rcpt", "450 4.2.0 Greylisted, come back", "policy"],
  ["rcpt", "454 4.7.1 Relay access denied", "policy"],
  ["greeting", "554 5.7.1 Go away", "policy"],
];

test.each(PASSING)("a temporary answer is only a delay: %s %s", (stage, reply, category) => {
  expect(judged(stage, reply)).toMatchObject({ kind: "deferred", category, isHard: false, isAccessDenied: false });
});

test("a connection that breaks is only a delay", () => {
  const table: [Stage, string][] = [
    ["connect", "no_answer"],
    ["auth", "bad_connection"],
    ["starttls", "bad_connection"],
    ["dot", "bad_connection"],
  ];
  for (const [stage, category] of table) {
    const broken = { kind: "broken", stage, reason: "lost", isDotSent: stage === "dot" } as const;
    const verdict = classifyRelayResult(broken, null);
    expect(verdict).toMatchObject({ kind: "deferred", category, isHard: false, isAccessDenied: false });
  }
});
