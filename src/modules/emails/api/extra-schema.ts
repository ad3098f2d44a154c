// The schemas of a send's own header fields, its metadata and its tag.

import { checkLine, type FieldError, stringMap, text } from "../../../platform/http/request-schemas.ts";
import { findReservation } from "../../../protocols/mime/reserved-field.ts";

const MAX_FIELDS = 25;
const MAX_FIELDS_BYTES = 16 * 1024;
const MAX_FIELD_VALUE = 998;
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9-]{0,75}$/;
/** RFC 5322 §3.6.4: one or more message-ids; each fits on a line beside the name. */
const MESSAGE_IDS = /^<[!-;=?A-~]{1,450}@[!-;=?A-~]{1,450}>(?: <[!-;=?A-~]{1,450}@[!-;=?A-~]{1,450}>)*$/;
const OF_MESSAGE_IDS = new Set(["in-reply-to", "references"]);

const MAX_ENTRIES = 20;
const MAX_ENTRIES_BYTES = 4 * 1024;
const MAX_ENTRY_VALUE = 500;
const ENTRY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

const TAG = /^[A-Za-z0-9_.:-]{1,64}$/;

export const headers = stringMap(
  {
    maxProperties: MAX_FIELDS,
    additionalProperties: { type: "string", minLength: 1, maxLength: MAX_FIELD_VALUE },
    description:
      `Header fields of your own: up to ${MAX_FIELDS}, 16 KiB together. A value is one line; text beyond ASCII is encoded. ` +
      "Fields that the service writes, as `Subject`, are refused; `In-Reply-To` and `References` hold message-ids in angle brackets.",
    examples: [{ "X-Order": "4711" }],
  },
  (fields) => {
    const seen = new Map<string, string>();
    const faults = fields.flatMap(([name, value]) => {
      const message = findNameFault(name, seen) ?? findValueFault(name, value);
      return message === null ? [] : [{ path: [name], message }];
    });
    return faults.length > 0 ? faults : findSizeFaults(fields, MAX_FIELDS, MAX_FIELDS_BYTES);
  },
);

export const metadata = stringMap(
  {
    maxProperties: MAX_ENTRIES,
    additionalProperties: { type: "string", maxLength: MAX_ENTRY_VALUE },
    description:
      `Your own data about the email, in its record and its events and never in the mail: up to ${MAX_ENTRIES} texts, 4 KiB together, ` +
      "under names of letters, digits, `_`, `.` and `-`.",
    examples: [{ order: "4711" }],
  },
  (entries) => {
    const faults = entries.flatMap(([name, value]) => {
      const message = findEntryFault(name, value);
      return message === null ? [] : [{ path: [name], message }];
    });
    return faults.length > 0 ? faults : findSizeFaults(entries, MAX_ENTRIES, MAX_ENTRIES_BYTES);
  },
);

export function describeTag(description: string) {
  return text({ maxLength: 64, pattern: TAG.source, description, examples: ["receipt"] }, (value) =>
    TAG.test(value) ? null : "must be 1 to 64 letters, digits, _, ., : or -",
  );
}

export const tag = describeTag("A label to find emails by: letters, digits, `_`, `.`, `:` and `-`.");

/** `seen`: the names so far, by their lower-case form. */
function findNameFault(name: string, seen: Map<string, string>): string | null {
  if (!FIELD_NAME.test(name)) return "is not the name of a header field: a letter, then up to 75 letters, digits or -";
  const known = name.toLowerCase();
  const earlier = seen.get(known);
  seen.set(known, name);
  if (earlier !== undefined) return `is given twice: ${earlier} is the same field`;
  return findReservation(name);
}

function findValueFault(name: string, value: unknown): string | null {
  if (typeof value !== "string") return "must be a string";
  if (!value.isWellFormed()) return "must be valid Unicode: it holds half of a surrogate pair";
  if (value === "" || [...value].length > MAX_FIELD_VALUE) return `must have 1 to ${MAX_FIELD_VALUE} characters`;
  const fault = checkLine(value);
  if (fault !== null) return fault;
  if (!/\P{White_Space}/u.test(value)) return "must not be blank";
  if (!OF_MESSAGE_IDS.has(name.toLowerCase()) || MESSAGE_IDS.test(value)) return null;
  return "must hold message-ids in angle brackets, with a space between two: <id@example.com>";
}

function findEntryFault(name: string, value: unknown): string | null {
  if (!ENTRY_NAME.test(name)) return "must be named with 1 to 64 letters, digits, _, . or -";
  // A program that copies it member by member would lose it.
  if (name === "__proto__") return "must have another name";
  if (typeof value !== "string") return "must be a string";
  if (!value.isWellFormed()) return "must be valid Unicode: it holds half of a surrogate pair";
  return [...value].length > MAX_ENTRY_VALUE ? `must have at most ${MAX_ENTRY_VALUE} characters` : null;
}

/** Called once each member is right. */
function findSizeFaults(members: [string, unknown][], maxCount: number, maxBytes: number): FieldError[] {
  if (members.length > maxCount) return [{ path: [], message: `must hold at most ${maxCount} members` }];
  const bytes = members.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(String(value)), 0);
  if (bytes <= maxBytes) return [];
  return [
    { path: [], message: `must hold at most ${maxBytes / 1024} KiB; it has ${bytes.toLocaleString("en")} bytes` },
  ];
}
