// `[tls]`: the certificate of all ports, and where it comes from.

import { type Static, Type } from "@sinclair/typebox";
import type { HostPort } from "../platform/ip/address.ts";
import { list, optional, special, text } from "./fields.ts";
import { parseHostname } from "./formats.ts";
import { type ConfigError, showText } from "./toml.ts";

const LISTEN_MAX = 8;
/** What authorities take, Let's Encrypt among them. */
const NAMES_MAX = 100;

export const TlsSchema = Type.Object({
  listen: list(
    special<HostPort>("listen", "One address."),
    [0, LISTEN_MAX],
    'Addresses and ports of the API with TLS, such as "0.0.0.0:443" and "[::]:443"; none = it has none.',
    [],
  ),
  acme: optional(
    "acme_directory",
    "Where certificates come from: letsencrypt, letsencrypt-staging, or the address of an ACME directory; empty = nowhere.",
  ),
  contact: optional("email_address", "Mail address for the authority's account; empty = none."),
  names: list(
    text("certificate_name", "One name."),
    [0, NAMES_MAX],
    "Names in the certificate; none = hostname, and the hosts of [dashboard] url and [http] public_url.",
    [],
  ),
  challengeListen: list(
    special<HostPort>("listen", "One address."),
    [1, LISTEN_MAX],
    "Where the authority looks (HTTP-01): it knocks at port 80.",
    ["0.0.0.0:80", "[::]:80"],
  ),
  acmeCaFile: optional(
    "optional_path",
    "The authority's own TLS certificate is checked against these, a PEM file; empty = the public ones.",
  ),
  eabKeyId: optional("account", "External account binding, where the authority asks for it: the id of the key."),
  eabKeyFile: optional("optional_path", "The file with that key, as the authority gives it (base64url)."),
  profile: optional("acme_profile", 'The authority\'s certificate profile, such as "shortlived"; empty = its default.'),
  certificateFile: optional(
    "optional_path",
    "A certificate of one's own instead, with its chain, a PEM file, read again when it changes.",
  ),
  keyFile: optional("optional_path", "Its private key, a PEM file."),
});

/** `acme` the address of a directory; `names` never empty. */
export type TlsConfig = Static<typeof TlsSchema>;

interface OtherNames {
  hostname: string;
  /** Origins, where there are any. */
  urls: (string | null | undefined)[];
}

/** Fills in the names, and checks keys against each other. A key may be undefined here: its own error was recorded. */
export function completeTls(tls: TlsConfig, { hostname, urls }: OtherNames, errors: ConfigError[]): void {
  const note = (key: string, found: string, expected: string) => errors.push({ key: `tls.${key}`, found, expected });
  if (tls.names?.length === 0) {
    // An origin may have an address in place of a name, which no certificate is asked for.
    const hosts = urls.flatMap((url) => (url ? (parseHostname(new URL(url).hostname) ?? []) : []));
    tls.names = [hostname, ...hosts];
  }
  tls.names = [...new Set(tls.names)];
  const { acme, certificateFile, keyFile, eabKeyId, eabKeyFile } = tls;
  if ((certificateFile === null) !== (keyFile === null)) {
    const missing = certificateFile === null ? "certificate_file" : "key_file";
    note(missing, "nothing", certificateFile === null ? "the certificate for key_file" : "the key of certificate_file");
  }
  if (acme && certificateFile)
    note(
      "certificate_file",
      "acme as well",
      "only one of the two: a certificate of one's own, or an authority that issues it",
    );
  if (tls.listen !== undefined && tls.listen.length > 0 && acme === null && certificateFile === null)
    note("listen", "no certificate for it", 'acme = "letsencrypt", or certificate_file and key_file');
  if ((eabKeyId === null) !== (eabKeyFile === null))
    note(eabKeyId === null ? "eab_key_id" : "eab_key_file", "nothing", "both eab_key_id and eab_key_file, or neither");
  if (acme === null && eabKeyId) note("eab_key_id", showText(eabKeyId), "acme, the authority that has given it");
}
