/** An instance whose mail leaves through a relay: relay.test, a scripted server with a certificate of the test's authority. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config, RelayConfig } from "../../../src/config/config.ts";
import { AUTHORITY, RELAY_CERTIFICATE, type TestCertificate } from "../../support/fakes/certificates.ts";
import type { FakeClock } from "../../support/fakes/clock.ts";
import type { Instance } from "../../support/fakes/instance.ts";
import { type Mx, type MxScript, startMx } from "../../support/fakes/mx.ts";
import { MINUTE_MS, startStill } from "./mail.ts";

export const PASSWORD = "correct-horse-battery";
export const USERNAME = "smtp-account-7";
export const ACCOUNTS = { [USERNAME]: PASSWORD };
/** A relay as most are: STARTTLS, and only for those who sign in. */
export const USUAL: MxScript = { tls: "good", accounts: ACCOUNTS };
/** Past the time for which a relay that refused is left in peace. */
export const RETRY_MS = 10 * MINUTE_MS;

export interface Relayed extends AsyncDisposable {
  pombo: Instance & { clock: FakeClock };
  relay: Mx;
  /** Host and port, as messages name it. */
  name: string;
}

export interface RelayedOptions {
  script?: MxScript;
  certificate?: TestCertificate;
  /** Of the [[relay]] table. */
  table?: Partial<RelayConfig>;
  transport?: Config["email"]["transport"];
}

/** An instance that sends through relay.test, and whose recipients' own server should stay unvisited. */
export async function startRelayed(options: RelayedOptions = {}): Promise<Relayed> {
  const folder = mkdtempSync(join(tmpdir(), "pombo-relay-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, AUTHORITY);
  const relay = await startMx(options.script ?? USUAL, { certificate: options.certificate ?? RELAY_CERTIFICATE });
  const pombo = await startStill({
    retryMs: [RETRY_MS],
    configure(config) {
      config.email.transport = options.transport ?? "relay";
      config.relay = [
        {
          ...{ host: "relay.test", port: relay.port, tls: "starttls", verify: true, caFile },
          ...{ username: USERNAME, password: PASSWORD, passwordFile: null, domains: [] },
          ...options.table,
        },
      ];
    },
  });
  pombo.dns.zone["relay.test"] = { A: ["127.0.0.1"] };
  return {
    pombo,
    relay,
    name: `relay.test:${relay.port}`,
    async [Symbol.asyncDispose]() {
      await pombo[Symbol.asyncDispose]();
      await relay.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
