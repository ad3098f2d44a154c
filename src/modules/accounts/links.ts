// One-use links: an operator's first sign-in, a lost account, sign-in by mail, the proof of an address, the sandbox.

import type { Clock } from "../../platform/clock.ts";
import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { LinkRow, LinkStore } from "./link-store.ts";
import type { DashboardLink } from "./operator-schema.ts";
import { createToken, hashToken, isToken } from "./token.ts";

const MINUTE_MS = 60_000;

export type LinkKind = LinkRow["kind"];

export const LIFETIME_MS: Record<LinkKind, number> = {
  setup: 30 * MINUTE_MS,
  reset: 30 * MINUTE_MS,
  magic: 15 * MINUTE_MS,
  email: 24 * 60 * MINUTE_MS,
  sandbox: 24 * 60 * MINUTE_MS,
};

/** The page that takes a link of each kind, under /dashboard. */
const PAGES: Record<LinkKind, string> = {
  setup: "setup",
  reset: "recover",
  magic: "link",
  email: "link",
  sandbox: "setup",
};

export interface LinkRequest {
  kind: LinkKind;
  userId: number | null;
  /** The address that it proves. */
  email?: string;
  /** SHA-256 of the nonce of the browser that asked. */
  browserHash?: string;
}

export interface CreatedLink {
  token: string;
  /** `/dashboard/setup#TOKEN`: in the fragment, which no proxy logs. */
  path: string;
  expiresAt: number;
}

/** Where the dashboard is, and the command that brings it to another machine, if it needs one. */
export interface LinkPlace {
  origin: string;
  tunnel: string | null;
}

/** A link as it is shown to who hands it on. */
export function showLink({ path, expiresAt }: CreatedLink, { origin, tunnel }: LinkPlace): typeof DashboardLink.static {
  return { url: origin + path, expiresAt: toIsoTime(expiresAt), tunnel };
}

export interface LinkDeps extends Pick<Context, "random"> {
  clock: Pick<Clock, "now">;
  links: LinkStore;
}

/** Makes a link, inside the caller's transaction. */
export function insertLink({ kind, userId, email, browserHash }: LinkRequest, deps: LinkDeps): CreatedLink {
  const now = deps.clock.now();
  const { token, hash } = createToken(deps.random);
  const expiresAt = now + LIFETIME_MS[kind];
  const bound = { email: email ?? null, browserHash: browserHash ?? null };
  deps.links.insert({ hash, kind, userId, ...bound, createdAt: now, expiresAt });
  return { token, path: `/dashboard/${PAGES[kind]}#${token}`, expiresAt };
}

/** Undefined: there is none, it was used, or its time is over. */
export function findLink(token: string, { links, clock }: Pick<LinkDeps, "links" | "clock">): LinkRow | undefined {
  const link = isToken(token) ? links.byHash(hashToken(token)) : undefined;
  return link !== undefined && link.expiresAt > clock.now() ? link : undefined;
}

export function linkUsed(): AppError {
  return new AppError("LINK_USED", "This link was used already, its time is over, or it was withdrawn", {
    hint: "Ask for a new one where it came from.",
  });
}
