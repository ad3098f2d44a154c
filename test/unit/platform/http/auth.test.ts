import { describe, expect, test } from "bun:test";
import { AppError } from "../../../../src/platform/errors.ts";
import {
  requireFreshProof,
  requireStillSignedIn,
  requireStillValid,
  authenticate,
  type Caller,
  getCaller,
  operatorCaller,
  personCaller,
  getOwner,
  wholeWorkspaceCaller,
  workspaceCaller,
} from "../../../../src/platform/http/auth.ts";
import { createKey } from "../../../../src/modules/api-keys/key.ts";
import { systemRandom } from "../../../../src/platform/random.ts";

const KEY = createKey(systemRandom).key;
const CALLER: Caller = { kind: "key", keyId: 1, workspaceId: 2, domainId: null };

interface Visit {
  request: Request;
  /** Keys that were looked up. */
  looked: string[];
}

function visit(
  options: { path?: string; method?: string; key?: string | null; caller?: Caller; isOpen?: boolean } = {},
): Visit {
  const { path = "/api/v1/emails", method = "GET", key = KEY, caller = CALLER, isOpen = false } = options;
  const request = new Request(`http://localhost${path}`, { method, headers: key === null ? {} : { "x-api-key": key } });
  const looked: string[] = [];
  const verify = (asked: string) => {
    looked.push(asked);
    return asked === KEY ? caller : null;
  };
  authenticate(request, verify, { isOpen: () => isOpen, isForOperator: () => true, findPerson: () => null });
  return { request, looked };
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    return (error as AppError).code;
  }
  throw new Error("it was let in");
}

describe("a request under /api/", () => {
  test("is let in with a key that is known, and its caller is remembered", () => {
    expect(getCaller(visit().request)).toEqual(CALLER);
  });

  test("may have white space around its key, as a copied one has", () => {
    const request = {
      url: "http://localhost/api/v1/x",
      method: "GET",
      headers: new Headers({ "x-api-key": KEY }),
    } as Request;
    authenticate(request, (key) => (key === KEY ? CALLER : null), {
      isOpen: () => false,
      isForOperator: () => true,
      findPerson: () => null,
    });
    expect(getCaller(visit({ key: ` ${KEY}\t` }).request)).toEqual(CALLER);
  });

  const bring = (headers: Record<string, string>) => {
    const request = new Request("http://localhost/api/v1/emails", { headers });
    const verify = (key: string) => (key === KEY ? CALLER : null);
    authenticate(request, verify, { isOpen: () => false, isForOperator: () => true, findPerson: () => null });
    return request;
  };

  test.each([`Bearer ${KEY}`, `bearer  ${KEY}`])("may carry its key as Authorization: %s", (authorization) => {
    const request = bring({ authorization });
    expect(getCaller(request)).toEqual(CALLER);
    // It is looked at again once the body is there.
    requireStillValid(request, () => CALLER);
    expect(refusal(() => requireStillValid(request, () => null))).toBe("INVALID_API_KEY");
  });

  test("has the key of X-API-Key where both headers are there, and an empty one is none", () => {
    expect(refusal(() => bring({ authorization: `Bearer ${KEY}`, "x-api-key": "svc_other" }))).toBe("INVALID_API_KEY");
    expect(getCaller(bring({ authorization: `Bearer ${KEY}`, "x-api-key": " " }))).toEqual(CALLER);
  });

  test.each(["Basic dXNlcjpwdw==", "Bearer", KEY])("with Authorization: %s has no key", (authorization) => {
    expect(refusal(() => bring({ authorization }))).toBe("MISSING_API_KEY");
  });

  test.each([null, "", "   "])("without a key (%p) is 401", (key) => {
    expect(refusal(() => visit({ key }))).toBe("MISSING_API_KEY");
  });

  test("with a key that is not known is 401", () => {
    expect(refusal(() => visit({ key: createKey(systemRandom).key }))).toBe("INVALID_API_KEY");
  });

  test.each([
    ["cut short", KEY.slice(0, -1)],
    ["too long", `${KEY}a`],
    ["without svc_", KEY.slice(4)],
    ["with another case of svc_", `SVC_${KEY.slice(4)}`],
    ["twice", `${KEY}, ${KEY}`],
    ["of another alphabet", `svc_${"é".repeat(43)}`],
    ["of a hundred kilobytes", "x".repeat(100_000)],
  ])("with a key %s is 401 without a look-up", (_, key) => {
    const looked: string[] = [];
    const request = new Request("http://localhost/api/v1/emails", { headers: { "x-api-key": key } });
    const verify = (asked: string) => {
      looked.push(asked);
      return CALLER;
    };
    expect(
      refusal(() =>
        authenticate(request, verify, { isOpen: () => false, isForOperator: () => true, findPerson: () => null }),
      ),
    ).toBe("INVALID_API_KEY");
    expect(looked).toEqual([]);
  });

  test("to an open path needs no key, but a wrong one is still refused", () => {
    expect(getCaller(visit({ key: null, isOpen: true }).request)).toEqual({ kind: "anonymous" });
    expect(refusal(() => visit({ key: "wrong", isOpen: true }))).toBe("INVALID_API_KEY");
    expect(getCaller(visit({ isOpen: true }).request)).toEqual(CALLER);
  });

  test.each([
    "/api/v1/emails/../domains",
    "/api/",
    "/api//v1/emails",
    "/x/../api/v1/emails",
    "/api/v1/openapi.json/../emails",
    "/api/v1/openapi.json/",
    "/api/v1/%6fpenapi.json",
    "/api/v1/openapi.json%00",
  ])("is asked for its key whatever way the path takes: %s", (path) => {
    expect(refusal(() => visit({ path, key: null }))).toBe("MISSING_API_KEY");
  });
});

