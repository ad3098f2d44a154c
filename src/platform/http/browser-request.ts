// Whether a browser's request may use its session: over which host, how it came, and from which page.

import { type AddressRanges, isLoopback, isWithin } from "../ip/address.ts";
import { AppError } from "../errors.ts";
import { findPeer, isOverTls } from "./client-address.ts";

export interface DashboardSite {
  /** Where the dashboard is reached from elsewhere, as `https://mail.example.net`; null: only from this machine. */
  url: string | null;
  trustedProxies: AddressRanges;
}

/** How a request of a browser came: from this machine, or over https, here or through a trusted proxy. */
export interface Arrival {
  isHttps: boolean;
  /** Of our own pages, as the browser sees them. */
  origin: string;
}

const arrivals = new WeakMap<Request, Arrival>();

/** How a request came that was admitted without a key; 403 for one with a key, which no browser's page sends. */
export function getArrival(request: Request): Arrival {
  const arrival = arrivals.get(request);
  if (arrival !== undefined) return arrival;
  throw new AppError("API_KEY_RESTRICTED", "This is for the dashboard's pages, not for API keys", {
    hint: "Leave the key out.",
  });
}

/**
 * Notes how a request came. Throws MISDIRECTED_REQUEST for a Host that is not ours, as a name has that only points here (DNS
 * rebinding), and HTTPS_REQUIRED for plain http from elsewhere than this machine.
 */
export function requireOwnArrival(request: Request, site: DashboardSite): Arrival {
  // Once it is answered nobody knows any more whom it came from.
  const arrival = arrivals.get(request) ?? findArrival(request, site);
  arrivals.set(request, arrival);
  return arrival;
}

function findArrival(request: Request, site: DashboardSite): Arrival {
  const host = (request.headers.get("host") ?? "").toLowerCase();
  const isLocalHost = isLoopbackHost(host);
  const url = site.url === null ? null : new URL(site.url);
  // A proxy may name the port that https has anyway.
  if (!isLocalHost && (url === null || host.replace(/:443$/, "") !== url.host)) throw misdirected(site);
  const peer = findPeer(request) ?? "";
  const isOwnTls = isOverTls(request);
  if (isLocalHost && isLoopback(peer) && !isForwarded(request))
    return { isHttps: isOwnTls, origin: `${isOwnTls ? "https" : "http"}://${host}` };
  if (url !== null && isOwnTls && !isLocalHost) return { isHttps: true, origin: url.origin };
  const isTls = request.headers.get("x-forwarded-proto")?.trim().toLowerCase() === "https";
  if (url === null || !isTls || !isWithin(peer, site.trustedProxies)) throw httpsRequired(site);
  return { isHttps: true, origin: url.origin };
}

/** Throws CROSS_SITE_REQUEST for a request that changes something, unless one of our own pages sends it. */
export function requireSameOrigin(request: Request, { origin: own }: Arrival): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const isKnown = site !== null || origin !== null;
  // Both where both are there: behind a proxy that names itself localhost only the origin tells a stranger's site.
  if (isKnown && (site ?? "same-origin") === "same-origin" && (origin ?? own) === own) return;
  throw new AppError("CROSS_SITE_REQUEST", "A request with a session can only come from the dashboard's own pages", {
    hint: `Send it from a page of ${own}, or use an API key.`,
  });
}

/** `__Host-`: the browser binds it to this host and to https. On plain http, from this machine only, there is no such thing. */
export function getCookieName({ isHttps }: Pick<Arrival, "isHttps">): string {
  return isHttps ? "__Host-pombo" : "pombo-session";
}

/** The session's token in the cookie that belongs to how the request came; null: none. */
export function readSessionCookie(request: Request, arrival: Arrival): string | null {
  return readCookie(request, getCookieName(arrival));
}

/** Null: there is none of this name. */
export function readCookie({ headers }: Request, name: string): string | null {
  const cookies = (headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** Set-Cookie of a session; token null: the browser forgets it. */
export function writeSessionCookie(arrival: Arrival, token: string | null, maxAgeS: number): string {
  const secure = arrival.isHttps ? "; Secure" : "";
  const age = token === null ? 0 : maxAgeS;
  return `${getCookieName(arrival)}=${token ?? ""}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

const OWN_COOKIE = /(?:^|;)\s*(?:__Host-pombo|pombo-session)=/;

/** Whether a request brings a session, valid or not. */
export function hasSessionCookie(request: Request): boolean {
  return OWN_COOKIE.test(request.headers.get("cookie") ?? "");
}

/** Each proxy writes one of these. */
const FORWARDING = ["forwarded", "via", "x-real-ip"];

function isForwarded({ headers }: Request): boolean {
  return Object.keys(headers.toJSON()).some((name) => FORWARDING.includes(name) || name.startsWith("x-forwarded-"));
}

/** Whether a Host value, with or without a port, names this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  // RFC 6761 §6.3: browsers resolve names under localhost to loopback without asking DNS.
  if (name === "localhost" || /^([a-z0-9-]+\.)+localhost$/.test(name)) return true;
  return name === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

function misdirected({ url }: DashboardSite): AppError {
  return new AppError("MISDIRECTED_REQUEST", "The dashboard is not reached under this host name", {
    hint:
      url === null
        ? "Open it as http://localhost on this machine, or set [dashboard] url in the configuration."
        : `Open ${url}/dashboard; a reverse proxy must pass the Host header on.`,
  });
}

function httpsRequired({ url }: DashboardSite): AppError {
  return new AppError("HTTPS_REQUIRED", "The dashboard works over https only, except on this machine", {
    hint:
      url === null
        ? "Set [dashboard] url and [tls], or put a reverse proxy with TLS in front, or open a tunnel: ssh -L 8080:localhost:8080."
        : `Open ${url}/dashboard. Behind a reverse proxy, name it in [http] trusted_proxies and have it send X-Forwarded-Proto.`,
  });
}
