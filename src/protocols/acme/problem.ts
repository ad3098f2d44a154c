// What a certificate authority says when it refuses: a problem document (RFC 7807) with a type of RFC 8555 §6.7.

/** How the authority names them: urn:ietf:params:acme:error:badNonce. */
const TYPE_PREFIX = "urn:ietf:params:acme:error:";
const MAX_DETAIL = 500;
const MAX_SUBPROBLEMS = 20;

export interface Subproblem {
  /** Without the prefix: `caa`. */
  type: string;
  detail: string;
  /** The name that it is about; null: none is named. */
  name: string | null;
}

/** The authority refused, or did not answer as RFC 8555 has it. */
export class AcmeProblem extends Error {
  override readonly name = "AcmeProblem";
  /** Of the authority, without the prefix; `noAnswer` and `badAnswer` are ours. */
  readonly type: string;
  /** In its own words. */
  readonly detail: string;
  readonly subproblems: Subproblem[];
  /** What it asks one to wait; null: it does not say. */
  readonly retryAfterMs: number | null;

  constructor(
    type: string,
    detail: string,
    rest: { subproblems?: Subproblem[]; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(`${type}: ${detail}`, { cause: rest.cause });
    this.type = type;
    this.detail = detail;
    this.subproblems = rest.subproblems ?? [];
    this.retryAfterMs = rest.retryAfterMs ?? null;
  }
}

/** `body`: parsed JSON, or anything else. */
export function readProblem(body: unknown, retryAfterMs: number | null = null): AcmeProblem {
  const { type, detail, subproblems } = asRecord(body);
  const list = Array.isArray(subproblems) ? subproblems.slice(0, MAX_SUBPROBLEMS) : [];
  return new AcmeProblem(readType(type), readText(detail), {
    subproblems: list.map((each) => {
      const { identifier, ...rest } = asRecord(each);
      const { value } = asRecord(identifier);
      return {
        type: readType(rest["type"]),
        detail: readText(rest["detail"]),
        name: typeof value === "string" ? value : null,
      };
    }),
    retryAfterMs,
  });
}

/** The members of an object; none of anything else. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function readType(value: unknown): string {
  if (typeof value !== "string") return "badAnswer";
  return value.startsWith(TYPE_PREFIX) ? value.slice(TYPE_PREFIX.length) : value.slice(0, MAX_DETAIL);
}

/** Control characters could move a terminal's cursor. */
function readText(value: unknown): string {
  const text = typeof value === "string" ? value : "it gives no reason";
  return text.replace(/\p{Cc}+/gu, " ").slice(0, MAX_DETAIL);
}
