// Every error of the API becomes an answer here: { errors: [{ code, message, field?, path?, hint? }] }.

import { Elysia, type ValidationError } from "elysia";
import type { TypeCheck } from "@sinclair/typebox/compiler";
import type { TSchema } from "@sinclair/typebox";
import { isStorageError, NotReplicatedError, StorageError } from "../db/storage-error.ts";
import { AppError, ERROR_STATUS, type ErrorItem } from "../errors.ts";
import { hideKeys, type Log } from "../log.ts";
import { getPath } from "./path.ts";
import { type FieldError, findFieldErrors } from "./request-schemas.ts";

// No stack, SQL or path of ours reaches a client.

export const ERROR_CODES = Object.keys(ERROR_STATUS);

/** WWW-Authenticate of a 401 (RFC 9110, section 11.6.1): the key goes into either header. */
export const CHALLENGE = 'ApiKey realm="pombo", header="X-API-Key", Bearer realm="pombo"';

/** For a 503 that says nothing better. */
const UNAVAILABLE_RETRY_S = 5;

export function errorBody({ code, message, field, path, hint, items }: AppError) {
  // Undefined members are left out of the JSON.
  return { errors: items?.map((item) => ({ code, ...item })) ?? [{ code, message, field, path, hint }] };
}

export function errorResponse(error: AppError): Response {
  const headers = new Headers({ "content-type": "application/json" });
  const status: number = ERROR_STATUS[error.code];
  if (status === 401) headers.set("www-authenticate", CHALLENGE);
  // RFC 9110 §15.5.9: nothing more is waited for.
  if (status === 408) headers.set("connection", "close");
  const retryAfterS = error.retryAfterS ?? (status === 503 ? UNAVAILABLE_RETRY_S : undefined);
  if (retryAfterS !== undefined) headers.set("retry-after", String(retryAfterS));
  if (error.allow !== undefined) headers.set("allow", error.allow.join(", "));
  // Words of the request come back in some messages, and a key may have been put anywhere in it.
  return new Response(hideKeys(JSON.stringify(errorBody(error))), { status, headers });
}

/**
 * Turns whatever was thrown on the way of a request into its answer. Must come before the routes. `methodsOf` gives the
 * methods of a path: Elysia calls a wrong method "not found" too.
 */
export function errorsPlugin(log: Log, methodsOf: (path: string) => string[], refused?: OnRefused) {
  return new Elysia({ name: "errors" }).onError({ as: "global" }, ({ code, error, request, set }) => {
    const allow = code === "NOT_FOUND" ? methodsOf(getPath(request)) : [];
    // Our own word is about a thing where the path knows the method, and about the path where a session has no right to it.
    const isOwnWord = error instanceof AppError && allow.includes(request.method);
    const report = (found: unknown) => log.error("http", found, { requestId: String(set.headers["x-request-id"]) });
    const answer =
      allow.length > 0 && !isOwnWord ? methodNotAllowed(request.method, allow) : toAppError(code, error, report);
    const response = errorResponse(answer);
    refused?.(request, response.status, answer);
    return response;
  });
}

/** Sees each request that is answered with an error. */
export type OnRefused = (request: Request, status: number, error: AppError) => void;

export function methodNotAllowed(method: string, allow: string[]): AppError {
  const message = `${method} is not a method of this path; it knows ${allow.join(", ")}`;
  return new AppError("METHOD_NOT_ALLOWED", message, { allow });
}

function toAppError(code: unknown, error: unknown, report: (error: unknown) => void): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof StorageError && error.isUnknown) {
    const why =
      error instanceof NotReplicatedError
        ? "The replica did not confirm this in time"
        : "The disk failed while this was stored";
    return new AppError("UNAVAILABLE", `${why}; it may or may not have been accepted`, {
      hint: "Send the same request again in a few seconds with the same Idempotency-Key, which never does anything twice. Without a key, first check whether it exists.",
    });
  }
  if (isStorageError(error)) {
    return nothingStored();
  }
  if (code === "NOT_FOUND")
    return notFound("There is nothing at this path", "The routes are listed at /api/v1/openapi.json.");
  if (code === "VALIDATION") {
    const invalid = error as ValidationError & { type: string; validator: TypeCheck<TSchema>; value: unknown };
    if (invalid.type !== "response") return validationError(findFieldErrors(invalid.validator, invalid.value));
  }
  if (code === "INVALID_COOKIE_SIGNATURE" || code === "PARSE")
    return new AppError("INVALID_JSON", "The body could not be read");
  report(error);
  return internalError();
}

export function nothingStored(): AppError {
  return new AppError("UNAVAILABLE", "Nothing can be stored now; nothing was accepted", {
    hint: "Send the same request again in a few seconds.",
  });
}

export function internalError(): AppError {
  return new AppError("INTERNAL_ERROR", "An internal error occurred; the operator's log has the details", {
    hint: "No partial change was made: the same request can be sent again. The operator finds the error by the X-Request-Id of this answer.",
  });
}

export function notFound(message: string, hint?: string): AppError {
  return new AppError("NOT_FOUND", message, hint === undefined ? {} : { hint });
}

/** 422 with one item per fault. */
export function validationError(errors: readonly FieldError[]): AppError {
  return new AppError("VALIDATION_ERROR", "The request is not valid", { items: errors.map(toItem) });
}

/** A member's name in an answer; the client made it up and may have made it long. */
const MAX_NAME = 100;

/** `field` is the member as the interface shows it; in a batch `path` names the item. */
function toItem(fault: FieldError): ErrorItem {
  const parts = fault.path.map((part) =>
    typeof part === "string" && part.length > MAX_NAME ? `${part.slice(0, MAX_NAME)}…` : part,
  );
  const names = parts.filter((part) => typeof part === "string");
  const last = names.at(-1);
  const isInItem = parts.some((part) => typeof part === "number");
  const place = parts.reduce<string>(
    (path, part) => (typeof part === "number" ? `${path}[${part}]` : path === "" ? part : `${path}.${part}`),
    "",
  );
  const subject = typeof parts.at(-1) === "number" ? place : last === "" ? '""' : last;
  return {
    message: `${subject ?? "The body"} ${fault.message}`,
    ...(last === undefined ? {} : { field: last }),
    ...(isInItem ? { path: place } : {}),
    ...(fault.hint === undefined ? {} : { hint: fault.hint }),
  };
}
