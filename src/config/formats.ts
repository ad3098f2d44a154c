import { isIPv4, isIPv6 } from "node:net";
import { isAbsolute, normalize } from "node:path";
import { parsePattern, parsePrefix } from "./number-prefix.ts";
import type { HostPort } from "../platform/ip/address.ts";

/** How a text value of the file is read: `read` gives the value, or undefined when the text is not one. */
export interface TextFormat {
  expected: string;
  read(text: string): unknown;
}

const DURATION_UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const SIZE_UNITS: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const HOSTNAME_MAX = 253;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const DNS_PORT = 53;
const REPORT_ADDRESS_MAX = 254;
const ACCOUNT_MAX_BYTES = 255;
/** Some relays take long tokens as passwords. */
const SECRET_MAX_BYTES = 4096;

/**
 * The socket pombo.sock lives in the data directory, and a Unix socket's path ends at 103 bytes on
 * macOS (107 on Linux); 11 of them are "/pombo.sock".
 */
const DATA_DIR_MAX_BYTES = 92;
const PATH_MAX_BYTES = 1024;

/** "72h" → milliseconds; null when the text is not a whole number and one of ms, s, m, h, d. */
export function parseDuration(text: string): number | null {
  return parseUnits(text, DURATION_UNITS);
}

/** "16MiB" → bytes; null when the text is not a whole number and one of B, KiB, MiB, GiB. */
export function parseSize(text: string): number | null {
  return parseUnits(text, SIZE_UNITS);
}

/**
 * A host name with at least two labels, ASCII, in lower case and without a trailing dot; null when the
 * text is none. A last label of digits only would be an address, not a name (RFC 3696 §2).
 */
export function parseHostname(text: string): string | null {
  const name = text.toLowerCase();
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (name.length > HOSTNAME_MAX || labels.length < 2 || /^\d+$/.test(last)) return null;
  return labels.every((label) => LABEL.test(label)) ? name : null;
}

/** "127.0.0.1:8080" or "[::1]:8080"; null when the text is neither. */
export function parseHostPort(text: string): HostPort | null {
  const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (!(port >= 0 && port <= 65_535)) return null;
  if (v6 !== undefined) return isPlainIPv6(v6) ? { address: v6, port } : null;
  return v4 !== undefined && isIPv4(v4) ? { address: v4, port } : null;
}

function matching(pattern: RegExp, expected: string) {
  return { expected, read: (text) => (pattern.test(text) ? text : undefined) } satisfies TextFormat;
}

