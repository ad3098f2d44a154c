import { getDomain } from "tldts-icann";

/**
 * The organizational domain (RFC 7489 §3.2) of a name in lower case: what somebody has registered, under which
 * names cost nothing. By the public suffixes of registries only: `a.provider.example` and `b.provider.example`
 * are one even where the provider gives such names away, or whoever asks for fifty of them would be fifty. What
 * has no such domain, like a suffix itself, stands for itself.
 */
export function organizationalDomain(name: string): string {
  return getDomain(name) ?? name;
}
