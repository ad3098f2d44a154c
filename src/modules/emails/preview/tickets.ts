/**
 * Tickets for looking at a message's html: a frame can send no header of ours, and a sandboxed one not surely a cookie, so that
 * its address alone says what it may show. Each works once, for a minute. They are in memory only.
 */
import type { Context } from "../../../platform/context.ts";
import { AppError } from "../../../platform/errors.ts";
import { memberCaller, requireStillSignedIn } from "../../../platform/http/auth.ts";
import {
  getArrival,
  readSessionCookie,
  requireOwnArrival,
  type DashboardSite,
} from "../../../platform/http/browser-request.ts";

/** Under the dashboard. */
const PREVIEW_PATH = "/dashboard/preview/";

const LIFETIME_MS = 60_000;
/** A person's newest, and the newest of all: older ones show nothing any more. */
const MAX_OF_USER = 4;
const MAX_TICKETS = 64;
const TOKEN_BYTES = 32;

interface Ticket {
  userId: number;
  /** Who may use it is asked of this request once more. */
  request: Request;
  /** Throws AppError where there is nothing to see any more. */
  read: () => Promise<string>;
  forget: () => void;
}

export class PreviewTickets {
  readonly #deps: Pick<Context, "clock" | "random">;
  /** In the order in which they were issued. */
  readonly #tickets = new Map<string, Ticket>();

  constructor(deps: Pick<Context, "clock" | "random">) {
    this.#deps = deps;
  }

  /** A ticket for the person of the request, for the html that `read` gives. */
  issue(request: Request, read: Ticket["read"]): { path: string; expiresAt: number } {
    const { clock, random } = this.#deps;
    const { userId } = memberCaller(request);
    const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString("base64url");
    const own = [...this.#tickets].filter(([, ticket]) => ticket.userId === userId);
    if (own.length >= MAX_OF_USER) this.#remove(own[0]?.[0]);
    if (this.#tickets.size >= MAX_TICKETS) this.#remove(this.#tickets.keys().next().value);
    const forget = clock.after(LIFETIME_MS, () => this.#remove(token));
    this.#tickets.set(token, { userId, request, read, forget });
    return { path: PREVIEW_PATH + token, expiresAt: clock.now() + LIFETIME_MS };
  }

  /** The html that a ticket is for; null: there is no such ticket, or not for whom asks. It is gone then. */
  async use(token: string, request: Request, site: DashboardSite): Promise<string | null> {
    const ticket = this.#remove(token);
    if (ticket === undefined) return null;
    try {
      return isAskedByOwner(request, ticket.request, site) ? await ticket.read() : null;
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  }

  /** Those of a stop, whose timers would go on. */
  clear(): void {
    for (const token of this.#tickets.keys()) this.#remove(token);
  }

  #remove(token: string | undefined): Ticket | undefined {
    const ticket = token === undefined ? undefined : this.#tickets.get(token);
    if (token === undefined || ticket === undefined) return undefined;
    ticket.forget();
    this.#tickets.delete(token);
    return ticket;
  }
}

/** From our own page, in the session that the ticket was issued in. Throws AppError where that is not as it was. */
function isAskedByOwner(request: Request, issued: Request, site: DashboardSite): boolean {
  const cookie = readSessionCookie(request, requireOwnArrival(request, site));
  if (cookie !== null && cookie !== readSessionCookie(issued, getArrival(issued))) return false;
  if ((request.headers.get("sec-fetch-site") ?? "same-origin") !== "same-origin") return false;
  requireStillSignedIn(issued);
  return true;
}
