import { Type } from "@sinclair/typebox";
import { INBOUND_MAILBOXES } from "../../platform/db/schema/schema.ts";
import { named } from "../../platform/http/openapi.ts";

const members = {
  id: Type.String({ format: "uuid" }),
  mailbox: Type.Union(
    INBOUND_MAILBOXES.map((mailbox) => Type.Literal(mailbox)),
    {
      description:
        "The recipient. `fbl`: a complaint report that matches no email. `bounce`: a report that could not be parsed.",
    },
  ),
  from: Type.Union([Type.String(), Type.Null()], {
    description: "As in its header.",
    examples: ["Ana <ana@example.net>"],
  }),
  subject: Type.Union([Type.String(), Type.Null()], { examples: ["Your server"] }),
  receivedAt: Type.String({ format: "date-time" }),
};

/** A mail for the operator, in the list. */
export const InboxEntry = named("InboxListItem", Type.Object(members));

/** The same with all that is known of it. */
export const InboxMail = named(
  "InboxMail",
  Type.Object({
    ...members,
    envelopeFrom: Type.String({ description: "Empty: a report, which has no sender." }),
    helo: Type.String({ description: "The name that the sending server gave." }),
    clientAddress: Type.String(),
    tls: Type.Boolean(),
    size: Type.Integer({ description: "Bytes." }),
    content: Type.String({ description: "The whole mail in base64." }),
  }),
);