/** The reader of each `format` in the schema of config.ts. */
export const TEXT_FORMATS = {
  hostname: {
    expected: 'a full host name such as "mail.example.net" (international names in their xn-- form)',
    read: (text) => parseHostname(text) ?? undefined,
  },
  data_dir: {
    expected: `an absolute path such as "/var/lib/pombo", at most ${DATA_DIR_MAX_BYTES} bytes long`,
    read: (text) => readPath(text, DATA_DIR_MAX_BYTES),
  },
  path: {
    expected: 'an absolute path such as "/var/lib/pombo/instance.key"',
    read: (text) => readPath(text, PATH_MAX_BYTES),
  },
  listen: {
    expected: 'an address and a port such as "127.0.0.1:8080" or "[::1]:8080"',
    read: (text) => parseHostPort(text) ?? undefined,
  },
  listen_or_none: {
    expected: 'an address and a port such as "127.0.0.1:9464" or "[::1]:9464", or "" for none',
    read: (text) => (text === "" ? null : (parseHostPort(text) ?? undefined)),
  },
  size_or_none: {
    expected: 'a size such as "512MiB" or "2GiB" (units: B, KiB, MiB, GiB), or "none" for no limit',
    // As the other limits of a plan.
    read: (text) => (text === "none" ? -1 : (parseSize(text) ?? undefined)),
  },
  dns_server: {
    expected: 'an address such as "127.0.0.1", "127.0.0.1:53" or "[::1]:53"',
    read: readDnsServer,
  },
  source_ipv6: {
    expected: "an IPv6 address of this machine, or empty",
    read: (text) => (text === "" ? null : isIPv6(text) ? text.toLowerCase() : undefined),
  },
  source_ipv4: {
    expected: 'an IPv4 address of this machine such as "203.0.113.7", or "" to let the system choose',
    read: readSourceIpv4,
  },
  ipv4: {
    expected: 'an IPv4 address such as "203.0.113.7"',
    read: (text) => readSourceIpv4(text) ?? undefined,
  },
  egress_name: matching(
    /^[a-z0-9][a-z0-9_-]{0,39}$/,
    'a name of 1 to 40 lower-case letters, digits, - and _, such as "lisbon"',
  ),
  socks5_proxy: {
    expected:
      '"socks5://192.0.2.9:1080", or "socks5://user@192.0.2.9:1080" with the password in a key of its own; an IP address and no name, as mail must not wait for one; "" for none',
    read: readProxy,
  },
  range: {
    expected: 'an address range such as "10.0.0.0/8" or "fd00::/8"',
    read: readRange,
  },
  report_address: {
    expected: 'an email address such as "dmarc@example.net", or "" for none',
    read: readReportAddress,
  },
  relay_host: {
    expected: 'a host name such as "smtp.example.net" or an IP address without brackets',
    read: readRelayHost,
  },
  account: {
    expected: 'a name of at most 255 bytes without control characters, or "" for none',
    read: (text) => (isPlainText(text, ACCOUNT_MAX_BYTES) ? text || null : undefined),
  },
  secret: {
    expected: 'a text of at most 4096 bytes without control characters, or "" for none',
    read: (text) => (isPlainText(text, SECRET_MAX_BYTES) ? text || null : undefined),
  },
  optional_path: {
    expected: 'an absolute path such as "/etc/pombo/relay.pem", or "" for none',
    read: (text) => (text === "" ? null : readPath(text, PATH_MAX_BYTES)),
  },
  replica_url: {
    expected:
      's3://bucket/path, sftp://user@host/path or an absolute path such as "/mnt/backup/pombo", without secrets, "?" or "#", or "" for none',
    read: (text) => (text === "" ? null : readReplicaUrl(text)),
  },
  endpoint: {
    expected: 'a URL such as "https://s3.example.net", or "" for Amazon\'s',
    read: (text) => (text === "" ? null : /^https?:\/\/[a-z0-9.[\]:-]+\/?$/i.test(text) ? text : undefined),
  },
  https_origin: {
    expected: 'an https URL without a path such as "https://mail.example.net", or "" for none',
    read: readHttpsOrigin,
  },
  email_address: {
    expected: 'an email address such as "pombo@example.net", or "" for none',
    read: (text) => readReportAddress(text)?.replace(/^mailto:/, "") ?? (text === "" ? null : undefined),
  },
  acme_directory: {
    expected:
      '"letsencrypt", "letsencrypt-staging", the https address of an ACME directory such as "https://ca.example.net/acme/directory", or "" for none',
    read: readAcmeDirectory,
  },
  acme_profile: {
    expected: 'the name of a profile such as "shortlived", or "" for the authority\'s default',
    read: (text) => (/^[\w.-]{0,64}$/.test(text) ? text || null : undefined),
  },
  certificate_name: {
    expected:
      'a full host name such as "mail.example.net", in its xn-- form if it is an international one; no address, and no wildcard: it would need DNS-01, and pombo answers HTTP-01',
    read: (text) => parseHostname(text) ?? undefined,
  },
  spamhaus_key: {
    expected: 'the key of 20 to 40 letters and digits that Spamhaus shows, or "" for none',
    read: (text) => (text === "" ? null : /^[a-z0-9]{20,40}$/i.test(text) ? text.toLowerCase() : undefined),
  },
  time_server: {
    expected: 'a host such as "pool.ntp.org" or "192.0.2.1:123", or "" for none',
    read: readTimeServer,
  },
  region: matching(/^[a-z0-9-]{0,64}$/, 'a region such as "eu-central-1", or "" to detect it'),
  alert_receiver: {
    expected: "an email address, a number with +, or the https address of a webhook",
    read: (text) => (/^[^\s\p{Cc}]{1,2048}$/u.test(text) ? text : undefined),
  },
  alert_sender: {
    expected:
      'a name of 1 to 11 letters, digits and spaces with a letter in it, a number such as "84000", or "" for none',
    read: (text): string | null | undefined => (text === "" ? null : TEXT_FORMATS.sender_id.read(text)),
  },
  alert_route: {
    expected: 'the name of an [[sms.routes]] such as "vodacom", or "" for none',
    read: (text): string | null | undefined => (text === "" ? null : TEXT_FORMATS.sms_name.read(text)),
  },
  alert_url: {
    expected: 'an https address such as "https://watch.example.net/ping/mail", or "" for none',
    read: (text) => (text === "" ? null : /^https?:\/\/[^\s\p{Cc}]{1,2040}$/u.test(text) ? text : undefined),
  },
  release_url: {
    expected: 'an https address without "?" and "#" such as "https://example.net/pombo/latest", or "" for none',
    read: (text) => (text === "" ? null : /^https:\/\/[^\s\p{Cc}?#@]{1,2040}$/u.test(text) ? text : undefined),
  },
  sms_name: matching(
    /^[a-z0-9][a-z0-9_-]{0,39}$/,
    'a name of 1 to 40 lower-case letters, digits, - and _, such as "vodacom-1"',
  ),
  number_prefix: {
    expected: 'the first digits of mobile numbers with + and country code, such as "+25884" or "+3519"',
    read: (text) => parsePrefix(text) ?? undefined,
  },
  number_pattern: {
    expected:
      'the first digits of mobile numbers with + and country code, such as "+25884" or "+3519", or with an x for each further digit, such as "+3519xxxxxxxx", 8 to 15 digits in all',
    read: (text) => parsePattern(text) ?? undefined,
  },
  optional_host: {
    expected: 'a host name such as "smsc.example.net", or "" for none',
    read: (text) => (text === "" ? null : readRelayHost(text)),
  },
  // SMPP 3.4 §5.2.1, §5.2.3: C-octet strings, less their NUL.
  system_id: matching(/^[\x20-\x7e]{1,15}$/, "1 to 15 ASCII characters"),
  system_type: matching(/^[\x20-\x7e]{0,12}$/, "at most 12 ASCII characters"),
  // As src/modules/workspaces/sender-kind.ts has them.
  sender_id: matching(
    /^(?=.*[A-Za-z])[A-Za-z0-9 \-._&]{1,11}$|^\+?\d{3,15}$/,
    'a name of 1 to 11 letters, digits and spaces with a letter in it, or a number such as "84000"',
  ),
  ton_npi: {
    expected: 'a type of number from 0 to 6 and a numbering plan from 0 to 18, such as "1/1"',
    read: readTonNpi,
  },
  command_status: {
    expected: 'a status other than 0 in hexadecimal such as "0x0000040B"',
    read: (text) => (/^0x0*[1-9a-f][0-9a-f]{0,7}$/i.test(text) ? Number(text) : undefined),
  },
  receipt_error: matching(/^[A-Za-z0-9]{1,10}$/, 'an error of 1 to 10 letters and digits such as "069"'),
  optional_text: {
    expected: 'a text of at most 160 characters without control characters, or "" for none',
    read: (text) => (/\p{Cc}/u.test(text) || text.length > 160 ? undefined : text || null),
  },
  plan_name: {
    expected: 'the name of a plan such as "launch"',
    read: (text) => (text === "" ? undefined : text),
  },
} satisfies Record<string, TextFormat>;

function parseUnits(text: string, units: Record<string, number>): number | null {
  const [, digits, unit] = /^(\d{1,12})([A-Za-z]{1,3})$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined || !Object.hasOwn(units, unit)) return null;
  return Number(digits) * (units[unit] ?? Number.NaN);
}

/** Zones (fe80::1%eth0) are refused: they mean something on one machine only, and no part of pombo needs them. */
function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes("%");
}