test("other paths, and the API's description, need no key and look none up", () => {
  for (const path of ["/health", "/ready", "/docs", "/", "/api/v1/openapi.json", "/api/v1/openapi.json?x=1"]) {
    expect(visit({ path, key: null }).looked).toEqual([]);
  }
});

test("a route that nobody was let in to throws instead of guessing", () => {
  expect(() => getCaller(visit({ path: "/health" }).request)).toThrow(/no caller/);
});

describe("what a key may do", () => {
  const keyOf = (caller: Caller) => visit({ caller }).request;

  test("a workspace's key speaks for the workspace", () => {
    expect(workspaceCaller(keyOf(CALLER))).toMatchObject({ workspaceId: 2, domainId: null });
    expect(wholeWorkspaceCaller(keyOf(CALLER))).toMatchObject({ workspaceId: 2 });
  });

  test("a domain's key speaks for its domain only", () => {
    const caller: Caller = { kind: "key", keyId: 1, workspaceId: 2, domainId: 3 };
    expect(workspaceCaller(keyOf(caller))).toMatchObject({ workspaceId: 2, domainId: 3 });
    expect(refusal(() => wholeWorkspaceCaller(keyOf(caller)))).toBe("API_KEY_RESTRICTED");
  });

  test.each(["operator", "anonymous"] as const)("the %s speaks for no workspace", (kind) => {
    const request = kind === "operator" ? keyOf({ kind }) : visit({ key: null, isOpen: true }).request;
    expect(refusal(() => workspaceCaller(request))).toBe("API_KEY_RESTRICTED");
    expect(refusal(() => wholeWorkspaceCaller(request))).toBe("API_KEY_RESTRICTED");
  });

  test("the operator alone is the operator", () => {
    expect(() => operatorCaller(keyOf({ kind: "operator" }))).not.toThrow();
    for (const request of [keyOf(CALLER), visit({ key: null, isOpen: true }).request])
      expect(refusal(() => operatorCaller(request))).toBe("API_KEY_RESTRICTED");
  });

  test.each(["/api/v1/operator/workspaces", "/api/v1/operator/", "/api/v1/operator/nothing"])(
    "under %s no other key gets in, whatever is there",
    (path) => {
      expect(refusal(() => visit({ path }))).toBe("API_KEY_RESTRICTED");
      expect(getCaller(visit({ path, caller: { kind: "operator" } }).request)).toEqual({ kind: "operator" });
    },
  );

  test("outside the API, as in the sandbox, nobody is asked and the owner of the body is anonymous", () => {
    const { request } = visit({ path: "/sandbox/texts", method: "POST", key: null });
    expect(getOwner(request)).toBe("anonymous");
    expect(getOwner(visit().request)).toBe("workspace 2");
  });
});

describe("a person's request", () => {
  const PERSON = { kind: "person", userId: 1, sessionId: 2, isOperator: false, hasFreshProof: true } as const;
  const MEMBER = { ...PERSON, kind: "member", workspaceId: 3, role: "viewer" } as const;

  /** Admitted as the first of `found`, and found as the next at each further look. */
  function signedIn(...found: (Caller | null)[]): Request {
    const request = new Request("http://localhost/api/v1/emails");
    const findPerson = () => found.shift() ?? null;
    authenticate(request, () => null, { isOpen: () => false, isForOperator: () => true, findPerson });
    return request;
  }

  test("speaks for the workspace that it names, and for no other", () => {
    expect(wholeWorkspaceCaller(signedIn(MEMBER))).toEqual({ workspaceId: 3, domainId: null, userId: 1 });
    expect(refusal(() => wholeWorkspaceCaller(signedIn(PERSON)))).toBe("API_KEY_RESTRICTED");
    expect(refusal(() => personCaller(signedIn(MEMBER)))).toBe("API_KEY_RESTRICTED");
    expect(personCaller(signedIn(PERSON))).toEqual(PERSON);
  });

  test("is the operator's only when that person is one", () => {
    expect(refusal(() => operatorCaller(signedIn(PERSON)))).toBe("API_KEY_RESTRICTED");
    expect(() => operatorCaller(signedIn({ ...PERSON, isOperator: true }))).not.toThrow();
    expect(refusal(() => operatorCaller(signedIn({ ...MEMBER, role: "operator" })))).toBe("API_KEY_RESTRICTED");
  });

  test("needs a fresh proof for what is dangerous; a key does not", () => {
    expect(refusal(() => requireFreshProof(signedIn({ ...MEMBER, hasFreshProof: false })))).toBe("PROOF_REQUIRED");
    expect(() => requireFreshProof(signedIn(MEMBER))).not.toThrow();
    expect(() => requireFreshProof(visit().request)).not.toThrow();
  });

  test("ends with the session, the membership, or another role", () => {
    expect(() => requireStillSignedIn(signedIn(MEMBER, MEMBER))).not.toThrow();
    expect(refusal(() => requireStillSignedIn(signedIn(MEMBER, { ...MEMBER, role: "admin" })))).toBe("ROLE_REQUIRED");
    expect(refusal(() => requireStillValid(signedIn(MEMBER, null), () => null))).toBe("ROLE_REQUIRED");
  });

  test("has a budget of bodies with its workspace, or of its own", () => {
    expect(getOwner(signedIn(MEMBER))).toBe("workspace 3");
    expect(getOwner(signedIn(PERSON))).toBe("user 1");
  });
});
