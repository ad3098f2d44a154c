// Calls the API with the browser's session. Errors are the API's own; a server that cannot be reached is reported once, for all.

import { signal } from "@preact/signals";
import type { Body, Call, Data, Meta, Params, Query } from "./calls.ts";
import { noteServerTime } from "./server-clock.ts";

export interface ErrorItem {
  code: string;
  message: string;
  field?: string;
  path?: string;
  hint?: string;
}

/** An answer that is an error. `status` 0: no answer came. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly items: ErrorItem[];
  readonly retryAfterS: number | null;

  constructor(status: number, items: ErrorItem[], retryAfterS: number | null = null) {
    super(items[0]?.message ?? `the server answered ${status}`);
    this.status = status;
    this.items = items;
    this.retryAfterS = retryAfterS;
  }

  get code(): string {
    return this.items[0]?.code ?? "";
  }
}

interface Inputs {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: object;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

type Given<C extends Call> = ([Params<C>] extends [never]
  ? { params?: never }
  : { params: Record<Params<C>, string> }) &
  (Body<C> extends undefined ? { body?: never } : { body: Body<C> }) &
  (Query<C> extends undefined ? { query?: never } : { query?: Query<C> });

export type CallOptions<C extends Call> = Given<C> & { signal?: AbortSignal; idempotencyKey?: string };

export interface Answer<C extends Call> {
  data: Data<C>;
  meta: Meta<C>;
}

/** Whether the last call found no server. */
export const isAway = signal(false);

/** Set by the parts of the app that answer for them, so that this file knows none of them. */
export const hooks = {
  /** The workspace of the page; null: none. */
  getWorkspace: (): string | null => null,
  /** The token of the link that the page was opened by. */
  getLink: () => "",
  /** There is no session any more. */
  signedOut: () => {},
  /** Asks who it is once more; false: the person gave up. */
  prove: (): Promise<boolean> => Promise.resolve(false),
};

/** Its answer is what the others are checked by. */
const WHO = "GET /api/v1/auth/me";

/** Throws ApiError. A call that asks for a fresh proof is made again once it is there. */
export async function call<C extends Call>(
  name: C,
  ...[options]: {} extends CallOptions<C> ? [CallOptions<C>?] : [CallOptions<C>]
): Promise<Answer<C>> {
  const inputs = (options ?? {}) as Inputs;
  try {
    return (await request(name, inputs)) as Answer<C>;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "NOT_SIGNED_IN" && name !== WHO) hooks.signedOut();
    if (error.code !== "PROOF_REQUIRED" || !(await hooks.prove())) throw error;
    return (await request(name, inputs)) as Answer<C>;
  }
}

async function request(name: string, { signal: abort, ...inputs }: Inputs): Promise<unknown> {
  const { method, url } = buildTarget(name, inputs);
  const headers = new Headers(buildScope(url));
  if (inputs.body !== undefined) headers.set("content-type", "application/json");
  if (inputs.idempotencyKey !== undefined) headers.set("idempotency-key", inputs.idempotencyKey);
  const response = await send(url, {
    method,
    headers,
    credentials: "same-origin",
    ...(inputs.body === undefined ? {} : { body: JSON.stringify(inputs.body) }),
    ...(abort === undefined ? {} : { signal: abort }),
  });
  if (!response.ok) throw await readError(response);
  return response.json();
}

/** `fetch`, which notes whether the server is there. Throws ApiError with status 0 where it is not. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init);
    noteServerTime(response);
    // A reverse proxy answers so for a server that is not there.
    isAway.value = response.status === 502 || response.status === 504;
    return response;
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    isAway.value = true;
    throw new ApiError(0, [{ code: "SERVER_AWAY", message: "" }]);
  }
}

export async function readError(response: Response): Promise<ApiError> {
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterS = Number.isFinite(retryAfter) ? retryAfter : null;
  try {
    const { errors } = (await response.json()) as { errors: ErrorItem[] };
    return new ApiError(response.status, errors, retryAfterS);
  } catch {
    // Not from pombo: a proxy's own page.
    return new ApiError(response.status, [{ code: "SERVER_AWAY", message: "" }], retryAfterS);
  }
}

/** "GET /api/v1/emails/:id" with its inputs as a method and an address. */
export function buildTarget(name: string, { params = {}, query = {} }: Inputs): { method: string; url: string } {
  const [method = "", path = ""] = name.split(" ");
  const filled = path.replace(/:(\w+)/g, (_all, param: string) => encodeURIComponent(params[param] ?? ""));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  return { method, url: search.size === 0 ? filled : `${filled}?${search.toString()}` };
}

/** What the call is about: the person's account, the whole server, or the workspace of the page. */
export function buildScope(url: string): Record<string, string> {
  if (url.startsWith("/api/v1/dns-share")) return { "Pombo-Share": hooks.getLink() };
  const isAccount = url.startsWith("/api/v1/auth/") && !url.startsWith("/api/v1/auth/keys");
  if (isAccount) return {};
  const workspace = hooks.getWorkspace();
  const isForOperator = url.startsWith("/api/v1/operator/") || url === "/api/v1/workspaces";
  if (isForOperator || workspace === null) return { "Pombo-Operator": "1" };
  return { "Pombo-Workspace": workspace };
}
