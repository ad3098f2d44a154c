// The relays of the configuration; the files that they name are read here, once, at start.

import { isIPv6 } from "node:net";
import type { RelayConfig } from "../../../config/config.ts";
import { StartError } from "../../../platform/errors.ts";
import { readAuthorities, readPassword } from "../../../config/secret-files.ts";
import type { Credentials } from "../../../protocols/smtp/session/auth.ts";
import type { TlsPolicy } from "../../../protocols/smtp/tls-policy.ts";
import type { Access } from "../../../protocols/smtp/session-pool.ts";

/** A server of the operator's choice that takes mail of some sending domains, or of all, in place of the recipients' own. */
export interface Relay {
  host: string;
  /** Host and port, for people. */
  name: string;
  /** Under which its sessions are limited and its health is known. */
  site: string;
  /** The sending domains whose mail it takes; none = of all that no other relay takes. */
  domains: readonly string[];
  access: Access;
}

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
      policy: toTlsPolicy(config),
      isImplicitTls: config.tls === "implicit",
      ca: config.caFile === null ? null : readAuthorities(config.caFile, key, faults),
      credentials: readCredentials(config, key, faults),
    },
  };
}

function toTlsPolicy({ tls, verify }: RelayConfig): TlsPolicy {
  return { mode: tls === "none" ? "never" : verify ? "verify" : "required", source: "config" };
}

function readCredentials(config: RelayConfig, key: string, faults: string[]): Credentials | null {
  const { username, password, passwordFile } = config;
  if (username === null) return null;
  if (passwordFile === null) return { username, password: password ?? "" };
  const text = readPassword(passwordFile, key, faults);
  return text === null ? null : { username, password: text };
}
