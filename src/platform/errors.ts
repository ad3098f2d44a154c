/** Every code that an API answer can carry, and its HTTP status. */
export const ERROR_STATUS = {
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
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  MISDIRECTED_REQUEST: 421,
  VALIDATION_ERROR: 422,
  RECIPIENT_SUPPRESSED: 422,
  BATCH_LIMIT_EXCEEDED: 422,
  SENDER_NOT_ALLOWED: 422,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

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

export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error of the system or of SQLite, as ENOENT; "": it has none. */
export function getErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** For what this user may not read or write: only a person can change that, so that it is final. */
export function createAccessError(error: unknown, message: string): StartError {
  return ["EACCES", "EPERM"].includes(getErrorCode(error)) ? new FinalStartError(message) : new StartError(message);
}
