// The whole way of a certificate, with an authority that is not ours: ordered at the first start, shown on every port,
// served after a restart without asking again.

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { findPebble, type Pebble, startPebble } from "../../support/peers/pebble.ts";
import { waitUntil } from "../../support/peers/process.ts";
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

type Options = Partial<Parameters<typeof startPebble>[1]> & { tls?: Record<string, string | string[]> };

async function startTlsWorld({ tls = {}, ...options }: Options = {}): Promise<TlsWorld> {
  const world = await createWorld({ mxPort: 9 });
  const pebble = await startPebble(PEBBLE ?? "", { folder: world.folder, dnsServer: world.dns.address, ...options });
  const config = world.writeConfig("tls.toml", {
    tls: {
      listen: ["127.0.0.1:0"],
      acme: pebble.directory,
      acme_ca_file: pebble.caFile,
      challenge_listen: [`127.0.0.1:${pebble.challengePort}`],
      ...tls,
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

/** What the inbound port shows after STARTTLS. */
async function startTls(port: number, ca: string): Promise<X509Certificate> {
  const connection = new SMTPConnection({ host: "127.0.0.1", port, requireTLS: true, tls: { ca, servername: HOSTNAME } });
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  connection.once("error", reject);
  connection.connect(() => {
    const socket = connection._socket as TLSSocket;
    resolve(new X509Certificate(socket.getPeerCertificate().raw));
    connection.close();
  });
  return promise;
}

test.skipIf(PEBBLE === null)(
  "ten renewals in a row: every client gets its answer, and all ports show the newest",
  async () => {
    await using all = await startTlsWorld({ lifetimesS: { default: 4 }, nonceRejects: 20 });
    const { world, pebble, config } = all;
    await using served = await world.serve({ config });
    const issued = () => served.stdout().split('"event":"tls.issued"').length - 1;
    await served.until("the certificate", () => issued() > 0, LIMIT_MS);
    const root = await pebble.root();
    const url = `https://127.0.0.1:${tlsPortOf(served)}/ready`;
    const counts = { answered: 0, wrong: 0, reset: 0 };
    let isOver = false;
    const asking = (async () => {
      while (!isOver) {
        try {
          const { status } = await fetch(url, { headers: { host: HOSTNAME }, tls: { ca: root, serverName: HOSTNAME }, keepalive: false });
          counts[status === 200 ? "answered" : "wrong"] += 1;
        } catch {
          counts.reset += 1;
        }
        await Bun.sleep(5);
      }
    })();
    await served.until("ten renewals", () => issued() > 10, LIMIT_MS);
    isOver = true;
    await asking;
    // A handshake that is under way when the port changes hands may be reset.
    expect(counts.wrong).toBe(0);
    expect(counts.reset).toBeLessThanOrEqual(issued());
    expect(counts.answered).toBeGreaterThan(50);
    const [onApi, onInbound] = [await handshake(tlsPortOf(served), root), await startTls(served.inboundPort, root)];
    expect(onApi.checkHost(HOSTNAME)).toBe(HOSTNAME);
    expect(Math.abs(Date.parse(onApi.validTo) - Date.parse(onInbound.validTo))).toBeLessThan(10_000);
    expect(pebble.accounts()).toBe(1);
    expect(bugsOf(served)).toEqual([]);
  },
);

/** What Pebble has said once an order has come so far. */
const STEPS: [string, RegExp][] = [
  ["before the account", /GET \/dir /],
  ["after the account", /There are now 1 accounts/],
  ["after the order", /There are now 1 orders/],
  ["while it looks", /Starting \d+ validations|Pulled a task/],
  ["after the authorization", /authz .* set VALID/],
  ["after the certificate", /Issued certificate serial/],
];

test.skipIf(PEBBLE === null)("killed at any step of an order, the next start gets it, with the same account", async () => {
  await using all = await startTlsWorld();
  const { world, pebble, config } = all;
  for (const [step, pattern] of STEPS) {
    const file = join(world.dataDir, "pombo.db");
    await using killed = await world.serve({ config });
    await waitUntil(step, LIMIT_MS, () => pattern.test(pebble.output()));
    killed.signal("SIGKILL");
    await killed.ended;
    forgetCertificate(file);
  }
  await using last = await world.serve({ config });
  await last.until("the certificate", () => hasLogged(last, "tls.issued"), LIMIT_MS);
  expect((await handshake(tlsPortOf(last), await pebble.root())).checkHost(HOSTNAME)).toBe(HOSTNAME);
  expect(pebble.accounts()).toBe(1);
  expect(bugsOf(last)).toEqual([]);
});

/** So that the next start orders again at once, however far the killed one came; that it was begun so often too. */
function forgetCertificate(file: string): void {
  using sqlite = new Database(file);
  sqlite.run("DELETE FROM certificate");
  sqlite.run("DELETE FROM instance WHERE name = 'tls_renewal'");
}
