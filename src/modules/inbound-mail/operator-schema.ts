import { Type } from "@sinclair/typebox";
import { INBOUND_MAILBOXES } from "../../platform/db/schema/schema.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, orNull, oneOf } from "../../platform/http/answer-schemas.ts";

const members = {
  id: identifier(),
  mailbox: oneOf(
    INBOUND_MAILBOXES,
    "The recipient. `fbl`: a complaint report that matches no email. `bounce`: a report that could not be parsed.",
  ),
  from: orNull(Type.String(), "As in its header.", "Ana <ana@example.net>"),
  subject: Type.Union([Type.String(), Type.Null()], { examples: ["Your server"] }),
  receivedAt: dateTime(),
};

/** A mail for the operator, in the list. */
export const InboxEntry = namedObject("InboxListItem", members);

/** The same with all that is known of it. */
export const InboxMail = namedObject("InboxMail", {
  ...members,
  envelopeFrom: Type.String({ description: "Empty: a report, which has no sender." }),
  helo: Type.String({ description: "The name that the sending server gave." }),
  clientAddress: Type.String({
    description: "The IP address of the server that brought it.",
    examples: ["192.0.2.25"],
  }),
  tls: Type.Boolean(),
  size: Type.Integer({ description: "Bytes." }),
  content: Type.String({ description: "The whole mail in base64." }),
});
