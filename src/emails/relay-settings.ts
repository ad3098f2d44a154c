import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIPv6 } from "node:net";
import type { RelayConfig } from "../config.ts";
import { StartError } from "../errors.ts";
import type { Credentials } from "../smtp/auth.ts";
import type { TlsPolicy } from "../smtp/tls-policy.ts";
import type { Relay } from "./relay.ts";

// From the tables of the configuration to relays: the files that they name are read here, once, at start.

const PASSWORD_FILE_MAX_BYTES = 8192;
const CA_FILE_MAX_BYTES = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Throws StartError that names every file at fault, with the cure. */
export function openRelays(configs: RelayConfig[]): Relay[] {
  const faults: string[] = [];
  const relays: Relay[] = [];
  for (const [at, config] of configs.entries()) {
    const relay = openRelay(config, at, faults);
    // Named twice, a server has two accounts: wrong credentials of one must not hold up the other.
    const isTwice = relays.some(({ name }) => name === relay.name);
    relays.push(isTwice ? { ...relay, site: `${relay.site} ${relay.access.id}` } : relay);
  }
  if (faults.length > 0) throw new StartError(faults.join("\n"));
  return relays;
}

function openRelay(config: RelayConfig, at: number, faults: string[]): Relay {
  const { host, port, domains } = config;
  const key = `relay[${at}]`;
  const name = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return {
    host,
    name,
    site: `relay ${name}`,
    domains,
    access: {
      id: key,
      port,
      policy: policyOf(config),
      isImplicitTls: config.tls === "implicit",
      ca: config.caFile === null ? null : readAuthorities(config.caFile, key, faults),
      credentials: readCredentials(config, key, faults),
    },
  };
}

function policyOf({ tls, verify }: RelayConfig): TlsPolicy {
  return { mode: tls === "none" ? "never" : verify ? "verify" : "required", source: "config" };
}

function readCredentials(config: RelayConfig, key: string, faults: string[]): Credentials | null {
  const { username, password, passwordFile } = config;
  if (username === null) return null;
  if (passwordFile === null) return { username, password: password ?? "" };
  // Who may read it is not looked at: what hands secrets to containers makes them readable to all inside.
  const text = readFile(passwordFile, { key: `${key}.password_file`, maxBytes: PASSWORD_FILE_MAX_BYTES, faults });
  if (text === null) return null;
  const inside = text.replace(/\r?\n$/, "");
  if (inside === "" || /\p{Cc}/u.test(inside)) {
    faults.push(`${passwordFile} (${key}.password_file) must hold the password in one line and nothing else.`);
  }
  return { username, password: inside };
}

function readAuthorities(file: string, key: string, faults: string[]): string | null {
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

/** Null where a fault was noted. */
function readFile(file: string, options: { key: string; maxBytes: number; faults: string[] }): string | null {
  const { key, maxBytes, faults } = options;
  try {
    // Asked first: opening a pipe by mistake would wait for ever.
    const found = statSync(file);
    if (found.isFile() && found.size <= maxBytes) return readFileSync(file, "utf8");
    faults.push(`${file} (${key}) is not such a file: it must be a plain one of at most ${maxBytes} bytes.`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    faults.push(`${file} (${key}) cannot be read (${reason}): name another file, or let pombo's user read this one.`);
  }
  return null;
}
