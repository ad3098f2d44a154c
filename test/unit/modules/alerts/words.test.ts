import { describe, expect, test } from "bun:test";
import { type AlertItem, writeAlert, writeChatTexts } from "../../../../src/modules/alerts/words.ts";

const AT = Date.UTC(2026, 10, 28, 14, 5);
const ITEM: AlertItem = {
  kind: "began",
  level: "problem",
  what: "No mail server can be reached on port 25: 3 sites were tried. What waits is tried again.",
  step: "Ask your hosting provider to open it.",
  beganAt: AT - 120_000,
  at: AT,
};
const HOST = "mail.example.net";

describe("an alert of one thing", () => {
  test("says what, since when and what to do", () => {
    expect(writeAlert(HOST, [ITEM])).toEqual({
      subject: "[problem] mail.example.net: No mail server can be reached on port 25",
      text: [
        "pombo at mail.example.net",
        "",
        "Problem since 2026-11-28 14:03 UTC:",
        ITEM.what,
        "What to do: Ask your hosting provider to open it.",
      ].join("\n"),
      short: `pombo mail.example.net: problem: ${ITEM.what}`,
    });
  });

  test("that ended says since when it was, and no longer what to do", () => {
    const { subject, text, short } = writeAlert(HOST, [{ ...ITEM, kind: "ended" }]);
    expect(subject).toStartWith("[ended] mail.example.net: ");
    expect(text).toContain("Ended at 2026-11-28 14:05 UTC. Since 2026-11-28 14:03 UTC it was:\n");
    expect(text).not.toContain("What to do");
    expect(short).toContain(": ended: ");
  });
});

test("an alert of several things counts them, and the worst stands first", () => {
  const ended = { ...ITEM, kind: "ended" as const };
  const { subject, text, short } = writeAlert(HOST, [ended, ITEM, { ...ITEM, what: "Another." }]);
  expect(subject).toBe("[problem] mail.example.net: 1 ended, 2 problems began");
  expect(text.match(/^Problem since/gm)).toHaveLength(2);
  expect(short).toContain("problem: 1 ended, 2 problems began. No mail server");
});

test("a hundred things are counted, and twenty shown", () => {
  const { text } = writeAlert(
    HOST,
    Array.from({ length: 100 }, () => ITEM),
  );
  expect(text.match(/^Problem since/gm)).toHaveLength(20);
  expect(text).toEndWith("And 80 more: pombo status shows them all.");
});

test("a long sentence makes neither a long subject nor many SMS", () => {
  const { subject, short } = writeAlert(HOST, [{ ...ITEM, what: "wordy ".repeat(500) }]);
  expect(subject.length).toBeLessThan(160);
  expect([...short].length).toBe(300);
});

describe("in a chat", () => {
  test("the words of others call nobody and hide no address", () => {
    const { text } = writeChatTexts(
      "@everyone <!channel> [pombo](https://evil.example) <https://evil.example|pombo> a@allied.example",
    );
    expect(text).not.toMatch(/@everyone|[<>]|\]\(/);
    expect(text).toContain("a@allied.example");
  });

  test("each takes its length", () => {
    const { text, content } = writeChatTexts("word ".repeat(5_000));
    expect([text.length <= 4_096, content.length <= 2_000]).toEqual([true, true]);
  });
});
