import { Type } from "@sinclair/typebox";
import { ROLES } from "../../platform/db/schema/people.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { choice } from "../../platform/http/request-schemas.ts";
import { emailAddress } from "../accounts/schema.ts";

const ROLE_WORDS =
  "viewer: sees messages without their contents. member: also reads and sends them. admin: also manages keys, domains, webhooks and members. owner: everything.";

const role = oneOf(ROLES, "The role in the workspace.", "member");
const wantedRole = choice(ROLES, ROLE_WORDS);
const email = (description: string) => Type.String({ format: "email", description, examples: ["rui@example.com"] });

export const Member = namedObject("Member", {
  id: identifier("The id of the person."),
  name: Type.String({ description: "The person's name.", examples: ["Rui Tembe"] }),
  email: email("The address of the person's account."),
  emailVerified: Type.Boolean({ description: "Whether a link that was mailed to the address was opened." }),
  role,
  createdAt: dateTime("When the person joined."),
  lastSeenAt: orNull(dateTime(), "When the person last used the dashboard, to 10 minutes; null: not signed in now."),
});

export const MemberChange = bodyObject("MemberChange", { role: wantedRole }, { examples: [{ role: "member" }] });

const InvitationMembers = {
  id: identifier(),
  email: email("The address that it is meant for. Whoever opens its link joins."),
  role,
  state: oneOf(["open", "accepted", "expired"], "Whether its link still works."),
  invitedBy: orNull(
    Type.String(),
    "The name of the member who made it; null: an API key, or the account is gone.",
    "Ana Macuácua",
  ),
  createdAt: dateTime("When it was created."),
  expiresAt: dateTime("When its link ends."),
  acceptedAt: orNull(dateTime(), "When somebody joined by it; null: nobody has."),
  acceptedBy: orNull(
    namedObject("InvitationAccepter", {
      id: identifier("The id of the person."),
      name: Type.String({ description: "The person's name.", examples: ["Rui Tembe"] }),
      email: email("The address of the person's account, which may be another one."),
    }),
    "Who joined by it; null: nobody has, or the account is gone.",
  ),
};

export const Invitation = namedObject("Invitation", InvitationMembers);

/** As it is made or made anew: the only time that the link is shown. */
export const InvitationWithLink = namedObject("InvitationWithLink", {
  ...InvitationMembers,
  url: Type.String({
    format: "uri",
    description: "The link. It is not shown again.",
    examples: ["https://mail.example.com/dashboard/invite#Zm9vYmFyQkFaMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG0"],
  }),
  mailed: Type.Boolean({
    description: "Whether it was also mailed to the address; else give it to the person yourself.",
  }),
});

export const InvitationCreate = bodyObject(
  "InvitationCreate",
  { email: emailAddress, role: wantedRole },
  { examples: [{ email: "rui@example.com", role: "member" }] },
);
