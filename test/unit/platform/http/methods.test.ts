import { expect, test } from "bun:test";
import { createMethodTable } from "../../../../src/platform/http/methods.ts";

const table = createMethodTable([
  { method: "GET", path: "/api/v1/emails" },
  { method: "POST", path: "/api/v1/emails" },
  { method: "POST", path: "/api/v1/emails/batch" },
  { method: "GET", path: "/api/v1/emails/:id" },
  { method: "POST", path: "/api/v1/domains/:id/verification-checks" },
  { method: "GET", path: "/api/v1/openapi.json" },
  { method: "GET", path: "/a(b)+c" },
]);

test.each([
  ["/api/v1/emails", ["GET", "HEAD", "POST"]],
  ["/api/v1/emails/", ["GET", "HEAD", "POST"]],
  ["/api/v1/emails/019aa5f0", ["GET", "HEAD"]],
  ["/api/v1/emails/batch", ["POST"]],
  ["/api/v1/emails/batch/", ["POST"]],
  ["/api/v1/domains/x/verification-checks", ["POST"]],
  ["/api/v1/openapi.json", ["GET", "HEAD"]],
  ["/a(b)+c", ["GET", "HEAD"]],
])("%s knows %p", (path, methods) => {
  expect(table.of(path).toSorted()).toEqual(methods);
});

test.each([
  "/",
  "",
  "/api/v1",
  "/api/v1/email",
  "/api/v1/emails/x/y",
  "/x/api/v1/emails",
  "/api/v1/openapi_json",
  "/api/v1/domains//verification-checks",
  "/abbc",
])("%s is no path", (path) => {
  expect(table.of(path)).toEqual([]);
});

test("a path that one route says in so many words is not taken for another's template", () => {
  for (const method of ["GET", "DELETE"]) {
    expect([method, table.isTakenForAnother(method, "/api/v1/emails/batch")]).toEqual([method, true]);
    expect([method, table.isTakenForAnother(method, "/api/v1/emails/batch/")]).toEqual([method, true]);
  }
  expect(table.isTakenForAnother("POST", "/api/v1/emails/batch")).toBe(false);
  expect(table.isTakenForAnother("GET", "/api/v1/emails/019aa5f0")).toBe(false);
  // No template stands in its way: the router itself says that there is no such method.
  expect(table.isTakenForAnother("DELETE", "/api/v1/emails")).toBe(false);
});
