// Requests and answers of sign-in and accounts.

import { Type } from "@sinclair/typebox";
import { comparableAddress, parseAddress } from "../../protocols/mime/address.ts";
import { LINK_KINDS, ROLES, SESSION_METHODS } from "../../platform/db/schema/people.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { checkLine, checkName, choice, nullable, text } from "../../platform/http/request-schemas.ts";

export const LANGUAGES = ["en", "pt-PT", "pt-BR"] as const;

const MAX_ADDRESS = 254;
/** Far more than anybody types; argon2id takes any. */
const MAX_PASSWORD = 1_000;

/** The address of a user, in the form that is stored and compared. */
export function toUserAddress(address: string): string {
  const parsed = parseAddress(address.trim());
  if (parsed.kind === "fault") throw new Error(`an address passed its schema and not its reader: ${parsed.message}`);
  return comparableAddress(parsed.mailbox);
}

export const emailAddress = text(
  {
    minLength: 3,
    maxLength: MAX_ADDRESS,
    format: "email",
    description: "An email address.",
    examples: ["ana@example.com"],
  },
  (value) => {
    const parsed = parseAddress(value.trim());
    return parsed.kind === "mailbox" ? null : "is not a usable address: write it like name@example.com";
  },
);

/** Of an account; the rules for a new one are in password-rules.ts. */
const password = text({
  minLength: 1,
  maxLength: MAX_PASSWORD,
  format: "password",
  description: "The password.",
  examples: ["quatro pombos no telhado"],
});

const code = text(
  {
    minLength: 1,
    maxLength: 40,
    description: "A code of the authenticator app, or a recovery code.",
    examples: ["287082"],
  },
  checkLine,
);

const personName = text(
  { minLength: 1, maxLength: 100, description: "The person's name.", examples: ["Ana Macuácua"] },
  checkName,
);

const token = text({ minLength: 1, maxLength: 100, description: "What stands behind the # of the link." }, checkLine);

export const SignIn = bodyObject("SignIn", { email: emailAddress, password, code: Type.Optional(code) });

export const MeChange = bodyObject(
  "MeChange",
  {
    name: Type.Optional(personName),
    language: Type.Optional(nullable(choice(LANGUAGES, "The language of the dashboard; null: the browser's."))),
  },
  { minProperties: 1 },
);

export const LinkToken = bodyObject("LinkToken", { token });

export const LinkUse = bodyObject("LinkUse", {
  token,
  email: Type.Optional(emailAddress),
  name: Type.Optional(personName),
  password: Type.Optional(password),
});

const Factors = Type.Object({
  password: Type.Boolean({ description: "Whether there is a password." }),
  totp: Type.Boolean({ description: "Whether a password needs a code of an authenticator app." }),
  passkeys: Type.Integer({ minimum: 0, description: "Passkeys.", examples: [1] }),
  recoveryCodes: Type.Integer({ minimum: 0, description: "Recovery codes that are left.", examples: [10] }),
});

const role = oneOf(ROLES, "The role in the workspace.");

export const Me = namedObject("Me", {
  user: Type.Object({
    id: identifier(),
    email: Type.String({ format: "email", examples: ["ana@example.com"] }),
    name: Type.String({ examples: ["Ana Macuácua"] }),
    isOperator: Type.Boolean({ description: "Whether the person operates this server." }),
    emailVerified: Type.Boolean({ description: "Whether a link that was mailed to the address was opened." }),
    language: orNull(oneOf(LANGUAGES), "The language of the dashboard; null: the browser's."),
  }),
  session: Type.Object({
    id: identifier(),
    method: oneOf(SESSION_METHODS, "How the person signed in."),
    createdAt: dateTime("When the person signed in."),
    provedAt: dateTime("When the person last proved who they are; dangerous acts ask for it again after 10 minutes."),
  }),
  factors: Factors,
  workspaces: Type.Array(Type.Object({ id: identifier(), name: Type.String(), role })),
  instance: Type.Object({
    version: Type.String({ description: "Of pombo.", examples: ["0.1.0"] }),
    dashboardUrl: orNull(
      Type.String(),
      "Where the dashboard is reached from elsewhere; null: only on its own machine.",
    ),
    isSandbox: Type.Boolean({ description: "Whether this is `pombo dev`, which delivers nothing." }),
    canMail: Type.Boolean({ description: "Whether links are mailed; else they are shown to be copied." }),
    magicLinks: Type.Boolean({ description: "Whether one can sign in by a mailed link." }),
  }),
});

export const SignedOut = namedObject("SignedOut", {
  signedOut: Type.Boolean({ description: "Always true.", examples: [true] }),
});

export const Link = namedObject("Link", {
  kind: oneOf([...LINK_KINDS, "invitation"], "What it is for.", "invitation"),
  email: Type.Optional(orNull(Type.String(), "The address that it is meant for.")),
  workspaceName: Type.Optional(
    Type.String({ description: "Of the invitation's workspace.", examples: ["Loja da Maria"] }),
  ),
  role: Type.Optional(role),
  invitedBy: Type.Optional(orNull(Type.String(), "Who made the invitation.", "Ana Macuácua")),
});
