// /metrics has an address of its own ([metrics] listen, by default on loopback): it needs no key, and
// it tells more than the outside should know.

import type { HostPort } from "../../platform/ip/address.ts";
import { bind, type Listener } from "../../platform/http/listen.ts";
import { getPath } from "../../platform/http/path.ts";
import type { Log } from "../../platform/log.ts";

/** Prometheus' text format. */
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const PATH = "/metrics";
const PLAIN = { "content-type": "text/plain; charset=utf-8" };

export interface MetricsDeps {
  listen: HostPort;
  /** All metrics as they are now. */
  text: () => Promise<string>;
  log: Log;
}

/** Binds the metrics' address. Throws StartError when it cannot be had. */
export function listenForMetrics({ listen, text, log }: MetricsDeps): Listener {
  const place = {
    ...listen,
    key: "[metrics] listen",
    portHint: 'choose another port ([metrics] listen; "" turns the metrics off)',
  };
  return bind(place, async (request) => {
    if (getPath(request) !== PATH) return plain(404, `The metrics are at ${PATH}.`);
    if (request.method !== "GET" && request.method !== "HEAD") {
      const refusal = plain(405, `${PATH} knows GET.`);
      refusal.headers.set("allow", "GET, HEAD");
      return refusal;
    }
    try {
      return new Response(await text(), { headers: { "content-type": CONTENT_TYPE } });
    } catch (error) {
      log.error("metrics", error);
      return plain(500, "The metrics could not be read; pombo's log says why.");
    }
  });
}

function plain(status: number, sentence: string): Response {
  return new Response(`${sentence}\n`, { status, headers: PLAIN });
}
