import { expect, test } from "bun:test";
import { findRight, ROUTE_RIGHTS } from "../../../src/api/roles.ts";
import { OPERATOR_PATHS } from "../../../src/platform/http/auth.ts";
import { operationsOf, servedBy } from "../api/document.ts";
import { startInstance } from "../../support/fakes/instance.ts";

test("every route names the right that it needs of a person", async () => {
  await using pombo = await startInstance();
  const routes = Object.keys(operationsOf(await servedBy(pombo)))
    .map((operation) => operation.replaceAll(/\{([^}]+)\}/g, ":$1"))
    .filter((route) => route.includes(" /api/v1/") && !route.includes(OPERATOR_PATHS))
    .filter((route) => route !== "GET /api/v1/openapi.json");
  expect(routes.filter((route) => ROUTE_RIGHTS[route] === undefined)).toEqual([]);
});

test("a request finds the right of its route, with or without a slash at its end", () => {
  expect(findRight("GET", "/api/v1/emails/7/")).toBe("read");
  expect(findRight("POST", "/api/v1/emails")).toBe("send");
  expect(findRight("DELETE", "/api/v1/auth/keys/x")).toBe("manage");
  expect(findRight("GET", "/api/v1/sms/inbound")).toBe("content");
  expect(findRight("PUT", "/api/v1/emails")).toBeNull();
  expect(findRight("GET", "/api/v1/emails/7/secret")).toBeNull();
});
