import { describe, expect, test } from "bun:test";
import { errorText, jsonLog, type LogFields } from "../src/log.ts";

const AT = Date.UTC(2026, 10, 21, 9, 30);

/** What one call writes, as text. */
function written(tell: (log: ReturnType<typeof jsonLog>) => void): string[] {
  const lines: string[] = [];
  tell(
    jsonLog(
      (line) => lines.push(line),
      () => AT,
    ),
  );
  return lines;
}

const parsed = (fields: LogFields): Record<string, unknown> =>
  JSON.parse(written((log) => log.event("x", fields)).join("")) as Record<string, unknown>;

test("an event is one line of JSON with its time, level and name first", () => {
  expect(written((log) => log.event("email.delivered", { id: "a", attempt: 2, isLast: true, detail: null }))).toEqual([
    '{"time":"2026-11-21T09:30:00.000Z","level":"info","event":"email.delivered","id":"a","attempt":2,"isLast":true,"detail":null}',
  ]);
  expect(written((log) => log.event("ready"))).toEqual([
    '{"time":"2026-11-21T09:30:00.000Z","level":"info","event":"ready"}',
  ]);
});

test("a value from outside cannot begin a line of its own", () => {
  const [line] = written((log) => log.event("x", { reply: '550 no\r\n{"level":"info","event":"forged"}\u2028' }));
  expect(line!.split(/[\r\n]/)).toHaveLength(1);
  expect(JSON.parse(line!)).toMatchObject({ event: "x" });
});

test("a long value is cut at a thousand characters, never within one", () => {
  expect(parsed({ reply: "x".repeat(1_001) })["reply"]).toBe("x".repeat(1_000));
  const cut = parsed({ reply: `${"x".repeat(999)}😀` })["reply"] as string;
  expect(cut.isWellFormed()).toBe(true);
  expect(cut).toHaveLength(1_000);
  expect((parsed({ reply: "\ud83d" })["reply"] as string).isWellFormed()).toBe(true);
});

describe("a bug is logged", () => {
  test("with where it was and its stack", () => {
    const [line] = written((log) => log.bug("http", new Error("boom")));
    const told = JSON.parse(line!) as Record<string, string>;
    expect(told).toMatchObject({ level: "error", event: "bug", where: "http" });
    expect(told["error"]).toContain("boom");
    expect(told["error"]).toContain("log.test.ts");
  });

  test("with its causes", () => {
    expect(errorText(new Error("outer", { cause: new Error("inner", { cause: "innermost" }) }))).toMatch(
      /outer[\s\S]*inner[\s\S]*innermost/,
    );
  });

  test("even when its causes go in a circle", () => {
    const circle = new Error("a");
    circle.cause = new Error("b", { cause: circle });
    expect(errorText(circle)).toContain("b");
  });

  test("whatever was thrown", () => {
    for (const thrown of [
      "text",
      7,
      null,
      undefined,
      Symbol("s"),
      { code: 5 },
      Object.create(null),
      () => 1,
      new Proxy({}, {}),
    ]) {
      expect(typeof errorText(thrown)).toBe("string");
      expect(written((log) => log.bug("x", thrown))).toHaveLength(1);
    }
    expect(errorText({ code: 5 })).toContain("5");
    const noStack = new Error("without a stack");
    delete noStack.stack;
    expect(errorText(noStack)).toContain("without a stack");
  });
});
