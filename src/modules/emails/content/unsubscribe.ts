// How the recipient of an email unsubscribes: as its sender said, and as the message says it (RFC 2369, RFC 8058).

/** As it is stored: `list` is hosted here, `url` and `mailto` are the sender's own. */
export interface Unsubscribe {
  list?: string;
  url?: string;
  mailto?: string;
}

export function readUnsubscribe(stored: string | null): Unsubscribe | null {
  return stored === null ? null : (JSON.parse(stored) as Unsubscribe);
}

/** Where a message leads those who want no more like it. */
export interface UnsubscribeAddresses {
  /** Takes the one-click POST. */
  url: string;
  /** An address, not a URI; null: there is none. */
  mail: string | null;
}

export function buildUnsubscribeFields(addresses: UnsubscribeAddresses | null): [name: string, value: string][] {
  if (addresses === null) return [];
  const { url, mail } = addresses;
  return [
    ["List-Unsubscribe", mail === null ? `<${url}>` : `<${url}>, <mailto:${encodeMail(mail)}>`],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
  ];
}

/** RFC 6068 §2: what has a meaning in a URI is encoded. */
function encodeMail(address: string): string {
  return encodeURIComponent(address).replaceAll("%40", "@").replaceAll("%2B", "+");
}

/** Stands in html and text for the address. */
export const UNSUBSCRIBE_URL = "{{unsubscribe_url}}";

interface Parts {
  html: string | null;
  text: string | null;
}

/** The parts with the address in place of each UNSUBSCRIBE_URL. */
export function fillUnsubscribeUrl({ html, text }: Parts, addresses: UnsubscribeAddresses | null): Parts {
  if (addresses === null) return { html, text };
  const { url } = addresses;
  const escaped = Bun.escapeHTML(url);
  return {
    html: html?.replaceAll(UNSUBSCRIBE_URL, () => escaped) ?? null,
    text: text?.replaceAll(UNSUBSCRIBE_URL, () => url) ?? null,
  };
}
