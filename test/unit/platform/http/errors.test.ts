import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { AppError, type ErrorCode } from "../../../../src/platform/errors.ts";
import { errorResponse, errorsPlugin, validationError } from "../../../../src/platform/http/errors.ts";
import type { Log } from "../../../../src/platform/log.ts";

/** Every code and its status. */
const STATUSES: Record<ErrorCode, number> = {
  INVALID_JSON: 400,
  MISSING_API_KEY: 401,
  INVALID_API_KEY: 401,
  NOT_SIGNED_IN: 401,
  INVALID_CREDENTIALS: 401,
  SECOND_FACTOR_REQUIRED: 401,
  DAILY_QUOTA_EXCEEDED: 402,
  MONTHLY_QUOTA_EXCEEDED: 402,
  PLAN_UPGRADE_REQUIRED: 402,
  INSUFFICIENT_SMS_CREDITS: 402,
  PLAN_LIMIT_REACHED: 402,
  SENDING_BLOCKED: 403,
  API_KEY_RESTRICTED: 403,
  ROLE_REQUIRED: 403,
  PROOF_REQUIRED: 403,
  CROSS_SITE_REQUEST: 403,
  HTTPS_REQUIRED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DOMAIN_ALREADY_EXISTS: 409,
  IDEMPOTENCY_KEY_REUSED: 409,
  NOT_CANCELABLE: 409,
  NOT_RETRYABLE: 409,
  NOT_SCHEDULED: 409,
  LAST_KEY: 409,
  LAST_FACTOR: 409,
  LAST_OWNER: 409,
  ALREADY_MEMBER: 409,
  LINK_USED: 410,
  MISDIRECTED_REQUEST: 421,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  VALIDATION_ERROR: 422,
  RECIPIENT_SUPPRESSED: 422,
  BATCH_LIMIT_EXCEEDED: 422,
  SENDER_NOT_ALLOWED: 422,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
};

test.each(Object.entries(STATUSES))("%s is %i", async (code, status) => {
  const response = errorResponse(new AppError(code as ErrorCode, "words"));
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ errors: [{ code, message: "words" }] });
});

describe("the answer to an error", () => {
  test("carries its field, path and hint", async () => {
    const error = new AppError("VALIDATION_ERROR", "m", { field: "from", path: "emails[3].from", hint: "h" });
    expect(await errorResponse(error).json()).toEqual({
      errors: [{ code: "VALIDATION_ERROR", message: "m", field: "from", path: "emails[3].from", hint: "h" }],
    });
  });

  test("has one item for each fault, whose code may be its own", async () => {
    const error = new AppError("VALIDATION_ERROR", "not told", {
      items: [{ message: "a" }, { code: "SENDER_NOT_ALLOWED", message: "b" }],
    });
    expect(await errorResponse(error).json()).toEqual({
      errors: [
        { code: "VALIDATION_ERROR", message: "a" },
        { code: "SENDER_NOT_ALLOWED", message: "b" },
      ],
    });
  });

  test("says when to come again, and after a 503 always", () => {
    expect(
      errorResponse(new AppError("DAILY_QUOTA_EXCEEDED", "m", { retryAfterS: 77 })).headers.get("retry-after"),
    ).toBe("77");
    expect(Number(errorResponse(new AppError("UNAVAILABLE", "m")).headers.get("retry-after"))).toBeGreaterThan(0);
    expect(errorResponse(new AppError("NOT_FOUND", "m")).headers.get("retry-after")).toBeNull();
  });

  test("of 401 says how to authenticate, of 405 what is allowed", () => {
    expect(errorResponse(new AppError("MISSING_API_KEY", "m")).headers.get("www-authenticate")).toContain("X-API-Key");
    const notAllowed = errorResponse(new AppError("METHOD_NOT_ALLOWED", "m", { allow: ["GET", "POST"] }));
    expect(notAllowed.headers.get("allow")).toBe("GET, POST");
  });

  test("names a fault's place: the member, and in a list the way to it", () => {
    const { items: faults } = validationError([
      { path: ["subject"], message: "is required" },
      { path: ["emails", 3, "from"], message: "is required", hint: "h" },
      { path: [], message: "must be an object" },
    ]);
    expect(faults).toEqual([
      { message: "subject is required", field: "subject" },
      { message: "from is required", field: "from", path: "emails[3].from", hint: "h" },
      { message: "The body must be an object" },
    ]);
  });
});

interface Told {
  status: number;
  text: string;
  headers: Headers;
  bugs: unknown[];
  /** The log's, of each bug. */
  requestIds: unknown[];
}

