import { describe, expect, test } from "bun:test";
import { errorText, jsonLog, type JsonLogOptions, type LogFields, redact } from "../../../src/platform/log.ts";
import { cpuTime } from "../../support/cpu-time.ts";

const AT = Date.UTC(2026, 10, 21, 9, 30);

/** What one call writes, as text. */
function written(
  tell: (log: ReturnType<typeof jsonLog>) => void,
  addresses: JsonLogOptions["addresses"] = "redacted",
): string[] {
  const lines: string[] = [];
  tell(jsonLog({ write: (line) => lines.push(line), now: () => AT, addresses }));
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

test("what the operator may have to act on is a warning", () => {
  const [line] = written((log) => log.event("disk.failed", { reason: "full" }, "warn"));
  expect(JSON.parse(line!)).toEqual({
    time: "2026-11-21T09:30:00.000Z",
    level: "warn",
    event: "disk.failed",
    reason: "full",
  });
});

test("no control character stands in a line as it is, and each is read as what it was", () => {
  const every = Array.from({ length: 0xa1 }, (_, code) => String.fromCharCode(code))
    .join("")
    .replace("@", "");
  const reply = `${every}\u2028\u2029`;
  for (const addresses of ["redacted", "full"] as const) {
    const [line] = written((log) => log.event("x", { reply }), addresses);
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    expect((JSON.parse(line!) as LogFields)["reply"]).toHaveLength(reply.length);
  }
});

describe("an address is hidden", () => {
  const HIDDEN: [words: string, shown: string][] = [
    ["maria.silva@example.com", "m***@example.com"],
    ["550 5.1.1 <maria.silva@example.com>: no such user", "550 5.1.1 <m***@example.com>: no such user"],
    ["to=maria@example.com,ana@example.com;x", "t***@example.com,a***@example.com;x"],
    ['550 "maria silva"@example.com is unknown', '550 "***"@example.com is unknown'],
    ["o'brien@example.com", "o***@example.com"],
    ["bounces+maria=example.com@lists.example.net", "b***@lists.example.net"],
    ["josé@exämple.com", "j***@exämple.com"],
    ["(maria@example.com)", "(m***@example.com)"],
    ["a@b", "a***@b"],
    ["no address @ all", "no address @ all"],
    ["250 2.0.0 Ok: queued as 4F2A", "250 2.0.0 Ok: queued as 4F2A"],
  ];
  for (const [words, shown] of HIDDEN) {
    test(`in: ${words}`, () => {
      expect(redact(words)).toBe(shown);
      expect(redact(shown)).toBe(shown);
      const [line] = written((log) => log.event("x", { detail: words }));
      expect((JSON.parse(line!) as LogFields)["detail"]).toBe(shown);
      const [full] = written((log) => log.event("x", { detail: words }), "full");
      expect((JSON.parse(full!) as LogFields)["detail"]).toBe(words);
    });
  }

  test("the part before the @ too, where a server says it alone", () => {
    const to = "maria.silva@example.com";
    expect(redact("550 No such user Maria.Silva here", to)).toBe("550 No such user M*** here");
    expect(redact("550 maria.silva: unknown. maria.silva.", to)).toBe("550 m***: unknown. m***.");
    expect(redact("550 maria.silvana is not her (mx.maria.silva.example)", to)).toBe(
      "550 maria.silvana is not her (mx.maria.silva.example)",
    );
    expect(redact("550 (a+b) [a+b] is unknown", "a+b@example.com")).toBe("550 (a***) [a***] is unknown");
  });

  test("in the words of an error, its causes and what is no error", () => {
    const error = new Error("row of maria@example.com", { cause: new Error("for <ana@example.com>") });
    for (const thrown of [error, "maria@example.com", { to: "maria@example.com" }]) {
      const line = written((log) => log.error("x", thrown)).join("");
      expect(line).toContain("***@example.com");
      expect(line).not.toMatch(/maria|ana@/);
    }
  });

  test("where a long value is cut, and soon even in one without an end", () => {
    for (const length of [985, 990, 995, 999, 3_990, 3_998]) {
      const [line] = written((log) => log.event("x", { detail: `${"x".repeat(length)} maria@example.com` }));
      expect(line).not.toContain("maria");
    }
    const startedAt = cpuTime();
    redact(`${"a".repeat(1_000_000)}@`);
    redact("a@".repeat(500_000));
    expect(cpuTime() - startedAt).toBeLessThan(2_000);
  });
});

test("a key is hidden, also where addresses are shown", () => {
  const key = `svc_${"Ab3_-".repeat(9).slice(0, 43)}`;
  for (const addresses of ["redacted", "full"] as const) {
    const lines = written((log) => {
      log.event("x", { detail: `used ${key}, twice: ${key}` });
      log.error("x", new Error(`{"x-api-key":"${key}"}`));
    }, addresses);
    expect(lines.join("\n")).not.toContain(key.slice(4, 14));
    expect(lines[0]).toContain("used svc_***, twice: svc_***");
  }
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
    const [line] = written((log) => log.error("http", new Error("boom")));
    const told = JSON.parse(line!) as Record<string, string>;
    expect(told).toMatchObject({ level: "error", event: "internal_error", where: "http" });
    expect(told["error"]).toContain("boom");
    expect(told["error"]).toContain("log.test.ts");
  });

  test("with what it happened to, without keys", () => {
    const key = `svc_${"a1B2".repeat(10)}xyz`;
    const [line] = written((log) => log.error("http", new Error("boom"), { requestId: "0198", path: `/x/${key}` }));
    expect(JSON.parse(line!)).toMatchObject({
      event: "internal_error",
      where: "http",
      requestId: "0198",
      path: "/x/svc_***",
    });
    expect(line).toContain("boom");
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
      expect(written((log) => log.error("x", thrown))).toHaveLength(1);
    }
    expect(errorText({ code: 5 })).toContain("5");
    const noStack = new Error("without a stack");
    delete noStack.stack;
    expect(errorText(noStack)).toContain("without a stack");
  });
});
