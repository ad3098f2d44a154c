/** Every code that an API answer can carry. The status of each is in platform/http/errors.ts. */
export type ErrorCode =
  | "INVALID_JSON"
  | "MISSING_API_KEY"
  | "INVALID_API_KEY"
  | "DAILY_QUOTA_EXCEEDED"
  | "MONTHLY_QUOTA_EXCEEDED"
  | "PLAN_UPGRADE_REQUIRED"
  | "INSUFFICIENT_SMS_CREDITS"
  | "PLAN_LIMIT_REACHED"
  | "SENDING_BLOCKED"
  | "API_KEY_RESTRICTED"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "REQUEST_TIMEOUT"
  | "PAYLOAD_TOO_LARGE"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "DOMAIN_ALREADY_EXISTS"
  | "IDEMPOTENCY_KEY_REUSED"
  | "NOT_CANCELABLE"
  | "NOT_RETRYABLE"
  | "LAST_KEY"
  | "VALIDATION_ERROR"
  | "RECIPIENT_SUPPRESSED"
  | "BATCH_LIMIT_EXCEEDED"
  | "SENDER_NOT_ALLOWED"
  | "RATE_LIMITED"
  | "HEADERS_TOO_LARGE"
  | "INTERNAL_ERROR"
  | "UNAVAILABLE";

/** One invalid part of a request: `field` is the item's member (`from`), `path` its place in a batch (`emails[3].from`). */
export interface ErrorItem {
  /** Absent = the code of the error that holds the item. */
  code?: string;
  message: string;
  field?: string;
  path?: string;
  /** One sentence: what to do. */
  hint?: string;
}

/** Members of an AppError besides its code and message. */
export interface ErrorDetails {
  field?: string;
  path?: string;
  hint?: string;
  /** Several errors answered at once: the items of the answer; this error's own message is only logged. */
  items?: ErrorItem[];
  /** Whole seconds ≥ 1, for the header Retry-After. */
  retryAfterS?: number;
  /** The methods that the path knows, for the header Allow of METHOD_NOT_ALLOWED. */
  allow?: string[];
}

/** An error that the caller of the API can fix or wait out; everything else that is thrown is an internal error and answers 500. */
export class AppError extends Error implements ErrorDetails {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly field?: string;
  readonly path?: string;
  readonly hint?: string;
  readonly items?: ErrorItem[];
  readonly retryAfterS?: number;
  readonly allow?: string[];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.code = code;
    Object.assign(this, details);
  }
}

/**
 * pombo cannot start, and a person can change that: the message says in whole sentences what is wrong
 * and what to do. main prints it without a stack and exits with 1.
 */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** The same, and to start again changes nothing: main exits with 78 (EX_CONFIG), at which systemd does not try it. */
export class FinalStartError extends StartError {
  override readonly name = "FinalStartError";
}

/** The message of whatever was thrown. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error of the system or of SQLite, as ENOENT; "": it has none. */
export function getErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
