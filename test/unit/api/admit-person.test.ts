// Admission of people by itself: nobody comes in before the start is recorded.

import { expect, test } from "bun:test";
import { createPersonFinder, type PeopleDeps } from "../../../src/api/admit-person.ts";
import { ROUTE_RIGHTS } from "../../../src/api/roles.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { parseRanges } from "../../../src/platform/ip/address.ts";

function findWhileStarting(changes: Partial<PeopleDeps> = {}) {
  const unreachable = () => {
    throw new Error("the database was asked");
  };
  return createPersonFinder({
    isEnabled: true,
    isBegun: () => false,
    site: { url: null, trustedProxies: parseRanges([]) },
    verifySession: unreachable,
    findMembership: unreachable,
    operatorEntered: unreachable,
    clock: { now: () => 0 },
    ...changes,
  });
}

const COOKIE = { cookie: `pombo-session=${"x".repeat(43)}` };

function codeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error instanceof AppError ? error.code : error;
  }
}

test("before the start is recorded every route for people is unavailable, with a session or without", () => {
  const find = findWhileStarting();
  const ask = (route: string, headers: Record<string, string>) => {
    const [method = "", path = ""] = route.split(" ");
    return codeOf(() => find(new Request(`http://localhost${path}`, { method, headers }), path));
  };
  for (const [route, right] of Object.entries(ROUTE_RIGHTS)) {
    expect([route, ask(route, COOKIE)]).toEqual([route, "UNAVAILABLE"]);
    // Without a session the others are for API keys, which have nothing to do with it.
    const isForPeople = right === "open" || right === "person";
    expect([route, ask(route, {})]).toEqual([route, isForPeople ? "UNAVAILABLE" : null]);
  }
  expect(ask("GET /api/v1/operator/users", COOKIE)).toBe("UNAVAILABLE");
});
