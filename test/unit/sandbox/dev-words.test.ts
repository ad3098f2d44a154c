import { expect, test } from "bun:test";
import { AppError } from "../../../src/platform/errors.ts";
import { anotherPort, refusalLog, sandboxLog } from "../../../src/cli/commands/dev/messages.ts";

const ID = "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17";

test.each([
  ["email.delivered", { id: ID, attempt: 1, detail: "250 ok" }, `delivered         ${ID}  250 ok`],
  ["email.delivery_delayed", { id: ID, attempt: 2, detail: null }, `delivery delayed  ${ID}  attempt 2`],
  ["idempotency.mismatch", { workspace: 1 }, "idempotency mismatch  workspace=1"],
  ["disk.recovered", { reason: null }, "disk recovered"],
])("%s is told in one line: its name in words, two spaces, whole ids", (name, fields, expected) => {
  const lines: string[] = [];
  sandboxLog((line) => lines.push(line)).event(name, fields);
  expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ""))).toEqual([expected]);
});

test("good news is green, bad news red, a delay yellow, and the rest as it is", () => {
  const colours: (string | undefined)[] = [];
  const log = sandboxLog((_, colour) => colours.push(colour));
  for (const name of ["email.delivered", "email.bounced", "refused", "email.delivery_delayed", "mx"]) log.event(name);
  log.error("here", new Error("x"));
  expect(colours).toEqual(["green", "red", "red", "yellow", undefined, "red"]);
});

test.each([
  [8080, 8081],
  [65_535, 65_534],
])("in place of port %d, %d is proposed", (taken, proposed) => {
  expect(anotherPort(taken)).toBe(proposed);
});

test.each([
  ["http://127.0.0.1:8080/api/v1/x?y=1", ["GET /api/v1/x?y=1  404 NOT_FOUND: gone. Look again."]],
  ["http://127.0.0.1:8080/sandbox", []],
  // As the runtime gives it where the Host is malformed.
  ["/api/v1/x", []],
])("a refused request to %s is shown as %j", (url, shown) => {
  const lines: unknown[] = [];
  const refused = refusalLog({ event: (_, fields) => void lines.push(fields?.["detail"]) });
  refused({ method: "GET", url } as Request, 404, new AppError("NOT_FOUND", "gone", { hint: "Look again." }));
  expect(lines).toEqual(shown);
});
