// A reverse proxy with TLS before an instance, as an operator sets one up.

import { createHash, X509Certificate } from "node:crypto";
import { OTHER_CERTIFICATE } from "../fakes/certificates.ts";

/** The name in its certificate. */
export const TLS_HOST = "other.test";

/** Of the certificate's key: a browser that trusts it trusts the certificate, whoever signed it. */
export const TLS_KEY_HASH = createHash("sha256")
  .update(new X509Certificate(OTHER_CERTIFICATE.cert).publicKey.export({ type: "spki", format: "der" }))
  .digest("base64");

export interface TlsProxy {
  readonly url: string;
  /** Where requests go; set once the instance listens. */
  target: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export function startTlsProxy(): TlsProxy {
  const proxy: TlsProxy = { url: "", target: "", [Symbol.asyncDispose]: () => server.stop(true) };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    tls: { key: OTHER_CERTIFICATE.key, cert: OTHER_CERTIFICATE.cert },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("x-forwarded-proto", "https");
      headers.set("x-forwarded-for", "203.0.113.7");
      const { method, body, signal } = request;
      const answer = await fetch(`${proxy.target}${pathname}${search}`, {
        method,
        headers,
        body,
        signal,
        redirect: "manual",
        decompress: false,
      });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  return Object.assign(proxy, { url: `https://${TLS_HOST}:${server.port}` });
}
