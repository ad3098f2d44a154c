// `[[relay]]`: servers that deliver mail from this one. The sending domain decides which relay is used.

import { isIP } from "node:net";
import { type Static, Type } from "@sinclair/typebox";
import { choice, derivedInteger, flag, list, optional, secret, text } from "./fields.ts";
import type { ConfigError } from "./toml.ts";
import { isLoopback } from "../platform/ip/address.ts";

const DOMAINS_MAX = 1000;
/** RFC 6409 §3.1 (submission) and RFC 8314 §3.3 (submission over TLS). */
const SUBMISSION_PORT = 587;
const SUBMISSIONS_PORT = 465;

export const RELAYS_MAX = 20;
const RELAY_PASSWORD_VARIABLE = "POMBO_RELAY_PASSWORD";

export const RelaySchema = Type.Object({
  host: text("relay_host", "Its name, as in its certificate, or its address."),
  port: derivedInteger([1, 65_535], 'Its port; default: 587, with tls = "implicit" 465.', "tls"),
  tls: choice(
    ["starttls", "implicit", "none"],
    "starttls = TLS before anything is sent, implicit = TLS from the first byte, none = no TLS.",
    { default: "starttls" },
  ),
  verify: flag("Whether its certificate must be valid for its name; false only in tests.", true),
  caFile: optional("optional_path", "Trusted certificate authorities, a PEM file; empty = the public ones."),
  username: optional("account", "For AUTH PLAIN or LOGIN; empty = no authentication."),
  password: secret("The password; better in a file, or in the variable POMBO_RELAY_PASSWORD."),
  passwordFile: optional("optional_path", "A file with the password, instead of password."),
  domains: list(
    text("hostname", "One domain."),
    [0, DOMAINS_MAX],
    'The sending domains that use this relay; none = all others, with [email] transport = "relay".',
    [],
  ),
});

/** One `[[relay]]` as the file has it; null = not given. `password` may come from the environment. */
export type RelayConfig = Static<typeof RelaySchema>;

/** Adds derived values. `relays` may be incomplete after errors. */
export function completeRelays(
  relays: RelayConfig[] | undefined,
  env: Record<string, string | undefined>,
  errors: ConfigError[],
): void {
  const needing: number[] = [];
  for (const [at, relay] of (relays ?? []).entries()) {
    relay.port ??= relay.tls === "implicit" ? SUBMISSIONS_PORT : SUBMISSION_PORT;
    if (relay.username !== null && relay.password === null && relay.passwordFile === null) needing.push(at);
  }
  const given = env[RELAY_PASSWORD_VARIABLE] ?? "";
  if (given === "") return;
  if (needing.length > 1) {
    const found = `${needing.length} relays without a password`;
    const expected = "at most one [[relay]] with a username and without a password; give the others a password_file";
    errors.push({ key: `environment variable ${RELAY_PASSWORD_VARIABLE}`, found, expected });
  }
  for (const at of needing) {
    const relay = relays?.[at];
    if (relay !== undefined) relay.password = given;
  }
}

/** Checks keys against each other. A key may be undefined here: its own error was recorded. */
export function checkRelays(
  relays: RelayConfig[] | undefined,
  transport: "direct" | "relay" | undefined,
  errors: ConfigError[],
): void {
  if (relays === undefined) return;
  for (const [at, relay] of relays.entries()) checkSignIn(relay, `relay[${at}]`, errors);
  checkDomains(relays, errors);
  const others = relays.flatMap(({ domains }, at) => (domains?.length === 0 ? [`relay[${at}].domains`] : []));
  if (transport === "relay" && others.length === 0 && relays.every(({ domains }) => domains !== undefined)) {
    const found = relays.length === 0 ? "no [[relay]]" : "no [[relay]] without domains";
    const expected = 'a [[relay]] without domains, for the mail of all others, or [email] transport = "direct"';
    errors.push({ key: "relay", found, expected });
  }
  const [first, ...more] = others;
  if (transport === "direct" && first !== undefined) {
    const expected = 'the sending domains that use this relay, or [email] transport = "relay" for all mail';
    errors.push({ key: first, found: "no domains", expected });
  }
  for (const key of more) {
    const expected = `domains of its own: ${first ?? ""} is empty as well, and only one may take all other mail`;
    errors.push({ key, found: "no domains", expected });
  }
}

function checkSignIn(relay: RelayConfig, key: string, errors: ConfigError[]): void {
  const { host, tls, username, password, passwordFile } = relay;
  const isGiven = password !== null || passwordFile !== null;
  if (password !== null && password !== undefined && passwordFile !== null && passwordFile !== undefined) {
    errors.push({ key: `${key}.password_file`, found: "password as well", expected: "only one of the two" });
  }
  if (username === null && isGiven) {
    errors.push({ key: `${key}.username`, found: "nothing", expected: "the user name for the password" });
  }
  if (typeof username === "string" && !isGiven) {
    const expected = `password, password_file or the environment variable ${RELAY_PASSWORD_VARIABLE}`;
    errors.push({ key: `${key}.username`, found: "no password for it", expected });
  }
  if (tls === "none" && typeof username === "string" && host !== undefined && !isOnThisMachine(host)) {
    const expected = '"starttls" or "implicit": a password must not be sent without TLS';
    errors.push({ key: `${key}.tls`, found: '"none" with a username', expected });
  }
}

function checkDomains(relays: RelayConfig[], errors: ConfigError[]): void {
  const taken = new Map<string, number>();
  for (const [at, { domains }] of relays.entries()) {
    for (const [nth, domain] of (domains ?? []).entries()) {
      const earlier = taken.get(domain);
      if (earlier === undefined) taken.set(domain, at);
      else {
        const expected = `a domain that no other [[relay]] has: relay[${earlier}] has it`;
        errors.push({ key: `relay[${at}].domains[${nth}]`, found: `"${domain}"`, expected });
      }
    }
  }
}

function isOnThisMachine(host: string): boolean {
  return host === "localhost" || (isIP(host) !== 0 && isLoopback(host));
}
