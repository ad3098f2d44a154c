// What the log keeps of a request's URL and of the words of its error: nothing that could be an address or a secret.

import { redact } from "../../platform/log.ts";

/** Words of the API's own paths, and numbers as small as an attachment's. */
const WORD = /^(?:[a-z][a-z.-]{0,30}|v?\d{1,3})$/;
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const QUERY_NAME = /^[a-z][a-z_]{0,30}$/i;
const MAX_SEGMENTS = 12;
const MAX_QUERY_NAMES = 10;

/** The path with `*` for every segment that is neither a word nor an id, then the names of the query without their values. */
export function maskPath(url: string): string {
  const [path = "", query = ""] = url
    .slice(url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3))
    .split("?");
  const segments = path.split("/", MAX_SEGMENTS);
  const masked = segments.map((segment, index) => {
    const isAddress =
      segments[index - 1] === "recipients" || (segments[index - 1] === "suppressions" && segment !== "import");
    return segment === "" || ID.test(segment) || (WORD.test(segment) && !isAddress) ? segment : "*";
  });
  const names = query.split("&", MAX_QUERY_NAMES).map((pair) => pair.split("=", 1)[0] ?? "");
  const known = names.filter((name) => QUERY_NAME.test(name));
  return masked.join("/") + (known.length === 0 ? "" : `?${known.join("&")}`);
}

const MAX_WORDS = 300;
/** A phone number, or what else is as long; an address as a URL has it. */
const NUMBERS = /(?:\+|%2B)?\d{7,}/gi;
const ENCODED_ADDRESS = /[^\s/]+%40[^\s/?]+/gi;

/** Words of an error, which may repeat what was sent. */
export function maskWords(words: string): string {
  const redacted = redact(words.slice(0, MAX_WORDS)).replaceAll(ENCODED_ADDRESS, "*");
  return redacted.replaceAll(NUMBERS, "*").toWellFormed();
}
