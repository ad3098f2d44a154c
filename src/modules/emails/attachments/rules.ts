// The rules for an attachment's filename, content type and content id: what they let pass, a message can be composed of.

import { checkName } from "../../../platform/http/request-schemas.ts";
import { isContentId, parseContentType } from "../../../protocols/mime/attachment.ts";

/** A type for any bytes (RFC 2046 §4.5.1). */
const ANY_BYTES = "application/octet-stream";
/** RFC 6838 §4.2. */
const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Names a fault of a filename, in words that follow the name of its member; null: it has none. */
export function filenameFault(value: string): string | null {
  // A reader that stores it under this name must not be led to another folder.
  if (/[/\\]/.test(value)) return "must not hold / or \\: give the name without its folder";
  if (/^\.+$/.test(value)) return "must be the name of a file";
  // RFC 2047 §5 allows no encoded-word there, and yet some readers decode one.
  if (/=\?.*\?=/s.test(value)) return "must not hold =? and ?=, which some mail programs would decode";
  return checkName(value);
}

/** The same of a content type: the composer must be able to write it. */
export function contentTypeFault(value: string): string | null {
  const parsed = parseContentType(value.trim());
  if (parsed === null || !TYPE.test(parsed.type))
    return 'must be a type like "application/pdf" or "text/csv; charset=utf-8"';
  if (parsed.type.startsWith("multipart/")) return "must not be multipart: an attachment is one part";
  const isNamed = parsed.parameters.some((parameter) => /^name[*\d]*=/i.test(parameter));
  return isNamed ? "must not have the parameter name: filename gives it" : null;
}

/** The same of a content id. */
export function contentIdFault(value: string): string | null {
  return isContentId(value) ? null : "must be letters, digits and .-_@, without < and >, like logo@example.com";
}

/** The type that is sent: the given one, or by the name's ending. */
export function chooseContentType(given: string | undefined, filename: string): string {
  const type = given?.trim() ?? guessContentType(filename);
  // RFC 2046 §5.2.1 forbids base64 for these, and anything else might change their bytes.
  return /^message\//i.test(type) ? ANY_BYTES : type;
}

function guessContentType(filename: string): string {
  const ending = /\.[^.]+$/.exec(filename)?.[0].toLowerCase() ?? "";
  // The runtime adds charset=utf-8, which nobody knows of a file.
  return Bun.file(`file${ending}`).type.split(";")[0] ?? ANY_BYTES;
}