function readPath(text: string, maxBytes: number): string | undefined {
  if (!isAbsolute(text) || text.includes("\0") || Buffer.byteLength(text) > maxBytes) return undefined;
  const path = normalize(text);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** One label is enough here: a container's neighbour, "localhost". */
function readRelayHost(text: string): string | undefined {
  if (isIPv4(text) || isPlainIPv6(text)) return text.toLowerCase();
  const labels = text.toLowerCase().split(".");
  if (text.length > HOSTNAME_MAX || /^\d+$/.test(labels.at(-1) ?? "")) return undefined;
  return labels.every((label) => LABEL.test(label)) ? labels.join(".") : undefined;
}

const NTP_PORT = 123;

function readTimeServer(text: string): { host: string; port: number } | null | undefined {
  if (text === "") return null;
  const [, named = text, digits] = /^(.*?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = readRelayHost(named);
  const port = Number(digits ?? NTP_PORT);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** A folder as its plain path, the others as they are but for a slash at the end. */
export function readReplicaUrl(text: string): string | undefined {
  if (/[\s?#%\p{Cc}]/u.test(text) || text.includes("/../")) return undefined;
  const isS3 = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,62}(\/[^/].*)?\/?$/.test(text);
  if (isS3 || /^sftp:\/\/[^/@:]+@[a-z0-9.-]+(:\d{1,5})?\/[^/].*$/i.test(text)) return text.replace(/\/+$/, "");
  return readPath(text.replace(/^file:\/\/(?=\/)/, ""), PATH_MAX_BYTES);
}

function isPlainText(text: string, maxBytes: number): boolean {
  return !/\p{Cc}/u.test(text) && Buffer.byteLength(text) <= maxBytes;
}

/** SMPP 3.4 §5.2.5, §5.2.6. */
function readTonNpi(text: string): { ton: number; npi: number } | undefined {
  const [, ton, npi] = /^([0-6])\/(\d{1,2})$/.exec(text) ?? [];
  return ton !== undefined && Number(npi) <= 18 ? { ton: Number(ton), npi: Number(npi) } : undefined;
}

/** Always with brackets and port, as protocols/dns/client.ts takes it. */
function readDnsServer(text: string): string | undefined {
  if (isIPv4(text)) return `${text}:${DNS_PORT}`;
  if (isPlainIPv6(text)) return `[${text}]:${DNS_PORT}`;
  const server = parseHostPort(text);
  if (server === null || server.port === 0) return undefined;
  return isIPv4(server.address) ? `${server.address}:${server.port}` : `[${server.address}]:${server.port}`;
}

function readSourceIpv4(text: string): string | null | undefined {
  if (text === "") return null;
  return isIPv4(text) && text !== "0.0.0.0" ? text : undefined;
}

/** Null: none. */
function readProxy(text: string): { address: string; port: number; username: string | null } | null | undefined {
  if (text === "") return null;
  const [, username = null, rest = ""] = /^socks5:\/\/(?:([^@:/\s\p{Cc}]{1,255})@)?([^@/]+)\/?$/u.exec(text) ?? [];
  const place = parseHostPort(rest);
  // RFC 1929: its length is one octet.
  if (place === null || place.port === 0 || Buffer.byteLength(username ?? "") > ACCOUNT_MAX_BYTES) return undefined;
  return { ...place, username };
}

/** Always with its prefix length: a bare address is the range of itself. */
function readRange(text: string): string | undefined {
  const [, address, digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (address === undefined) return undefined;
  const longest = isIPv4(address) ? 32 : isPlainIPv6(address) ? 128 : 0;
  const length = digits === undefined ? longest : Number(digits);
  return longest > 0 && length <= longest ? `${address.toLowerCase()}/${length}` : undefined;
}

/** Null: none. */
function readHttpsOrigin(text: string): string | null | undefined {
  if (text === "") return null;
  const url = URL.parse(text);
  const isOrigin = url?.protocol === "https:" && url.pathname === "/" && !/[?#@]/.test(text);
  return isOrigin ? url.origin : undefined;
}

const ACME_DIRECTORIES: Record<string, string> = {
  letsencrypt: "https://acme-v02.api.letsencrypt.org/directory",
  "letsencrypt-staging": "https://acme-staging-v02.api.letsencrypt.org/directory",
};

/** Null: none. */
function readAcmeDirectory(text: string): string | null | undefined {
  if (text === "") return null;
  if (Object.hasOwn(ACME_DIRECTORIES, text)) return ACME_DIRECTORIES[text];
  const url = URL.parse(text);
  return url?.protocol === "https:" && !/[#@\s]/.test(text) ? url.href : undefined;
}

/**
 * The value of `rua` in a DMARC record. Characters with a meaning there (RFC 7489 §6.3: comma, semicolon,
 * exclamation mark) are refused, since customers publish the text as it is.
 */
function readReportAddress(text: string): string | null | undefined {
  if (text === "") return null;
  const address = text.startsWith("mailto:") ? text.slice(7) : text;
  const [, local, domain] = /^([A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*)@([^@]+)$/.exec(address) ?? [];
  const host = domain === undefined ? null : parseHostname(domain);
  return host === null || address.length > REPORT_ADDRESS_MAX ? undefined : `mailto:${local}@${host}`;
}
