import { expect, test } from "bun:test";
import { methodTable } from "../../src/http/methods.ts";

const methodsOf = methodTable([
  { method: "GET", path: "/api/v1/emails" },
  { method: "POST", path: "/api/v1/emails" },
  { method: "POST", path: "/api/v1/emails/batch" },
  { method: "GET", path: "/api/v1/emails/:id" },
  { method: "POST", path: "/api/v1/domains/:id/verification-checks" },
  { method: "GET", path: "/api/v1/openapi.json" },
  { method: "GET", path: "/a(b)+c" },
]);

test.each([
  ["/api/v1/emails", ["GET", "POST"]],
  ["/api/v1/emails/", ["GET", "POST"]],
  ["/api/v1/emails/019aa5f0", ["GET"]],
  ["/api/v1/emails/batch", ["GET", "POST"]],
  ["/api/v1/domains/x/verification-checks", ["POST"]],
  ["/api/v1/openapi.json", ["GET"]],
  ["/a(b)+c", ["GET"]],
])("%s knows %p", (path, methods) => {
  expect(methodsOf(path).toSorted()).toEqual(methods);
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
  expect(methodsOf(path)).toEqual([]);
});
