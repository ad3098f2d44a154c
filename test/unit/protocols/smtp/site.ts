import { systemClock } from "../../../../src/platform/clock.ts";
import { SessionPool, type PoolOptions } from "../../../../src/protocols/smtp/session-pool.ts";
import { DEFAULT_TIMEOUTS } from "../../../../src/protocols/smtp/session/timeouts.ts";
import type { Destination, Mail } from "../../../../src/protocols/smtp/transmit.ts";
import { startMx, type Mx, type MxScript } from "../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE } from "../../../support/smtp/helpers.ts";

export const MAIL: Mail = {
  envelope: ENVELOPE,
  header: { addresses: [], texts: [] },
  content: CONTENT,
  beforeDot: async () => {},
};

/** Servers mx1, mx2, … on 127.0.0.1, 127.0.0.2, … with one port; a null script is a closed port. */
export async function withSite(
  scripts: (MxScript | null)[],
  use: (site: { pool: SessionPool; destination: Destination; mxs: Mx[] }) => Promise<void>,
  options: Partial<PoolOptions> = {},
): Promise<void> {
  const mxs: Mx[] = [];
  for (const [at, script] of scripts.entries()) {
    mxs.push(
      await startMx(script ?? {}, { address: `127.0.0.${at + 1}`, ...(at === 0 ? {} : { port: mxs[0]!.port }) }),
    );
  }
  for (const [at, script] of scripts.entries()) if (script === null) await mxs[at]!.close();
  const pool = new SessionPool({
    clock: systemClock,
    heloName: "pombo.example.com",
    localAddress: null,
    port: mxs[0]!.port,
    timeouts: DEFAULT_TIMEOUTS,
    ...options,
  });
  const hosts = mxs.map((mx, at) => ({ name: `mx${at + 1}.example`, addresses: [mx.address] }));
  try {
    await use({ pool, destination: { hosts, site: "site" }, mxs });
  } finally {
    await pool.close();
    for (const [at, mx] of mxs.entries()) if (scripts[at] !== null) await mx.close();
  }
}

/** How many connections each server has had. */
export const counts = (mxs: Mx[]) => mxs.map((mx) => mx.connections.length);
