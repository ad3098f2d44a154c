import type { AnyElysia } from "elysia";
import type { Config } from "../config.ts";
import { StartError } from "../errors.ts";

/** Bun refuses larger bodies with an empty answer; ours, with words, comes first. */
const HEADROOM_BYTES = 1024 * 1024;
const IDLE_TIMEOUT_S = 60;

export interface Listener {
  url: string;
  /** Takes no more requests and resolves when the running ones are answered. */
  stop(): Promise<void>;
}

/** Binds the API's address. Throws StartError with the way out (`portHint`) when it is taken. */
export function listen(api: AnyElysia, config: Config["http"], portHint: string): Listener {
  const { address, port } = config.listen;
  try {
    const server = Bun.serve({
      hostname: address,
      port,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: Math.max(config.maxBodyBytes, config.maxBatchBodyBytes, config.maxOtherBodyBytes) + HEADROOM_BYTES,
      fetch: (request) => api.handle(request),
    });
    const host = address.includes(":") ? `[${address}]` : address;
    return { url: `http://${host}:${server.port}`, stop: () => server.stop(false) };
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "EADDRINUSE") {
      throw new StartError(`Port ${port} on ${address} is in use by another program. Stop that one, or ${portHint}.`);
    }
    if (code === "EACCES") {
      throw new StartError(`Port ${port} on ${address} may not be opened by this user. Choose a port above 1023 ([http] listen).`);
    }
    throw new StartError(`${address}:${port} cannot be listened on (${code ?? String(error)}). Check [http] listen.`);
  }
}
