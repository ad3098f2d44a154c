// `[[egress]]`: further addresses that mail leaves from, of this machine or behind a SOCKS5 proxy. The sending domain
// decides which one it is.

import { type Static, Type } from "@sinclair/typebox";
import { integer, list, optional, secret, special, text } from "./fields.ts";
import type { ConfigError } from "./toml.ts";

export const EGRESSES_MAX = 20;
const DOMAINS_MAX = 1000;

/** A SOCKS5 proxy. `username` null: it asks for none. */
export interface ProxyPlace {
  address: string;
  port: number;
  username: string | null;
}

export const EgressSchema = Type.Object({
  name: text("egress_name", "A unique name, for the timeline of emails, the log and pombo doctor."),
  address: text("ipv4", "The IPv4 address that mail leaves from; one of this machine, or with proxy the proxy's."),
  hostname: text("hostname", "The name in EHLO; it must be the PTR of the address."),
  // Not shown in errors: people write passwords into such addresses.
  proxy: {
    ...special<ProxyPlace | null>(
      "socks5_proxy",
      "The SOCKS5 proxy to go through, by its IP address; empty = directly from this machine.",
      "",
    ),
    isSecret: true,
  },
  password: secret("The password of the proxy's user; better in a file."),
  passwordFile: optional("optional_path", "A file with the password, instead of password."),
  share: integer(
    [1, 1000],
    "Where several [[egress]] take a domain one of them has it; one with share = 2 has twice as many domains as one with 1.",
    1,
  ),
  domains: list(
    text("hostname", "One domain."),
    [0, DOMAINS_MAX],
    "The sending domains whose mail leaves here; none = all that no other [[egress]] and no [[relay]] takes.",
    [],
  ),
});

/** One `[[egress]]` as the file has it. */
export type EgressConfig = Static<typeof EgressSchema>;

/** What a domain can be told to leave by, besides. */
interface Others {
  relay: { domains: string[] }[] | undefined;
  transport: "direct" | "relay" | undefined;
}

/** Checks keys against each other. A key may be undefined here: its own error was recorded. */
export function checkEgresses(egresses: EgressConfig[] | undefined, others: Others, errors: ConfigError[]): void {
  const names = new Map<string, number>();
  const relayed = new Set(others.relay?.flatMap(({ domains }) => domains ?? []));
  for (const [at, egress] of (egresses ?? []).entries()) {
    const key = `egress[${at}]`;
    const { name, domains } = egress;
    const earlier = names.get(name);
    if (name !== undefined && earlier !== undefined)
      errors.push({ key: `${key}.name`, found: `"${name}"`, expected: `another name: egress[${earlier}] has it` });
    names.set(name, at);
    checkPassword(egress, key, errors);
    if (domains?.length === 0 && others.transport === "relay")
      errors.push({
        key: `${key}.domains`,
        found: 'no domains with [email] transport = "relay"',
        expected: "the sending domains that leave here, as the [[relay]] without domains takes all other mail",
      });
    for (const [nth, domain] of (domains ?? []).entries())
      if (relayed.has(domain))
        errors.push({
          key: `${key}.domains[${nth}]`,
          found: `"${domain}"`,
          expected: "a domain that no [[relay]] has: its mail would never leave here",
        });
  }
}

function checkPassword({ proxy, password, passwordFile }: EgressConfig, key: string, errors: ConfigError[]): void {
  if (proxy === undefined || password === undefined || passwordFile === undefined) return;
  const isGiven = password !== null || passwordFile !== null;
  if (password !== null && passwordFile !== null)
    errors.push({ key: `${key}.password_file`, found: "password as well", expected: "only one of the two" });
  const hasUser = proxy !== null && proxy.username !== null;
  if (isGiven && !hasUser)
    errors.push({ key: `${key}.proxy`, found: "no user for the password", expected: '"socks5://USER@ADDRESS:PORT"' });
  if (hasUser && !isGiven)
    errors.push({ key: `${key}.proxy`, found: "a user without a password", expected: "password or password_file" });
}
