// Pebble, Let's Encrypt's own small authority (script/pebble builds it): it refuses every other nonce, looks at a port of
// ours in place of 80, and its certificates live as long as a test wishes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AUTHORITY, RELAY_CERTIFICATE } from "../fakes/certificates.ts";
import { freePort, startProcess, waitForListener } from "./process.ts";

const SCRIPT = join(import.meta.dir, "../../../script/pebble");

/** Null: this machine cannot build it. */
export function findPebble(): string | null {
  const built = Bun.spawnSync(["bash", SCRIPT], { stderr: "pipe" });
  return built.exitCode === 0 ? built.stdout.toString().trim() : null;
}

export interface PebbleOptions {
  /** For its files. */
  folder: string;
  /** 127.0.0.1:5353 */
  dnsServer: string;
  /** Of certificates, by profile; the first is the default. */
  lifetimesS?: Record<string, number>;
  /** Of a hundred requests. */
  nonceRejects?: number;
  /** Seconds at most that it takes before it looks at a challenge; 0: at once. */
  sleepsS?: number;
  /** By key id; the keys base64url. */
  externalAccounts?: Record<string, string>;
}

export interface Pebble extends AsyncDisposable {
  directory: string;
  /** PEM of what its own certificate is checked by. */
  caFile: string;
  /** Where it looks in place of port 80. */
  challengePort: number;
  /** All that it has said. */
  output(): string;
  /** How many accounts it has. */
  accounts(): number;
  /** Finalized orders so far. */
  issued(): number;
  /** PEM of the root of what it issues. */
  root(): Promise<string>;
  /** What it answers from now on when the renewal of this certificate (PEM) is asked about. */
  suggest(certificate: string, answer: unknown): Promise<void>;
}

export async function startPebble(program: string, options: PebbleOptions): Promise<Pebble> {
  const { folder, dnsServer, lifetimesS = { default: 7_776_000 }, nonceRejects = 50, sleepsS = 0 } = options;
  const [port, management, challengePort] = [await freePort(), await freePort(), await freePort()];
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const caFile = file("pebble-ca.pem", AUTHORITY);
  const config = file(
    "pebble.json",
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: file("pebble.pem", RELAY_CERTIFICATE.cert),
        privateKey: file("pebble.key", RELAY_CERTIFICATE.key),
        httpPort: challengePort,
        tlsPort: await freePort(),
        retryAfter: { authz: 1, order: 1 },
        keyAlgorithm: "ecdsa",
        externalAccountBindingRequired: options.externalAccounts !== undefined,
        externalAccountMACKeys: options.externalAccounts ?? {},
        profiles: Object.fromEntries(
          Object.entries(lifetimesS).map(([name, validityPeriod]) => [name, { description: name, validityPeriod }]),
        ),
      },
    }),
  );
  const running = startProcess({
    command: [program, "-config", config, "-dnsserver", dnsServer],
    logFile: join(folder, "pebble.log"),
    env: {
      PEBBLE_WFE_NONCEREJECT: String(nonceRejects),
      PEBBLE_VA_NOSLEEP: sleepsS === 0 ? "1" : "0",
      PEBBLE_VA_SLEEPTIME: String(sleepsS),
      PEBBLE_AUTHZREUSE: "0",
    },
  });
  await waitForListener(port);
  const tls = { ca: AUTHORITY };
  const manage = `https://127.0.0.1:${management}`;
  const count = (pattern: RegExp) => running.output().match(pattern)?.length ?? 0;
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    caFile,
    challengePort,
    output: () => running.output(),
    accounts: () => count(/There are now \d+ accounts in memory/g),
    issued: () => count(/Issued certificate serial/g),
    root: async () => (await fetch(`${manage}/roots/0`, { tls })).text(),
    async suggest(certificate, answer) {
      const body = JSON.stringify({ certificate, ariResponse: JSON.stringify(answer) });
      const response = await fetch(`${manage}/set-renewal-info/`, { method: "POST", body, tls });
      if (!response.ok) throw new Error(`Pebble: ${response.status} ${await response.text()}`);
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
}
