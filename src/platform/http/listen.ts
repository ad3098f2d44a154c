// Listens for HTTP and hands each request to the application in the form that its router needs.

import http from "node:http";
import type { AnyElysia } from "elysia";
import type { HostPort } from "../ip/address.ts";
import { getErrorCode, StartError } from "../errors.ts";
import type { CertificateSource } from "../served-certificate.ts";
import { noteArrival, type Peers } from "./client-address.ts";
import { createHandler } from "./direct-routes.ts";

/**
 * Bun would refuse larger bodies with an empty answer. Each route has its own limit, with words (body/read.ts), and Bun
 * keeps nothing of a body that no route reads.
 */
const MAX_BODY_BYTES = Number.MAX_SAFE_INTEGER;
export const IDLE_TIMEOUT_S = 60;

export interface Listener {
  url: string;
  /** The one that was chosen, where the configuration has 0. */
  port: number;
  /** Takes no more requests and resolves when the running ones are answered. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions extends Omit<Place, keyof HostPort> {
  /** Called after each answer, with the request as the router saw it. */
  answered?: ((response: Response, durationMs: number, request: Request) => void) | undefined;
}

/**
 * Bun refuses larger headers, and more than 200 of them, before any of our code, with a bare 431; of smaller ones
 * api/admit.ts says in words that they are too large.
 */
const RUNTIME_HEADER_BYTES = 256 * 1024;

/** Binds an address of the API's. Throws StartError with the way out (`portHint`) when it is taken. */
export function listen(api: AnyElysia, at: HostPort, options: ListenOptions): Listener {
  const { answered, ...place } = options;
  const { certificate } = place;
  const handle = createHandler(api);
  return bind({ ...at, ...place }, async (request, peers) => {
    const startedAt = performance.now();
    const handled = forRouter(request);
    noteArrival(request, peers, handled);
    const response = await handle(handled);
    // With a certificate that browsers refuse it would lock people out.
    if (certificate?.isPublic === true) response.headers.set("strict-transport-security", HSTS);
    answered?.(response, performance.now() - startedAt, handled);
    return response;
  });
}

const REOPEN_EVERY_MS = 100;

/** 180 days. */
const HSTS = "max-age=15552000";

export interface Place extends HostPort {
  /** Of the configuration. */
  key: string;
  /** What the operator can do when the port is taken. */
  portHint: string;
  /** With TLS. */
  certificate?: CertificateSource;
  /** Another listener has the IPv4 addresses of the same port. */
  isOnlyIPv6?: boolean;
}

type Fetch = (request: Request, peers: Peers) => Promise<Response> | Response;

/** Takes a port for HTTP. Throws StartError with what a person can do about it when that cannot be. */
export function bind(place: Place, fetch: Fetch): Listener {
  const { address, certificate } = place;
  let server = tryToServe(place, fetch);
  const port = server.port ?? place.port;
  /** Of former certificates: their last requests are being answered. */
  const former = new Set<Bun.Server<undefined>>();
  // The runtime takes no new certificate for a port that is open (oven-sh/bun#43815): it is closed and opened again in
  // one turn. Requests under way are answered by the old one.
  const endFollow = certificate?.follow(() => {
    const old = server;
    former.add(old);
    void old.stop(false).finally(() => former.delete(old));
    reopen();
  });
  let isStopping = false;
  const reopen = (): void => {
    if (isStopping) return;
    try {
      server = tryToServe({ ...place, port }, fetch);
    } catch {
      // Another program was quicker, or the system lacks something for a moment: the port is ours again once it can be.
      setTimeout(reopen, REOPEN_EVERY_MS);
    }
  };
  const host = address.includes(":") ? `[${address}]` : address;
  return {
    url: `${certificate === undefined ? "http" : "https"}://${host}:${port}`,
    port,
    async stop(graceMs) {
      isStopping = true;
      endFollow?.();
      await Promise.all([server, ...former].map((each) => endWithin(each, graceMs)));
    },
  };
}

function tryToServe(place: Place, fetch: Fetch): Bun.Server<undefined> {
  const { address, port, key, certificate, isOnlyIPv6 = false } = place;
  try {
    (http as { maxHeaderSize: number }).maxHeaderSize = RUNTIME_HEADER_BYTES;
    return Bun.serve({
      hostname: address,
      port,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: MAX_BODY_BYTES,
      // Bun would answer what is thrown here with its source and stack. Without that it would share the port,
      // and two instances would answer each other's requests by turns.
      development: false,
      reusePort: false,
      ipv6Only: isOnlyIPv6,
      ...(certificate === undefined ? {} : { tls: certificate.pair }),
      fetch,
    });
  } catch (error) {
    const code = getErrorCode(error);
    if (code === "EADDRINUSE") {
      throw new StartError(
        `Port ${port} on ${address} is in use by another program. Stop that one, or ${place.portHint}.`,
      );
    }
    if (code === "EACCES") {
      throw new StartError(
        `Port ${port} on ${address} may not be opened by this user. ${port < 1024 ? LOW_PORT : ""}Choose a port above 1023 (${key}).`,
      );
    }
    throw new StartError(`${address}:${port} cannot be listened on (${code || String(error)}). Check ${key}.`);
  }
}

const LOW_PORT =
  "Give pombo the right (in its systemd service AmbientCapabilities=CAP_NET_BIND_SERVICE, elsewhere: sudo setcap " +
  "cap_net_bind_service=+ep on the pombo executable). Or: ";

/** A client that never ends its request must not keep the instance from stopping: nothing of it was accepted. */
export async function endWithin(server: Bun.Server<undefined>, graceMs: number): Promise<void> {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([server.stop(false), isOver]);
  clearTimeout(timer);
  await server.stop(true);
}

/** Where a URL's path may begin for Elysia to find it. */
const FIRST_PATH_INDEX = 11;
/** Letters, digits and punctuation of a host and port, or an IPv6 address in brackets: anything else is no URL. */
const HOST = /^(?:[\w.~-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/**
 * The request as the router finds its route. Elysia looks for the path from the eleventh character on, past
 * the start of it when the host is called `api`; and HTTP/1.0 needs to name no host, which leaves a URL that
 * is a bare path, as a malformed host does: such a request goes on under another host, since nothing here depends
 * on its name. And a HEAD is a GET of whose answer the server leaves the body out (RFC 9110 §9.3.2).
 */
export function forRouter(request: Request): Request {
  const { url } = request;
  const hostAt = url.startsWith("/") ? 0 : url.indexOf("://") + 3;
  const pathAt = url.indexOf("/", hostAt);
  const isUsual = pathAt >= FIRST_PATH_INDEX && HOST.test(url.slice(hostAt, pathAt));
  const usual = isUsual ? request : new Request(`http://localhost${url.slice(pathAt)}`, request);
  return usual.method === "HEAD" ? new Request(usual, { method: "GET" }) : usual;
}
