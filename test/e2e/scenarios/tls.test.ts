// The whole way of a certificate, with an authority that is not ours: ordered at the first start, shown on every port,
// served after a restart without asking again.

import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { findPebble, type Pebble, startPebble } from "../../support/peers/pebble.ts";
import { runPombo } from "./child.ts";
import { bugsOf, createWorld, hasLogged, HOSTNAME, type Served, type World } from "./world.ts";

setDefaultTimeout(120_000);

const PEBBLE = findPebble();
const LIMIT_MS = 60_000;

interface TlsWorld extends AsyncDisposable {
  world: World;
  pebble: Pebble;
  /** With [tls] set. */
  config: string;
}

async function startTlsWorld(options: Partial<Parameters<typeof startPebble>[1]> = {}): Promise<TlsWorld> {
  const world = await createWorld({ mxPort: 9 });
  const pebble = await startPebble(PEBBLE ?? "", { folder: world.folder, dnsServer: world.dns.address, ...options });
  const config = world.writeConfig("tls.toml", {
    tls: {
      listen: ["127.0.0.1:0"],
      acme: pebble.directory,
      acme_ca_file: pebble.caFile,
      challenge_listen: [`127.0.0.1:${pebble.challengePort}`],
    },
  });
  return {
    world,
    pebble,
    config,
    async [Symbol.asyncDispose]() {
      await pebble[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

function tlsPortOf(served: Served): number {
  return Number(/"tls":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(served.stdout())?.[1]);
}

/** What a client sees that trusts only `ca`; rejects when it does not trust the certificate. */
function handshake(port: number, ca: string): Promise<X509Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const socket = connect({ port, host: "127.0.0.1", servername: HOSTNAME, ca, rejectUnauthorized: true }, () => {
    resolve(new X509Certificate(socket.getPeerCertificate().raw));
    socket.end();
  });
  socket.on("error", reject);
  return promise;
}

test.skipIf(PEBBLE === null)(
  "a certificate is ordered, served on the API and after a restart without another order",
  async () => {
    await using all = await startTlsWorld();
    const { world, pebble, config } = all;
    await using first = await world.serve({ config });
    await first.until("the certificate", () => hasLogged(first, "tls.issued"), LIMIT_MS);
    const root = await pebble.root();
    const certificate = await handshake(tlsPortOf(first), root);
    expect(certificate.checkHost(HOSTNAME)).toBe(HOSTNAME);
    const answer = await fetch(`https://127.0.0.1:${tlsPortOf(first)}/ready`, {
      headers: { host: HOSTNAME },
      tls: { ca: root, serverName: HOSTNAME },
    });
    expect(answer.status).toBe(200);
    // Browsers do not know this authority.
    expect(answer.headers.get("strict-transport-security")).toBeNull();
    const shown = await runPombo(["tls", "--config", config, "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      source: "authority",
      names: [HOSTNAME],
      certificate: { names: [HOSTNAME], isSelfMade: false, isPublic: false },
      failure: null,
    });
    expect(bugsOf(first)).toEqual([]);
    first.signal("SIGTERM");
    await first.ended;

    await pebble[Symbol.asyncDispose]();
    await using second = await world.serve({ config });
    expect((await handshake(tlsPortOf(second), root)).fingerprint256).toBe(certificate.fingerprint256);
    expect(pebble.accounts()).toBe(1);
    expect(bugsOf(second)).toEqual([]);
  },
);
