// A socket of our own to the SMSC, connected and with TLS where asked for, within one limit of time: the
// package would wait for ever, and verify by defaults that change with its version.

import * as net from "node:net";
import * as tls from "node:tls";
import type { LinkContext, LinkSettings } from "../settings.ts";

export interface DialOptions extends Pick<LinkContext, "clock" | "lookUp"> {
  settings: Pick<LinkSettings, "host" | "port" | "tls" | "tlsName" | "tlsCa" | "connectTimeoutMs">;
  /** Which of several addresses, counted on from attempt to attempt. */
  attempt: number;
}

export type Dialled = { kind: "connected"; socket: net.Socket } | { kind: "failed"; reason: string };

// With the usual curves a hello carries a post-quantum share and takes two segments, which some old servers cannot bear.
const SMALL_HELLO_CURVES = "X25519:P-256:P-384";

/** Resolves once; aborted by `signal` as well. The socket has an error listener, and is its taker's to destroy. */
export function dial(options: DialOptions, signal: AbortSignal): Promise<Dialled> {
  const { settings, clock } = options;
  return new Promise((resolve) => {
    let socket: net.Socket | null = null;
    let isOver = false;
    const end = (result: Dialled) => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      signal.removeEventListener("abort", abort);
      if (result.kind === "failed") socket?.destroy();
      resolve(result);
    };
    const fail = (reason: string) => end({ kind: "failed", reason });
    const abort = () => fail("closed by us");
    const cancelTimer = clock.after(settings.connectTimeoutMs, () => fail("no connection in time"));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) return abort();

    const connect = (address: string) => {
      if (isOver) return;
      const opened = tryOpen(address, settings);
      if (typeof opened === "string") return fail(opened);
      socket = opened;
      // Kept for life: an error that nobody listens to ends the process.
      opened.on("error", (error: Error) => fail(error.message));
      opened.once("close", () => fail("the connection was closed"));
      opened.once(settings.tls === "none" ? "connect" : "secureConnect", () => {
        opened.setNoDelay(true);
        opened.setKeepAlive(true);
        end({ kind: "connected", socket: opened });
      });
    };
    if (net.isIP(settings.host) !== 0) return connect(settings.host);
    options.lookUp(settings.host).then(
      (addresses) => {
        const address = addresses[options.attempt % Math.max(1, addresses.length)];
        if (address === undefined) fail("its name has no address");
        else connect(address);
      },
      (error: unknown) => fail(`its name: ${error instanceof Error ? error.message : String(error)}`),
    );
  });
}

/** Why not, where its options are refused at once: thrown further, it would end all attempts. */
function tryOpen(address: string, settings: DialOptions["settings"]): net.Socket | string {
  try {
    return open(address, settings);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function open(address: string, { host, port, tls: mode, tlsName, tlsCa }: DialOptions["settings"]): net.Socket {
  if (mode === "none") return net.connect({ host: address, port });
  const name = tlsName ?? host;
  return tls.connect({
    host: address,
    port,
    ecdhCurve: SMALL_HELLO_CURVES,
    rejectUnauthorized: mode === "verified",
    ...(tlsCa === null ? {} : { ca: tlsCa }),
    // RFC 6066 §3: never an address.
    ...(net.isIP(name) === 0 ? { servername: name } : {}),
    ...(mode === "verified"
      ? {
          checkServerIdentity: (_: string, certificate: tls.PeerCertificate) =>
            tls.checkServerIdentity(name, certificate),
        }
      : {}),
  });
}
