/**
 * Which IP addresses must not be connected to when a stranger chose them: an MX record or a webhook
 * URL that points into our own network would make us its proxy (R8). An address is
 * read to a number, an IPv4 address inside an IPv6 one is taken out, and the number is looked up
 * among the reserved ranges. Pure.
 */
import { isIPv4, isIPv6 } from "node:net";

/** Address ranges to match against; from `parseRanges`. */
export interface AddressRanges {
  readonly ranges: readonly Range[];
}

interface Range {
  family: 4 | 6;
  /** The address shifted right, so that only the bits of the prefix are left. */
  head: bigint;
  shift: bigint;
}

interface Address {
  family: 4 | 6;
  value: bigint;
}

/** The IANA special-purpose registries (RFC 6890 and its updates) and what else no mail host has. */
const RESERVED: readonly (readonly [cidr: string, what: string])[] = [
  ["0.0.0.0/8", "an unspecified address"],
  ["10.0.0.0/8", "a private address"],
  ["100.64.0.0/10", "a carrier-grade NAT address"],
  ["127.0.0.0/8", "a loopback address"],
  ["169.254.0.0/16", "a link-local address"],
  ["172.16.0.0/12", "a private address"],
  ["192.0.0.0/24", "a protocol assignment"],
  ["192.0.2.0/24", "a documentation address"],
  ["192.88.99.0/24", "a 6to4 relay address"],
  ["192.168.0.0/16", "a private address"],
  ["198.18.0.0/15", "a benchmarking address"],
  ["198.51.100.0/24", "a documentation address"],
  ["203.0.113.0/24", "a documentation address"],
  ["224.0.0.0/4", "a multicast address"],
  ["255.255.255.255/32", "the broadcast address"],
  ["240.0.0.0/4", "a reserved address"],
  ["::/128", "an unspecified address"],
  ["::1/128", "a loopback address"],
  // These carry an IPv4 address that a gateway would unpack, a private one as well.
  ["::/96", "an IPv4-compatible address"],
  ["::ffff:0:0:0/96", "an IPv4-translated address"],
  ["64:ff9b::/96", "a NAT64 address"],
  ["64:ff9b:1::/48", "a local NAT64 address"],
  ["2002::/16", "a 6to4 address"],
  ["2001::/32", "a Teredo address"],
  ["100::/64", "a discard address"],
  ["2001:2::/48", "a benchmarking address"],
  ["2001::/23", "a protocol assignment"],
  ["2001:db8::/32", "a documentation address"],
  ["3fff::/20", "a documentation address"],
  ["fc00::/7", "a private address"],
  ["fe80::/10", "a link-local address"],
  ["fec0::/10", "a site-local address"],
  ["ff00::/8", "a multicast address"],
];

const RESERVED_RANGES = RESERVED.map(([cidr, what]) => ({ range: parseRange(cidr), what }));
/** All that IANA has given out for hosts on the internet (RFC 4291 §2.4). */
const GLOBAL_IPV6 = parseRange("2000::/3");
const MAPPED_IPV4 = parseRange("::ffff:0:0/96");
const LOOPBACK = ["127.0.0.0/8", "::1/128", "::ffff:127.0.0.0/104"].map(parseRange);

/**
 * Reads ranges like `10.0.0.0/8` or `fd00::/8`; a single address is a range of one. Bits beyond the
 * prefix are ignored. Throws a sentence that names the first entry which is not a range.
 */
export function parseRanges(cidrs: string[]): AddressRanges {
  return { ranges: cidrs.map(parseRange) };
}

/** Why `ip` must not be connected to ("10.0.0.1 is a private address"), or null when it may. */
export function isRefusedAddress(ip: string, allowed: AddressRanges): string | null {
  const written = parseIp(ip);
  if (!written) return `${JSON.stringify(ip)} is not an IP address`;
  const address = unmapped(written);
  if (allowed.ranges.some((range) => contains(range, address) || contains(range, written))) return null;
  const reserved = RESERVED_RANGES.find(({ range }) => contains(range, address));
  if (reserved) return `${ip} is ${reserved.what}`;
  if (address.family === 6 && !contains(GLOBAL_IPV6, address)) return `${ip} is a reserved address`;
  return null;
}

/** Whether `ip` lies in one of the ranges; what is no address lies in none. */
export function isWithin(ip: string, { ranges }: AddressRanges): boolean {
  const written = parseIp(ip);
  if (!written) return false;
  const address = unmapped(written);
  return ranges.some((range) => contains(range, address) || contains(range, written));
}

/** Whether `ip` is one of `addresses`, however each of them is written: `::ffff:192.0.2.7` is 192.0.2.7. */
export function isAmong(ip: string, addresses: readonly string[]): boolean {
  const wanted = getIdentity(ip);
  return wanted !== null && addresses.some((each) => getIdentity(each) === wanted);
}

