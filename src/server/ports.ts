// The ports of the API: without TLS, with it, and the one that authorities knock at, which leads to https.

import type { AnyElysia } from "elysia";
import type { Config } from "../config/config.ts";
import { bind, listen, type Listener, type ListenOptions } from "../platform/http/listen.ts";
import { answerWithoutTls } from "../platform/http/port-80.ts";
import type { HostPort } from "../platform/ip/address.ts";
import { isBesideIPv4, withoutMissingIPv6 } from "../platform/ip/both-families.ts";
import type { Log } from "../platform/log.ts";
import type { Modules } from "./modules.ts";

interface PortsDeps {
  answered: ListenOptions["answered"];
  config: Pick<Config, "http" | "tls">;
  certificates: Pick<Modules["certificates"], "source" | "findToken">;
  /** For the port without TLS. */
  portHint: string;
  log: Log;
}

export interface Ports extends Listener {
  /** Those with TLS: https://0.0.0.0:443 */
  tlsUrls: string[];
}

/** Throws StartError where one cannot be had; then none is taken. */
export async function openPorts(api: AnyElysia, deps: PortsDeps): Promise<Ports> {
  const { config, certificates, portHint, answered, log } = deps;
  const { http, tls } = config;
  const opened: Listener[] = [];
  const open = (listener: Listener) => {
    opened.push(listener);
    return listener;
  };
  const stop = async (graceMs: number) => void (await Promise.all(opened.map((each) => each.stop(graceMs))));
  try {
    const plain = open(listen(api, http.listen, { key: "[http] listen", portHint, answered }));
    const secure = withoutMissingIPv6(tls.listen).map((at) =>
      open(
        listen(api, at, {
          key: "[tls] listen",
          portHint: `choose another port ([tls] listen); ${nameProgram(at)}`,
          certificate: certificates.source,
          isOnlyIPv6: isBesideIPv4(at, tls.listen),
          answered,
        }),
      ),
    );
    const httpsPort = secure[0]?.port ?? null;
    const { findToken } = certificates;
    for (const at of tls.acme === null ? [] : withoutMissingIPv6(tls.challengeListen)) {
      const place = {
        ...at,
        key: "[tls] challenge_listen",
        portHint: `have it pass /.well-known/acme-challenge/ on to pombo, at another port ([tls] challenge_listen); ${nameProgram(at)}`,
        isOnlyIPv6: isBesideIPv4(at, tls.challengeListen),
      };
      open(bind(place, (request) => answerWithoutTls(request, { findToken, names: tls.names, httpsPort, log })));
    }
    return { url: plain.url, port: plain.port, tlsUrls: secure.map(({ url }) => url), stop };
  } catch (error) {
    await stop(0);
    throw error;
  }
}

function nameProgram({ port }: HostPort): string {
  return `sudo ss -ltnp 'sport = :${port}' names the program`;
}
