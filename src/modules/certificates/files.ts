// A certificate in two files of the operator's. They are looked at once a minute, since tools that renew certificates
// only write them. A pair that cannot be used (one of the two is written before the other) leaves the certificate as it
// was, and the next look finds the second file.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { getErrorMessage, StartError } from "../../platform/errors.ts";
import { type CertificateSource, type PemPair, ServedCertificate } from "../../platform/served-certificate.ts";
import { isPublic, readChain } from "../../protocols/x509/chain.ts";

const LOOK_EVERY_MS = 60_000;
const FILE_MAX_BYTES = 1_048_576;

export interface CertificateFiles {
  certificateFile: string;
  keyFile: string;
  /** Of the configuration, that names them. */
  table: "inbound" | "tls";
}

interface FollowedFiles {
  source: CertificateSource;
  stop(): Promise<void>;
}

/** Throws StartError when they cannot be used. */
export function followFiles(files: CertificateFiles, { clock, log }: Pick<Context, "clock" | "log">): FollowedFiles {
  // The look comes first: what is written in between is found changed.
  let state = readState(files);
  let loggedState = "";
  const served = new ServedCertificate(...readPair(files));
  const look = () => {
    const now = readState(files);
    if (now === state) return;
    try {
      served.replace(...readPair(files));
      state = now;
      log.event(`${files.table}.certificate`, { file: files.certificateFile });
    } catch (error) {
      if (loggedState === now) return;
      loggedState = now;
      const reason = getErrorMessage(error);
      log.event(`${files.table}.certificate_unusable`, { reason: `${reason} The one before stays in use.` }, "warn");
    }
  };
  const run = () => {
    look();
    return LOOK_EVERY_MS;
  };
  const task = new BackgroundTask({ name: `${files.table} certificate`, run, clock, log });
  task.start(LOOK_EVERY_MS);
  return { source: served, stop: () => task.stop() };
}

/** The two files, which must fit each other. Throws StartError with the cure. */
function readPair({ certificateFile, keyFile, table }: CertificateFiles): [PemPair, boolean] {
  const [cert, certificate] = readPem(certificateFile, {
    key: `[${table}] certificate_file`,
    parse: (pem) => new X509Certificate(pem),
    what: "a certificate in PEM form: -----BEGIN CERTIFICATE----- and so on",
  });
  const [key, privateKey] = readPem(keyFile, {
    key: `[${table}] key_file`,
    parse: (pem) => createPrivateKey(pem),
    what: "a private key without a passphrase in PEM form: -----BEGIN PRIVATE KEY----- and so on",
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartError(
      `The key in ${keyFile} ([${table}] key_file) is not that of the certificate in ${certificateFile} ` +
        "(certificate_file), whose own certificate must stand first in the file. Name the two that were made " +
        `together, or ${WITHOUT[table]}.`,
    );
  }
  return [{ cert, key }, isPublic(readChain(cert))];
}

const WITHOUT = {
  inbound: "leave certificate_file and key_file empty: then pombo uses that of [tls], or makes one",
  tls: 'leave both keys empty and set acme = "letsencrypt": then pombo gets one itself',
};

/** One file as text, and parsed. */
function readPem<T>(file: string, as: { key: string; parse: (pem: string) => T; what: string }): [string, T] {
  let pem: string;
  try {
    if (statSync(file).size > FILE_MAX_BYTES) throw new Error("it is larger than any certificate");
    pem = readFileSync(file, "utf8");
  } catch (error) {
    const reason = getErrorMessage(error);
    throw new StartError(
      `The file ${file} (${as.key}) cannot be read (${reason}). Give the user that pombo runs as the right to read it, ` +
        "or name another one.",
    );
  }
  try {
    return [pem, as.parse(pem)];
  } catch {
    throw new StartError(`The file ${file} (${as.key}) must hold ${as.what}.`);
  }
}

/** What changes when one of the files does. */
function readState({ certificateFile, keyFile }: CertificateFiles): string {
  return [certificateFile, keyFile]
    .map((file) => {
      try {
        const { ino, size, mtimeMs } = statSync(file);
        return `${ino} ${size} ${mtimeMs}`;
      } catch {
        return "none";
      }
    })
    .join(" ");
}
