// The certificate that all ports with TLS show: from an authority, from two files, or self-made until there is one.

import type { X509Certificate } from "node:crypto";
import { networkInterfaces } from "node:os";
import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import { readAuthorities, readSecret } from "../../config/secret-files.ts";
import type { Component, Context } from "../../platform/context.ts";
import { StartError } from "../../platform/errors.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import { type CertificateSource, ServedCertificate } from "../../platform/served-certificate.ts";
import { isPublic, readChain } from "../../protocols/x509/chain.ts";
import { createSelfSigned } from "../../protocols/x509/self-signed.ts";
import { followFiles } from "./files.ts";
import { findIssues, isLate } from "./issues.ts";
import type { OwnLookDeps } from "./own-look.ts";
import { CERTIFICATE_CONTEXT, type Issued, Renewal, type RenewalDeps } from "./renewal.ts";
import { tlsRoutes } from "./routes.ts";
import type { CertificateStore } from "./store.ts";

export { type CertificateFiles, followFiles } from "./files.ts";

interface CertificateDeps extends Pick<RenewalDeps, "keyring" | "counts"> {
  resolver: OwnLookDeps["resolver"];
  /** Where authorities knock; default: 80. */
  challengePort?: number;
}

export interface CertificateState {
  isSelfMade: boolean;
  /** Browsers and mail programs trust it. */
  isPublic: boolean;
  /** Unix ms; null: it cannot be read. */
  endsAt: number | null;
  /** So little of its lifetime is left that it should have been renewed. */
  isLate: boolean;
}

interface Certificates extends Required<Pick<Component, "start" | "stop" | "issues">> {
  source: CertificateSource;
  /** What an authority asks for under this token; null: nothing. */
  findToken: (token: string) => string | null;
  /** Of the certificate that is served; null: it is self-made. */
  secondsLeft(): number | null;
  /** What ports with TLS show now. */
  describe(): CertificateState;
  operatorRoutes(): AnyElysia[];
  /** Resolves when no order is under way. */
  idle(): Promise<void> | undefined;
}

/** What is served from the first moment on is there when it returns. Throws StartError where files cannot be used. */
export function createCertificates(
  context: Context,
  stores: { certificates: CertificateStore },
  { tls, hostname }: Pick<Config, "tls" | "hostname">,
  { keyring, resolver, counts, challengePort = 80 }: CertificateDeps,
): Certificates {
  const { clock, random, log } = context;
  const tokens = new Map<string, string>();
  const files = openFiles(tls, context);
  let issued = tls.acme === null ? null : readIssued(stores.certificates, keyring, context);
  const selfMade = () => createSelfSigned(tls.names, { now: clock.now(), serial: random.bytes(16) });
  const served = new ServedCertificate(issued ?? selfMade(), issued !== null && isPublic(readChain(issued.cert)));
  const source = files?.source ?? served;
  const isSelfMade = () => files === null && issued === null;
  const renewal =
    tls.acme === null
      ? null
      : new Renewal({
          ...context,
          ...readAuthorityFiles(tls),
          store: stores.certificates,
          keyring,
          names: tls.names,
          directory: tls.acme,
          profile: tls.profile,
          fetch: globalThis.fetch,
          ownLook: { resolver, port: challengePort, ownAddresses },
          tokens,
          counts,
          current: () => issued,
          replace(next) {
            issued = next;
            served.replace({ cert: next.cert, key: next.key }, isPublic(readChain(next.cert)));
          },
        });
  let parsed: { pem: string; certificate: X509Certificate | null } | null = null;
  const view = () => {
    const pem = source.pair.cert;
    if (parsed?.pem !== pem) parsed = { pem, certificate: readChain(pem)[0] ?? null };
    const { certificate } = parsed;
    return { certificate, isSelfMade: isSelfMade(), isPublic: source.isPublic, renewal, tls, hostname, clock };
  };
  return {
    source,
    findToken: (token) => tokens.get(token) ?? null,
    secondsLeft() {
      const { certificate } = view();
      return certificate === null || isSelfMade() ? null : (Date.parse(certificate.validTo) - clock.now()) / 1_000;
    },
    describe() {
      const now = view();
      const endsAt = now.certificate === null ? null : Date.parse(now.certificate.validTo);
      return { isSelfMade: now.isSelfMade, isPublic: now.isPublic, endsAt, isLate: isLate(now) };
    },
    operatorRoutes: () => [tlsRoutes(view, log)],
    issues: (): HealthIssue[] => (renewal === null && files === null ? [] : findIssues(view())),
    idle: () => renewal?.idle(),
    start: () => renewal?.start(),
    async stop() {
      await Promise.all([renewal?.stop(), files?.stop()]);
    },
  };
}

function openFiles({ certificateFile, keyFile }: Config["tls"], context: Context) {
  if (certificateFile === null || keyFile === null) return null;
  return followFiles({ certificateFile, keyFile, table: "tls" }, context);
}

/** What an authority issued before this start; null: nothing, or nothing that can be read. */
function readIssued(store: CertificateStore, keyring: Keyring, { log }: Pick<Context, "log">): Issued | null {
  const row = store.findCertificate();
  if (row === null) return null;
  try {
    const key = Buffer.from(keyring.unseal(row.privateKey, CERTIFICATE_CONTEXT)).toString();
    const [certificate] = readChain(row.chain);
    const { directory, profile, issuedAt } = row;
    return certificate === undefined ? null : { cert: row.chain, key, directory, profile, issuedAt, certificate };
  } catch (error) {
    // Another one is ordered.
    log.error("certificate", error);
    return null;
  }
}

/** Throws StartError. */
function readAuthorityFiles({ contact, acmeCaFile, eabKeyId, eabKeyFile }: Config["tls"]) {
  const faults: string[] = [];
  const ca = acmeCaFile === null ? null : readAuthorities(acmeCaFile, "tls.acme_ca_file", faults);
  const hmacKey = eabKeyFile === null ? null : readSecret(eabKeyFile, "tls.eab_key_file", faults);
  if (faults.length > 0) throw new StartError(faults.join("\n"));
  const externalAccount = eabKeyId === null || hmacKey === null ? null : { keyId: eabKeyId, hmacKey };
  return { ca, account: { contact, externalAccount } };
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}
