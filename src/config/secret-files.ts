// Reads files that the configuration names, once, at start. `key`: the table that names one. Problems are added to
// `faults`, in sentences for the operator.

import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { getErrorMessage } from "../platform/errors.ts";

const PASSWORD_FILE_MAX_BYTES = 8192;
const CA_FILE_MAX_BYTES = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The password in a `password_file`; null: the file cannot be read. */
export function readPassword(file: string, key: string, faults: string[]): string | null {
  return readSecret(file, `${key}.password_file`, faults);
}

/** The same for another key. */
export function readSecret(file: string, key: string, faults: string[]): string | null {
  // Its permissions are not checked: secrets of containers are often readable by all users inside.
  const text = readFile(file, { key, maxBytes: PASSWORD_FILE_MAX_BYTES, faults });
  if (text === null) return null;
  const inside = text.replace(/\r?\n$/, "");
  if (inside === "" || /\p{Cc}/u.test(inside)) {
    faults.push(`${file} (${key}) must hold only the password, in one line.`);
  }
  return inside;
}

/** The certificates in a `ca_file`, as PEM; null: the file cannot be read. */
export function readAuthorities(file: string, key: string, faults: string[]): string | null {
  const text = readFile(file, { key: `${key}.ca_file`, maxBytes: CA_FILE_MAX_BYTES, faults });
  if (text === null) return null;
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    faults.push(`${file} (${key}.ca_file) must hold certificates in PEM form: -----BEGIN CERTIFICATE----- and so on.`);
  }
  return certificates.join("\n");
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

/** Null after a fault. */
function readFile(file: string, options: { key: string; maxBytes: number; faults: string[] }): string | null {
  const { key, maxBytes, faults } = options;
  try {
    // First: opening a pipe would block.
    const found = statSync(file);
    if (found.isFile() && found.size <= maxBytes) return readFileSync(file, "utf8");
    faults.push(`${file} (${key}) is not usable: it must be a regular file of at most ${maxBytes} bytes.`);
  } catch (error) {
    faults.push(
      `${file} (${key}) cannot be read (${getErrorMessage(error)}): name another file, or let pombo's user read this one.`,
    );
  }
  return null;
}
