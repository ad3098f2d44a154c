// The world of a certificate: an instance as its users have it, and Pebble in the place of Let's Encrypt.

import { Database } from "bun:sqlite";
import { X509Certificate } from "node:crypto";
import { connect, type TLSSocket } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { findPebble, type Pebble, startPebble } from "../../support/peers/pebble.ts";
import { createWorld, HOSTNAME, type Served, type World } from "./world.ts";

export const PEBBLE = findPebble();
export const LIMIT_MS = 60_000;

interface TlsWorld extends AsyncDisposable {
  world: World;
  pebble: Pebble;
  /** With [tls] set. */
  config: string;
  tls: Record<string, string | string[]>;
}

type Options = Partial<Parameters<typeof startPebble>[1]> & { tls?: Record<string, string | string[]> };

export async function startTlsWorld({ tls = {}, ...options }: Options = {}): Promise<TlsWorld> {
  const world = await createWorld({ mxPort: 9 });
  const pebble = await startPebble(PEBBLE ?? "", { folder: world.folder, dnsServer: world.dns.address, ...options });
  const table = {
    listen: ["127.0.0.1:0"],
    acme: pebble.directory,
    acme_ca_file: pebble.caFile,
    challenge_listen: [`127.0.0.1:${pebble.challengePort}`],
    ...tls,
  };
  const config = world.writeConfig("tls.toml", { tls: table });
  return {
    world,
    pebble,
    config,
    tls: table,
    async [Symbol.asyncDispose]() {
      await pebble[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

export function tlsPortOf(served: Served): number {
  return Number(/"tls":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(served.stdout())?.[1]);
}

/** What a client sees that trusts only `ca`; rejects when it does not trust the certificate. */
export function handshake(port: number, ca: string): Promise<X509Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const socket = connect({ port, host: "127.0.0.1", servername: HOSTNAME, ca, rejectUnauthorized: true }, () => {
    resolve(new X509Certificate(socket.getPeerCertificate().raw));
    socket.end();
  });
  socket.on("error", reject);
  return promise;
}

/** What the inbound port shows after STARTTLS. */
export async function startTls(port: number, ca: string): Promise<X509Certificate> {
  const connection = new SMTPConnection({
    host: "127.0.0.1",
    port,
    requireTLS: true,
    tls: { ca, servername: HOSTNAME },
  });
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  connection.once("error", reject);
  connection.connect(() => {
    const socket = connection._socket as TLSSocket;
    resolve(new X509Certificate(socket.getPeerCertificate().raw));
    connection.close();
  });
  return promise;
}

/** So that the next start orders again at once, however far the killed one came; that it was begun so often too. */
export function forgetCertificate(file: string): void {
  using sqlite = new Database(file);
  sqlite.run("DELETE FROM certificate");
  sqlite.run("DELETE FROM instance WHERE name = 'tls_renewal'");
}

/** As if the certificate had been issued that much earlier. */
export function moveIssueBack(file: string, ms: number): void {
  using sqlite = new Database(file);
  sqlite.run("UPDATE certificate SET issued_at = issued_at - ?", [ms]);
}

interface Asked {
  answered: number;
  wrong: number;
  reset: number;
}

/** Asks over a new connection each, some milliseconds after the one before; the returned function ends that. */
export function askAlways(port: number, ca: string): () => Promise<Asked> {
  const counts: Asked = { answered: 0, wrong: 0, reset: 0 };
  const init = { headers: { host: HOSTNAME }, tls: { ca, serverName: HOSTNAME }, keepalive: false };
  let isOver = false;
  const ask = async () => {
    try {
      const { status } = await fetch(`https://127.0.0.1:${port}/ready`, init);
      counts[status === 200 ? "answered" : "wrong"] += 1;
    } catch {
      counts.reset += 1;
    }
  };
  const asking = (async () => {
    for (; !isOver; await Bun.sleep(5)) await ask();
  })();
  return async () => {
    isOver = true;
    await asking;
    return counts;
  };
}