/** What a client and the log are told when a route throws. */
async function answerTo(thrown: unknown, request = new Request("http://localhost/broken")): Promise<Told> {
  const bugs: unknown[] = [];
  const requestIds: unknown[] = [];
  const log: Log = {
    event: () => undefined,
    error(_, error, fields) {
      bugs.push(error);
      requestIds.push(fields?.["requestId"]);
    },
  };
  const app = new Elysia({ aot: false, normalize: false })
    .onRequest(({ set }) => void (set.headers["x-request-id"] = "the id"))
    .use(errorsPlugin(log, (path) => (path === "/broken" ? ["GET"] : [])))
    .get("/broken", () => {
      throw thrown;
    });
  const response = await app.handle(request);
  return { status: response.status, text: await response.text(), headers: response.headers, bugs, requestIds };
}

function sqliteError(): unknown {
  const sqlite = new Database(":memory:");
  sqlite.run("PRAGMA query_only = ON");
  try {
    sqlite.run("CREATE TABLE secret_table (x)");
  } catch (error) {
    return error;
  } finally {
    sqlite.close();
  }
  throw new Error("it could be written");
}

describe("what a route throws", () => {
  test("is a bug: 500, without a word of the inside, and the log has it", async () => {
    const bug = new Error("SELECT hash FROM api_key at /srv/pombo/secret.ts");
    const told = await answerTo(bug);
    expect(told.status).toBe(500);
    expect(told.text).not.toMatch(/SELECT|api_key|secret|\.ts|Error:/);
    expect(JSON.parse(told.text)).toMatchObject({ errors: [{ code: "INTERNAL_ERROR" }] });
    expect(told.bugs).toEqual([bug]);
    expect([told.headers.get("x-request-id"), told.requestIds]).toEqual(["the id", ["the id"]]);
  });

  test.each([
    ["a text", "boom secret"],
    ["a number", 7],
    ["an object", { secret: 1 }],
  ])("is %s: still 500", async (_, thrown) => {
    const told = await answerTo(thrown);
    expect(told.status).toBe(500);
    expect(told.text).not.toContain("secret");
  });

  test.each([
    ["as the committer rejects", () => new StorageError(sqliteError())],
    ["as SQLite throws", sqliteError],
    ["as drizzle wraps it", () => new Error("Failed query: INSERT INTO secret_table", { cause: sqliteError() })],
  ])("is trouble with the storage %s: 503 with Retry-After, and no bug", async (_, thrown) => {
    const told = await answerTo(thrown());
    expect(told.status).toBe(503);
    expect(Number(told.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(told.text).not.toMatch(/secret_table|SQLITE|readonly/);
    expect(told.bugs).toEqual([]);
  });

  test("is a COMMIT of unknown outcome: 503 without the promise that nothing was accepted", async () => {
    const told = await answerTo(new StorageError(sqliteError(), { isCommit: true }));
    expect(told.text).toContain("nothing was accepted"); // readonly: certainly rolled back
    const failed = Object.assign(new Error("disk I/O error"), { name: "SQLiteError", code: "SQLITE_IOERR_FSYNC" });
    const unknown = await answerTo(new StorageError(failed, { isCommit: true }));
    expect(unknown.status).toBe(503);
    expect(unknown.text).not.toContain("nothing was accepted");
    expect(unknown.text).toContain("Idempotency-Key");
    expect(unknown.bugs).toEqual([]);
  });

  test("is what the caller can mend: told as it is, and no bug", async () => {
    const told = await answerTo(new AppError("LAST_KEY", "words", { hint: "h" }));
    expect(told.status).toBe(409);
    expect(told.bugs).toEqual([]);
  });
});

test("an API key that was put into a request is not repeated", async () => {
  const key = `svc_${"Ab1_".repeat(11)}`.slice(0, 47);
  const fault = { path: [`x${key}`], message: `is not like ${key}`, hint: `Not ${key}.` };
  for (const error of [
    validationError([fault]),
    new AppError("INVALID_JSON", key, { field: key, path: key, hint: key }),
  ]) {
    const { text } = await answerTo(error);
    expect(text).toContain("svc_***");
    expect(text).not.toContain("Ab1_");
    expect(JSON.parse(text).errors).toHaveLength(1);
  }
});

test("a path that is not there is 404, one that is there with another method is 405 with those it knows", async () => {
  expect((await answerTo(null, new Request("http://localhost/nowhere"))).status).toBe(404);
  const told = await answerTo(null, new Request("http://localhost/broken", { method: "DELETE" }));
  expect([told.status, told.headers.get("allow")]).toEqual([405, "GET"]);
  expect(told.bugs).toEqual([]);
});
