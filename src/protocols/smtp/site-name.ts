// The name of a site as it is met from an egress: "mx.example.com via lisbon". What a receiver thinks of us is about an
// address, so everything that is kept by a site's name is kept for each egress alone. No host name holds a space.

const VIA = " via ";

export function siteVia(site: string, egress: string): string {
  return `${site}${VIA}${egress}`;
}

/** The egress in the name of a site; null: none. */
export function egressOf(site: string): string | null {
  const at = site.indexOf(VIA);
  return at < 0 ? null : site.slice(at + VIA.length);
}

/** Names of a site via any egress sort from the first of these on, and before the second. */
export function rangeOfVia(site: string): [string, string] {
  return [`${site}${VIA}`, `${site}${VIA.slice(0, -1)}!`];
}
