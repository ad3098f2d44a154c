// The module of certificates by itself: a database, an authority that errs, DNS as a test has it, and a clock that is held.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, defaultConfig } from "../../../src/config/config.ts";
import { createCertificates } from "../../../src/modules/certificates/index.ts";
import { openCertificateStore } from "../../../src/modules/certificates/store.ts";
import { openInstanceSettings } from "../../../src/platform/db/instance-settings.ts";
import { openKeyring } from "../../../src/platform/keyring/keyring.ts";
import type { Log, LogFields } from "../../../src/platform/log.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { temporaryDatabase, type TemporaryDatabase, temporaryFolder } from "../db/temporary.ts";
import { type Authority, startAuthority } from "../fakes/authority.ts";
import { type FakeClock, fakeClock } from "../fakes/clock.ts";
import { createFakeResolver, type FakeResolver } from "../fakes/resolver.ts";
import { waitUntil } from "../peers/process.ts";

export const NAME = "mail.pombo.test";
export const HOUR_MS = 3_600_000;
const LIMIT_MS = 15_000;

export type Certificates = ReturnType<typeof createCertificates>;

export interface Kit extends AsyncDisposable {
  clock: FakeClock;
  authority: Authority;
  database: TemporaryDatabase;
  resolver: FakeResolver;
  events: { name: string; fields: LogFields }[];
  bugs: unknown[];
  counted: string[];
  certificates: Certificates;
  /** Resolves once `tls.issued` or `tls.failed` was logged so often in all. */
  ended(count: number): Promise<void>;
  /** Moves the time on, an hour at most at once: in between what is due begins. */
  advance(ms: number): Promise<void>;
  /** Ends the module and makes it again from what is stored; `tls` changes the configuration. */
  restart(tls?: Partial<Config["tls"]>): Promise<void>;
}

/** Started, and its first order under way, unless `isHeld`. */
export async function startKit(options: { tls?: Partial<Config["tls"]>; isHeld?: boolean } = {}): Promise<Kit> {
  const clock = fakeClock(Date.now());
  const authority = await startAuthority(clock);
  const database = temporaryDatabase();
  const folder = temporaryFolder();
  const acmeCaFile = join(folder.path, "ca.pem");
  writeFileSync(acmeCaFile, authority.ca);
  const events: Kit["events"] = [];
  const bugs: unknown[] = [];
  const counted: string[] = [];
  const log: Log = {
    event: (name, fields = {}) => void events.push({ name, fields }),
    error: (_, error) => void bugs.push(error),
  };
  const resolver = createFakeResolver({ [NAME]: { A: ["127.0.0.1"] } });
  const make = (tls: Partial<Config["tls"]> = {}) => {
    const { commit } = database.committer;
    const config = defaultConfig({ hostname: NAME, dataDir: folder.path });
    return createCertificates(
      {
        commit,
        commitHere: commit,
        clock,
        steady: clock,
        random: systemRandom,
        log,
        guard: { failure: null, whenOpen: () => () => undefined },
      },
      { certificates: openCertificateStore(database.db, openInstanceSettings(database.db)) },
      { ...config, tls: { ...config.tls, acme: authority.directory, acmeCaFile, ...options.tls, ...tls } },
      {
        keyring: openKeyring(new Uint8Array(32).fill(7), systemRandom),
        resolver,
        counts: { ended: (result) => void counted.push(result) },
        challengePort: 9,
      },
    );
  };
  const kit: Kit = {
    clock,
    authority,
    database,
    resolver,
    events,
    bugs,
    counted,
    certificates: make(),
    ended: (count) =>
      waitUntil(`${count} orders`, LIMIT_MS, () => {
        return events.filter(({ name }) => name === "tls.issued" || name === "tls.failed").length >= count;
      }),
    async advance(ms) {
      for (let left = ms; left > 0; left -= HOUR_MS) {
        await kit.certificates.idle();
        clock.advance(Math.min(left, HOUR_MS));
      }
      await kit.certificates.idle();
    },
    async restart(tls = {}) {
      await kit.certificates.stop();
      kit.certificates = make(tls);
      await kit.certificates.start();
    },
    async [Symbol.asyncDispose]() {
      await kit.certificates.stop();
      await authority[Symbol.asyncDispose]();
      database[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
  if (options.isHeld !== true) await kit.certificates.start();
  return kit;
}
