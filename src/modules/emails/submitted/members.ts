// The members of an email that a message brings in its header, since SMTP has no place for them.

import { Type } from "@sinclair/typebox";
import { AppError } from "../../../platform/errors.ts";
import { createChecker, findFieldErrors } from "../../../platform/http/request-schemas.ts";
import type { SubmittedMessage } from "../../../protocols/mime/submitted/read-message.ts";
import { metadata, tag } from "../api/extra-schema.ts";
import { sendAt } from "../api/send-at.ts";
import { listName } from "../../suppressions/schema.ts";

type Field = SubmittedMessage["taken"][number];
type MemberName = "tag" | "metadata" | "sendAt" | "list" | "idempotencyKey";

/** Fields of other services are read too, so that a program need not be changed. In lower case. */
const FIELDS = new Map<string, Exclude<MemberName, "metadata">>([
  ["x-pombo-tag", "tag"],
  ["x-pm-tag", "tag"],
  ["x-pombo-send-at", "sendAt"],
  ["x-pombo-unsubscribe-list", "list"],
  ["x-pombo-idempotency-key", "idempotencyKey"],
  ["resend-idempotency-key", "idempotencyKey"],
]);
const METADATA = /^x-(?:pombo|pm)-metadata-(.+)$/i;
const MAX_KEY_CHARACTERS = 255;

const Members = Type.Object(
  {
    tag: Type.Optional(tag),
    metadata: Type.Optional(metadata),
    sendAt: Type.Optional(sendAt("Not before this time")),
    list: Type.Optional(listName("A list whose page is hosted here.")),
  },
  { additionalProperties: false },
);
const checker = createChecker(Members);

export type SubmittedMembers = typeof Members.static & { idempotencyKey: string | null };

/** `name` in lower case. */
export function isMemberField(name: string): boolean {
  return FIELDS.has(name) || METADATA.test(name);
}

/** Throws VALIDATION_ERROR, in whose message the field is named. */
export function readMembers(taken: SubmittedMessage["taken"]): SubmittedMembers {
  const found = new Map<MemberName, Field>();
  const entries = new Map<string, Field>();
  for (const field of taken) {
    // As a form sends it whose field was left empty.
    if (field.value === "") continue;
    const entry = METADATA.exec(field.name)?.[1];
    if (entry !== undefined) entries.set(entry, field);
    const member = entry === undefined ? FIELDS.get(field.name.toLowerCase()) : "metadata";
    if (member !== undefined && !found.has(member)) found.set(member, field);
  }
  const { idempotencyKey = "", ...given } = readValues(found);
  const members = entries.size === 0 ? given : { ...given, metadata: readValues(entries) };
  if (!checker.Check(members)) throw explainFaults(members, found, entries);
  const key = [...idempotencyKey.trim()].slice(0, MAX_KEY_CHARACTERS).join("");
  return { ...(members as typeof Members.static), idempotencyKey: key === "" ? null : key };
}

function readValues<Name extends string>(fields: Map<Name, Field>): Partial<Record<Name, string>> {
  return Object.fromEntries(Array.from(fields, ([name, { value }]) => [name, value])) as Partial<Record<Name, string>>;
}

function explainFaults(members: unknown, found: Map<string, Field>, entries: Map<string, Field>): AppError {
  const items = findFieldErrors(checker, members).map(({ path: [member, entry], message }) => {
    const fault = entry === undefined ? found.get(String(member)) : entries.get(String(entry));
    const field = fault?.name ?? String(member);
    return { message: `${field} ${message}`, field };
  });
  return new AppError("VALIDATION_ERROR", "The message has fields that are not valid", { items });
}
