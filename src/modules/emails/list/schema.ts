// What the list of emails is narrowed to, and how it is paged.

import { Type } from "@sinclair/typebox";
import { CursorMeta, CursorQuery, PageMeta, PageQuery } from "../../../platform/http/pagination.ts";
import { choice, text, uuid } from "../../../platform/http/request-schemas.ts";
import { namedObject } from "../../../platform/http/openapi.ts";
import { time } from "../../../platform/http/times.ts";
import { parseAddress } from "../../../protocols/mime/address.ts";
import { CATEGORIES } from "../../../protocols/smtp/replies/rules.ts";
import { describeTag } from "../api/extra-schema.ts";
import { addressFault, MAX_ADDRESS } from "../api/mailbox-schema.ts";
import { EMAIL_STATUSES, MAX_SUBJECT } from "../api/schema.ts";

/** A cursor that nothing is newer than. */
export const START = "start";

/** An address that emails are looked for by. */
function sought(description: string) {
  return text({ minLength: 1, maxLength: MAX_ADDRESS, format: "email", description }, (value) => {
    const fault = addressFault(parseAddress(value));
    // A plus that was not encoded arrives as a space.
    return fault !== null && value.includes(" ") ? `${fault} In a query a plus is written %2B.` : fault;
  });
}

export const EmailFilterQuery = Type.Object({
  status: Type.Optional(choice(EMAIL_STATUSES, "Only emails of this status.")),
  to: Type.Optional(sought("Only emails to this recipient: a bare address, in whatever case.")),
  from: Type.Optional(sought("Only emails from this sender: a bare address, in whatever case.")),
  tag: Type.Optional(describeTag("Only emails with this tag.")),
  groupId: Type.Optional(uuid("Only emails of this group: those of one send to several recipients.")),
  since: Type.Optional(time("Only emails that were accepted then or later.")),
  until: Type.Optional(time("Only emails that were accepted before then.")),
  domain: Type.Optional(
    text({
      minLength: 1,
      maxLength: 255,
      description: "Only emails from this domain of the workspace, as the list of domains names it.",
      examples: ["example.com"],
    }),
  ),
  category: Type.Optional(choice(CATEGORIES, "Only emails that were refused for this: `bounce.category`.")),
  subject: Type.Optional(
    text({
      minLength: 1,
      maxLength: MAX_SUBJECT,
      description: "Only emails with this in their subject, in whatever case.",
      examples: ["recibo"],
    }),
  ),
});

export type EmailFilterQuery = typeof EmailFilterQuery.static;

export const EmailQuery = Type.Object({
  ...PageQuery.properties,
  ...EmailFilterQuery.properties,
  cursor: Type.Optional({
    ...CursorQuery.properties.cursor,
    description: `\`${START}\` for the first page, then \`meta.next_cursor\` of the page before. Such a page counts for itself: \`page\` and \`lastPage\` are 1, \`total\` is what it holds.`,
  }),
  include: Type.Optional(choice(["status"], "`status` adds each email's status.")),
});

export type EmailQuery = typeof EmailQuery.static;

/** A page by a cursor counts for itself: `page` and `lastPage` are 1, `total` is what it holds. */
export const EmailPageMeta = namedObject("EmailPageMeta", {
  ...PageMeta.properties,
  totalIsMinimum: Type.Optional(
    Type.Boolean({
      description: "True: there may be more emails than were searched, and `total` counts only these.",
    }),
  ),
  ...Type.Partial(CursorMeta).properties,
});

export type EmailPageMeta = typeof EmailPageMeta.static;
