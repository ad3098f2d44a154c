// Somebody else's web server on this machine: its pages try what a stranger's page can, and it hears who calls.

import { STRANGER_HOST } from "./chromium.ts";

export interface Stranger {
  /** Another port of the same host: for browsers another origin of the same site. */
  readonly neighbour: string;
  /** Another host. */
  readonly foreigner: string;
  /** `METHOD /path` of each request that was not for a page. */
  readonly heard: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export function startStranger(): Stranger {
  const heard: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname !== "/") heard.push(`${request.method} ${pathname}`);
      if (pathname !== "/") return new Response(null, { status: 204 });
      const page = `<!doctype html><html lang="en"><title>Cats</title><link rel="icon" href="data:,"><h1>Cats</h1>`;
      return new Response(page, { headers: { "content-type": "text/html" } });
    },
  });
  return {
    neighbour: `http://localhost:${server.port}`,
    foreigner: `http://${STRANGER_HOST}:${server.port}`,
    heard,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