function getIdentity(ip: string): string | null {
  const written = parseIp(ip);
  if (!written) return null;
  const { family, value } = unmapped(written);
  return `${family}:${value}`;
}

/**
 * What one client has to itself, in one spelling: an IPv4 address ("192.0.2.7"), of IPv6 its /64
 * ("2001:db8:1:2::/64"), whose addresses a host may take as it likes. Null for what is no address.
 */
export function getNetwork(ip: string): string | null {
  const written = parseIp(ip);
  if (!written) return null;
  const { family, value } = unmapped(written);
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
  const groups = [112n, 96n, 80n, 64n].map((shift) => ((value >> shift) & 0xffffn).toString(16));
  return `${groups.join(":")}::/64`;
}

/**
 * The networks that an address lies in, narrowest first: of IPv4 the address, its /24 and its /16, of IPv6 its /64,
 * its /48 (a site's) and its /32 (what a provider is given). Empty for what is no address.
 */
export function getNetworks(ip: string): string[] {
  const written = parseIp(ip);
  if (!written) return [];
  const { family, value } = unmapped(written);
  const [bits, prefixes] = family === 4 ? [32n, [32n, 24n, 16n]] : [128n, [64n, 48n, 32n]];
  return prefixes.map((prefix) => `${family}:${(value >> (bits - prefix)).toString(16)}/${prefix}`);
}

/**
 * The labels of an address in the DNS, without a zone behind them: of 192.0.2.7 "7.2.0.192", of IPv6 its 32 nibbles,
 * the last one first (RFC 5782 §2.4). Null for what is no address.
 */
export function reverseLabels(ip: string): string | null {
  const written = parseIp(ip);
  if (!written) return null;
  const { family, value } = unmapped(written);
  if (family === 4) return [0n, 8n, 16n, 24n].map((shift) => (value >> shift) & 0xffn).join(".");
  return value.toString(16).padStart(32, "0").split("").toReversed().join(".");
}

/** The name under which the DNS holds the names of an address (RFC 1035 §3.5, RFC 3596 §2.5). Null for what is no address. */
export function reverseName(ip: string): string | null {
  const labels = reverseLabels(ip);
  if (labels === null) return null;
  return labels.length > 15 ? `${labels}.ip6.arpa` : `${labels}.in-addr.arpa`;
}

/** Whether what is sent to `ip` stays on this machine. */
export function isLoopback(ip: string): boolean {
  const address = parseIp(ip);
  return address !== null && LOOPBACK.some((range) => contains(range, address));
}

function parseRange(cidr: string): Range {
  const [ip = "", prefixText, ...rest] = cidr.split("/");
  const address = parseIp(ip);
  const bits = address?.family === 4 ? 32 : 128;
  const isPrefix = prefixText === undefined || (/^\d{1,3}$/.test(prefixText) && Number(prefixText) <= bits);
  if (!address || !isPrefix || rest.length > 0) {
    throw new Error(
      `${JSON.stringify(cidr)} is not an address range: write an IP address, a slash and a number of bits, like 10.0.0.0/8 or fd00::/8.`,
    );
  }
  const shift = BigInt(bits - Number(prefixText ?? bits));
  return { family: address.family, head: address.value >> shift, shift };
}

/** The kernel treats ::ffff:10.0.0.1 as 10.0.0.1, and so must every rule. */
function unmapped(address: Address): Address {
  return contains(MAPPED_IPV4, address) ? { family: 4, value: address.value & 0xffff_ffffn } : address;
}

function contains(range: Range, address: Address): boolean {
  return range.family === address.family && address.value >> range.shift === range.head;
}

/** Strict notations only: no octal, no short forms, no zone. */
function parseIp(ip: string): Address | null {
  if (isIPv4(ip)) return { family: 4, value: readIpv4(ip) };
  // A zone (%eth0) names an interface of this machine: nothing that a stranger may choose.
  if (!isIPv6(ip) || ip.includes("%")) return null;
  return { family: 6, value: readIpv6(ip) };
}

function readIpv4(ip: string): bigint {
  return ip.split(".").reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function readIpv6(ip: string): bigint {
  const tail = /[^:]*\.[^:]*$/.exec(ip)?.[0];
  const hex = tail === undefined ? ip : ip.slice(0, -tail.length) + toGroups(readIpv4(tail));
  const [front = "", back] = hex.split("::");
  const frontGroups = front === "" ? [] : front.split(":");
  const backGroups = back === undefined || back === "" ? [] : back.split(":");
  const zeros = Array.from({ length: 8 - frontGroups.length - backGroups.length }, () => "0");
  return [...frontGroups, ...zeros, ...backGroups].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

function toGroups(value: bigint): string {
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

/** An address and port to listen on; IPv6 without brackets, port 0 = any free one. */
export interface HostPort {
  address: string;
  port: number;
}

/** 192.0.2.9:1080, [2001:db8::9]:1080. */
export function formatHostPort({ address, port }: HostPort): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
