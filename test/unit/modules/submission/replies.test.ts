import { describe, expect, test } from "bun:test";
import { createRewording, refuseWithoutTls, tooLarge, toRefusal } from "../../../../src/modules/submission/replies.ts";
import { AppError, ERROR_STATUS, type ErrorCode, type ErrorDetails } from "../../../../src/platform/errors.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

function said(code: ErrorCode, details: ErrorDetails = {}): string {
  const { responseCode, message } = toRefusal(new AppError(code, "Why", details), NOW);
  return `${responseCode} ${message}`;
}

/** Those that the accepting path decides by; all others are about who sends. */
const TABLE: Partial<Record<ErrorCode, string>> = {
  RATE_LIMITED: "451 4.7.1 Why. Come back in 1 s",
  DAILY_QUOTA_EXCEEDED: "452 4.7.1 Why. The next period begins at 2026-11-21 12:00 UTC",
  MONTHLY_QUOTA_EXCEEDED: "452 4.7.1 Why. The next period begins at 2026-11-21 12:00 UTC",
  PLAN_LIMIT_REACHED: "452 4.2.2 Why",
  RECIPIENT_SUPPRESSED: "550 5.1.1 Why",
  INVALID_API_KEY: "535 5.7.8 Why",
  UNAVAILABLE: "452 4.3.1 Why. Come back in 5 s",
  VALIDATION_ERROR: "554 5.6.0 Why",
};

test.each(Object.keys(ERROR_STATUS) as ErrorCode[])("%s has a code, an enhanced code and words", (code) => {
  expect(said(code)).toBe(TABLE[code] ?? "550 5.7.1 Why");
});

test("every enhanced code is of its code's class", () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) expect(said(code)).toMatch(/^(4)\d\d 4\.|^(5)\d\d 5\./);
});

test("a wait is said in seconds, and the end of a period as a time", () => {
  expect(said("RATE_LIMITED", { retryAfterS: 17 })).toEndWith("Come back in 17 s");
  expect(said("UNAVAILABLE", { retryAfterS: 60 })).toEndWith("Come back in 60 s");
  expect(said("DAILY_QUOTA_EXCEEDED", { retryAfterS: 12 * 3_600 })).toEndWith("at 2026-11-22 00:00 UTC");
});

test("the first item is told, with what to do; about From it is a matter of who sends", () => {
  const items = [{ message: "First", hint: "Do this.", field: "to" }, { message: "Second" }];
  expect(said("VALIDATION_ERROR", { items })).toBe("554 5.6.0 First: Do this.");
  expect(said("RECIPIENT_SUPPRESSED", { items })).toBe("550 5.1.1 First: Do this.");
  expect(
    said("VALIDATION_ERROR", { items: [{ message: "Domain not verified", field: "from", hint: "Register it." }] }),
  ).toBe("550 5.7.1 Domain not verified: Register it.");
  expect(said("SENDING_BLOCKED", { hint: "Ask the operator." })).toBe("550 5.7.1 Why: Ask the operator.");
});

describe("the library's own words", () => {
  const limits = { messageBytes: 20 * 1024 * 1024, recipients: 50 };
  const reword = (isAllowed: boolean, code: number, context: string | false, text = "Theirs") => {
    const reply = createRewording(limits, () => isAllowed)({ code, text, context });
    return `${reply.code} ${String(reply.text)}`;
  };

  test("become ours where they help nobody", () => {
    expect(reword(true, 501, "MAILBOX_SYNTAX_ERROR")).toStartWith("553 5.1.3 ");
    expect(reword(true, 452, "TOO_MANY_RECIPIENTS")).toStartWith("452 4.5.3 A message may have 50 recipients");
    expect(reword(true, 552, "MESSAGE_TOO_BIG")).toBe(`552 ${tooLarge(limits.messageBytes)}`);
    expect(tooLarge(limits.messageBytes)).toEndWith("at most 20,971,520 octets are taken");
  });

  test("about a password say STARTTLS where TLS comes first, and AUTH where it is there", () => {
    const { responseCode, message } = refuseWithoutTls();
    const first = `${responseCode} ${message}`;
    expect([reword(false, 530, false), reword(false, 500, "AUTH")]).toEqual([first, first]);
    expect(reword(true, 530, false)).toStartWith("530 5.7.0 Authenticate first");
    expect(reword(true, 500, "AUTH")).toBe("500 Theirs");
  });

  test("stay else", () => {
    for (const [code, context] of [
      [250, "MAIL_FROM_OK"],
      [500, "BDAT"],
      [221, false],
      [503, false],
    ] as const)
      expect(reword(false, code, context)).toBe(`${code} Theirs`);
  });
});
