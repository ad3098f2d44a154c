// The certificate for STARTTLS: that of the configured files, or a self-signed one made at start. The files are looked
// at once a minute, since tools that renew certificates only write them. A pair that cannot be used (one of the two is
// written before the other) leaves the certificate as it was, and the next look finds the second file.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Config } from "../../../config/config.ts";
import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import { getErrorMessage, StartError } from "../../../platform/errors.ts";
import { type PemPair, selfSigned } from "./self-signed.ts";

const LOOK_EVERY_MS = 60_000;
const FILE_MAX_BYTES = 1_048_576;

interface CertificateDeps extends Pick<Context, "clock" | "random" | "log"> {
  config: Config["inbound"];
  hostname: string;
}

export interface Certificate {
  pair: PemPair;
  /** Calls `use` with each new pair of the files; the returned function ends that. */
  follow(use: (pair: PemPair) => void): () => void;
}

interface Files {
  certificateFile: string;
  keyFile: string;
}

/** Throws StartError when the configured files cannot be used. */
export function openCertificate(deps: CertificateDeps): Certificate {
  const { config, hostname, clock, random } = deps;
  const { certificateFile, keyFile } = config;
  if (certificateFile === null || keyFile === null) {
    const pair = selfSigned(hostname, { now: clock.now(), serial: random.bytes(16) });
    return { pair, follow: () => () => undefined };
  }
  const files = { certificateFile, keyFile };
  // The look comes first: what is written in between is found changed.
  const state = readState(files);
  const pair = readPair(files);
  return { pair, follow: (use) => watchFiles(files, { ...deps, state, use }) };
}

/** Reads the two files, which must fit each other. Throws StartError with the cure. */
function readPair({ certificateFile, keyFile }: Files): PemPair {
  const [cert, certificate] = readPem(certificateFile, {
    key: "certificate_file",
    parse: (pem) => new X509Certificate(pem),
    what: "a certificate in PEM form: -----BEGIN CERTIFICATE----- and so on",
  });
  const [key, privateKey] = readPem(keyFile, {
    key: "key_file",
    parse: (pem) => createPrivateKey(pem),
    what: "a private key without a passphrase in PEM form: -----BEGIN PRIVATE KEY----- and so on",
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartError(
      `The key in ${keyFile} ([inbound] key_file) is not that of the certificate in ${certificateFile} ` +
        "(certificate_file), whose own certificate must stand first in the file. Name the two that were made " +
        "together, or leave both keys empty: then pombo makes a certificate.",
    );
  }
  return { cert, key };
}

/** One file as text, and parsed. */
function readPem<T>(file: string, as: { key: string; parse: (pem: string) => T; what: string }): [string, T] {
  let pem: string;
  try {
    if (statSync(file).size > FILE_MAX_BYTES) throw new Error("it is larger than any certificate");
    pem = readFileSync(file, "utf8");
  } catch (error) {
    const reason = getErrorMessage(error);
    throw new StartError(
      `The file ${file} ([inbound] ${as.key}) cannot be read (${reason}). Give the user that pombo runs as the right ` +
        "to read it, or leave certificate_file and key_file empty: then pombo makes a certificate.",
    );
  }
  try {
    return [pem, as.parse(pem)];
  } catch {
    throw new StartError(`The file ${file} ([inbound] ${as.key}) must hold ${as.what}.`);
  }
}

/** Calls `use` with each new pair; the returned function ends that. */
function watchFiles(
  files: Files,
  { clock, log, use, ...rest }: CertificateDeps & { state: string; use: (pair: PemPair) => void },
): () => void {
  let { state } = rest;
  let loggedState = "";
  const look = () => {
    const now = readState(files);
    if (now === state) return;
    try {
      use(readPair(files));
      state = now;
      log.event("inbound.certificate", { file: files.certificateFile });
    } catch (error) {
      if (loggedState === now) return;
      loggedState = now;
      const reason = getErrorMessage(error);
      log.event("inbound.certificate_unusable", { reason: `${reason} The one before stays in use.` }, "warn");
    }
  };
  const run = () => {
    look();
    return LOOK_EVERY_MS;
  };
  const task = new BackgroundTask({ name: "inbound certificate", run, clock, log });
  task.start(LOOK_EVERY_MS);
  return () => void task.stop();
}

/** What changes when one of the files does. */
function readState({ certificateFile, keyFile }: Files): string {
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
