// What a page does, as a command for a terminal.

interface Send {
  from: string;
  to: string;
  subject: string;
  text?: string | null;
  html?: string | null;
  replyTo?: string | null;
  replyToAll?: string[] | null;
  headers?: object | null;
  tag?: string | null;
  metadata?: object | null;
  unsubscribe?: object | null;
}

/** Sends this email over the API. `key` null: the reader puts theirs in. */
export function writeSendCurl(origin: string, key: string | null, send: Send): string {
  // Only these: a record has members that a send does not take.
  const { from, to, subject, html, text, headers, tag, metadata, unsubscribe } = send;
  const all = send.replyToAll ?? [];
  const replyTo = all.length > 1 ? all : (all[0] ?? send.replyTo);
  const given = Object.entries({ from, to, subject, html, text, replyTo, headers, tag, metadata, unsubscribe });
  const body = Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null && value !== ""));
  return writeCurl(origin, key, body);
}

/** Sends this body. */
export function writeCurl(origin: string, key: string | null, body: object, path = "/api/v1/emails"): string {
  return [
    `curl ${quote(origin + path)}`,
    // In double quotes a shell puts its variable in.
    key === null ? `-H "X-API-Key: $POMBO_KEY"` : `-H ${quote(`X-API-Key: ${key}`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${quote(escapeHidden(JSON.stringify(body)))}`,
  ].join(" \\\n  ");
}

/** As one word of a POSIX shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A terminal must show what it runs: controls and marks that turn the direction of text are written as JSON's escapes. */
function escapeHidden(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
