import { sql } from "drizzle-orm";
import type { InstanceSettings } from "../../platform/db/instance-settings.ts";
import type { Db } from "../../platform/db/open.ts";
import { acmeAccounts, certificates } from "../../platform/db/schema/certificates.ts";
import { matches, prepare } from "../../platform/db/statement.ts";

/** Of a certificate that an authority issued. `privateKey`: sealed. */
export type CertificateRow = Omit<typeof certificates.$inferSelect, "id">;

/** Why the last attempt failed. */
export interface Failure {
  /** Unix ms. */
  at: number;
  /** As in src/protocols/acme/problem.ts. */
  type: string;
  /** In the authority's words. */
  detail: string;
  /** What it is about; null: no single one. */
  name: string | null;
  /** What pombo saw when it looked itself. */
  findings: string[];
}

/** How the renewal goes. Times in Unix ms. */
export interface RenewalState {
  /** Attempts that were begun and not ended: the process ended meanwhile. */
  begun: number;
  /** Failures in a row. */
  failures: number;
  /** Those of the last hour. */
  failedAt: number[];
  /** Not before that; null: no failure asks for a wait. */
  retryAt: number | null;
  failure: Failure | null;
}

const NO_FAILURES: RenewalState = { begun: 0, failures: 0, failedAt: [], retryAt: null, failure: null };

const SETTING = "tls_renewal";

export type CertificateStore = ReturnType<typeof openCertificateStore>;

/** Writes are inside a transaction. */
export function openCertificateStore({ orm }: Pick<Db, "orm">, settings: Pick<InstanceSettings, "get" | "set">) {
  const account = prepare(orm.select().from(acmeAccounts).where(matches(acmeAccounts, "directory")));
  const certificate = prepare(orm.select().from(certificates));
  return {
    /** The sealed key; null: there is no account there. */
    findAccountKey: (directory: string): Uint8Array | null => account.get({ directory })?.privateKey ?? null,
    addAccount(row: typeof acmeAccounts.$inferInsert): void {
      orm.insert(acmeAccounts).values(row).run();
    },
    findCertificate: (): CertificateRow | null => certificate.get() ?? null,
    putCertificate(row: CertificateRow): void {
      const values = { id: 1, ...row };
      orm.insert(certificates).values(values).onConflictDoUpdate({ target: certificates.id, set: row }).run();
    },
    readState: (): RenewalState => {
      const text = settings.get(SETTING);
      return text === null ? NO_FAILURES : { ...NO_FAILURES, ...(JSON.parse(text) as Partial<RenewalState>) };
    },
    writeState: (state: RenewalState): void => settings.set(SETTING, JSON.stringify(state)),
    /** All that the instance key sealed. */
    forgetAll(): void {
      orm
        .delete(acmeAccounts)
        .where(sql`TRUE`)
        .run();
      orm
        .delete(certificates)
        .where(sql`TRUE`)
        .run();
    },
  };
}
