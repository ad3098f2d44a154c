// Requests and answers of sign-in and accounts.

import { Type } from "@sinclair/typebox";
import { comparableAddress, parseAddress } from "../../protocols/mime/address.ts";
import { LINK_KINDS, ROLES, SESSION_METHODS } from "../../platform/db/schema/people.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { checkLine, checkName, choice, nullable, objectWith, text, uuid } from "../../platform/http/request-schemas.ts";

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

const challengeId = uuid("Of the options that the passkey answers.");

const response = Type.Object(
  {
    id: Type.String({ description: "The id of the credential, base64url.", examples: ["bXkga2V5"] }),
    response: Type.Object({}, { description: "What the authenticator signed." }),
  },
  { description: "The PublicKeyCredential, as its toJSON() gives it." },
);

export const PasskeySignIn = bodyObject("PasskeySignIn", { challengeId, response });

const passkeyName = text(
  { minLength: 1, maxLength: 100, description: "What its owner knows it by.", examples: ["Telefone"] },
  checkName,
);

export const LinkUse = bodyObject("LinkUse", {
  token,
  email: Type.Optional(emailAddress),
  name: Type.Optional(personName),
  password: Type.Optional(password),
  passkey: Type.Optional(bodyObject("LinkPasskey", { challengeId, response, name: Type.Optional(passkeyName) })),
  code: Type.Optional(code),
});

export const PasskeyRequest = bodyObject("PasskeyRequest", {
  for: choice(["sign_in", "proof", "register", "link"], "What the passkey is asked for."),
  token: Type.Optional(token),
  email: Type.Optional(emailAddress),
});

export const PasskeyCreate = bodyObject("PasskeyCreate", { challengeId, response, name: passkeyName });

export const Proof = objectWith(
  bodyObject("Proof", {
    password: Type.Optional(password),
    code: Type.Optional(code),
    challengeId: Type.Optional(challengeId),
    response: Type.Optional(response),
  }),
  (value) => {
    if (value.challengeId === undefined && value.response === undefined)
      return value.password === undefined ? { path: ["password"], message: "is required, or a passkey" } : null;
    const missing = value.challengeId === undefined ? "challengeId" : value.response === undefined ? "response" : null;
    return missing === null ? null : { path: [missing], message: "is required with the rest of a passkey" };
  },
);

export const NewPassword = bodyObject("NewPassword", { password });

export const TotpCode = bodyObject("TotpCode", { code });

export const MagicLinkRequest = bodyObject("MagicLinkRequest", { email: emailAddress });

export const MagicLinkRequested = namedObject("MagicLinkRequested", {
  requested: Type.Boolean({ description: "Always true, whether there is such an account or not.", examples: [true] }),
});

export const AddressLinkRequested = namedObject("AddressLinkRequested", {
  requested: Type.Boolean({
    description: "False: the address is proved already, or there were enough links for now.",
    examples: [true],
  }),
});

export const PasskeyOptions = namedObject("PasskeyOptions", {
  challengeId: identifier("Goes back with the passkey's response."),
  options: Type.Unsafe<object>(
    Type.Object(
      {},
      {
        description: "For PublicKeyCredential.parseCreationOptionsFromJSON() or parseRequestOptionsFromJSON().",
      },
    ),
  ),
});

export const Passkey = namedObject("Passkey", {
  id: identifier(),
  name: Type.String({ description: "What its owner knows it by.", examples: ["Telefone"] }),
  createdAt: dateTime("When it was added."),
  lastUsedAt: orNull(dateTime(), "When it was last used; null: never."),
});

export const TotpSecret = namedObject("TotpSecret", {
  secret: Type.String({
    description: "For typing into the app, base 32.",
    examples: ["GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"],
  }),
  uri: Type.String({
    description: "For a QR code.",
    examples: ["otpauth://totp/mail.example.com:ana%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"],
  }),
});

export const RecoveryCodes = namedObject("RecoveryCodes", {
  recoveryCodes: Type.Array(Type.String({ examples: ["4f7k-9m2p-x0ta-8rwd"] }), {
    description: "Ten codes, each for one sign-in without the app. Save them: they are not shown again.",
  }),
});

export const Proved = namedObject("Proved", { provedAt: dateTime("When the person proved who they are.") });

export const Session = namedObject("Session", {
  id: identifier(),
  method: oneOf(SESSION_METHODS, "How the person signed in."),
  network: orNull(Type.String(), "The address from which the person signed in.", "192.0.2.7"),
  userAgent: orNull(Type.String(), "The browser, as it names itself."),
  createdAt: dateTime("When the person signed in."),
  lastSeenAt: dateTime("When it was last used, to ten minutes."),
  isCurrent: Type.Boolean({ description: "Whether it is the session of this request." }),
});

export const EndedSessions = namedObject("EndedSessions", {
  ended: Type.Integer({ minimum: 0, description: "How many ended.", examples: [2] }),
});

const Factors = Type.Object(
  {
    password: Type.Boolean({ description: "Whether there is a password." }),
    totp: Type.Boolean({ description: "Whether a password needs a code of an authenticator app." }),
    passkeys: Type.Integer({ minimum: 0, description: "Passkeys.", examples: [1] }),
    recoveryCodes: Type.Integer({ minimum: 0, description: "Recovery codes that are left.", examples: [10] }),
  },
  { description: "How the person can sign in." },
);

const role = oneOf(ROLES, "The role in the workspace.");

export const Me = namedObject("Me", {
  user: Type.Object(
    {
      id: identifier(),
      email: Type.String({ format: "email", examples: ["ana@example.com"] }),
      name: Type.String({ examples: ["Ana Macuácua"] }),
      isOperator: Type.Boolean({ description: "Whether the person operates this server." }),
      emailVerified: Type.Boolean({ description: "Whether a link that was mailed to the address was opened." }),
      language: orNull(oneOf(LANGUAGES), "The language of the dashboard; null: the browser's."),
    },
    { description: "The person." },
  ),
  session: Type.Object(
    {
      id: identifier(),
      method: oneOf(SESSION_METHODS, "How the person signed in."),
      createdAt: dateTime("When the person signed in."),
      provedAt: dateTime("When the person last proved who they are; dangerous acts ask for it again after 10 minutes."),
      needsSecondFactor: Type.Boolean({
        description:
          "Whether an operator must first add a passkey or an authenticator app, since the dashboard is reached from elsewhere.",
      }),
    },
    { description: "The session of this request." },
  ),
  factors: Factors,
  workspaces: Type.Array(Type.Object({ id: identifier(), name: Type.String(), role })),
  instance: Type.Object(
    {
      version: Type.String({ description: "Of pombo.", examples: ["0.1.0"] }),
      dashboardUrl: orNull(
        Type.String(),
        "Where the dashboard is reached from elsewhere; null: only on its own machine.",
      ),
      isSandbox: Type.Boolean({ description: "Whether this is `pombo dev`, which delivers nothing." }),
      canMail: Type.Boolean({ description: "Whether links are mailed; else they are shown to be copied." }),
      magicLinks: Type.Boolean({ description: "Whether one can sign in by a mailed link." }),
      submission: orNull(
        Type.Object({
          host: Type.String({ description: "The host of a program's settings.", examples: ["mail.example.net"] }),
          ports: Type.Array(
            Type.Object({
              port: Type.Integer({ description: "Its number.", examples: [587] }),
              tls: oneOf(
                ["starttls", "implicit", "none"],
                "How TLS begins; none: it is not needed, as in the sandbox.",
              ),
            }),
            { description: "At least one." },
          ),
        }),
        "Where programs hand in mail by SMTP; null: `[submission]` listens nowhere.",
      ),
    },
    { description: "This server." },
  ),
});

export const SignedOut = namedObject("SignedOut", {
  signedOut: Type.Boolean({ description: "Always true.", examples: [true] }),
});

/** Of a person, wherever somebody else is shown them. */
const { email: shownEmail, name: shownName, isOperator } = Me.properties.user.properties;

export const Review = Type.Object(
  {
    since: dateTime("When the database of an earlier time was found."),
    people: Type.Array(
      Type.Object({ email: shownEmail, name: shownName, isOperator, workspaces: Me.properties.workspaces }),
      { description: "Who has an account, the newest 1,000." },
    ),
    keys: Type.Array(
      Type.Object({
        name: Type.String({ description: "Of the key.", examples: ["Website"] }),
        prefix: Type.String({ description: "The first 8 characters after `svc_`.", examples: ["hZ3kQ9bT"] }),
        workspaceName: Type.String({ description: "Of the key's workspace.", examples: ["Loja da Maria"] }),
        createdAt: dateTime(),
        lastUsedAt: orNull(dateTime(), "Null: never, as far as this database knows."),
      }),
      { description: "The API keys of all workspaces, the newest 1,000." },
    ),
  },
  {
    description:
      "After a restore, to an operator, until their link was used: removals since the backup are undone, and are to be repeated.",
  },
);

export const Link = namedObject("Link", {
  kind: oneOf([...LINK_KINDS, "invitation"], "What it is for.", "invitation"),
  email: Type.Optional(orNull(Type.String(), "The address that it is meant for.")),
  workspaceName: Type.Optional(
    Type.String({ description: "Of the invitation's workspace.", examples: ["Loja da Maria"] }),
  ),
  role: Type.Optional(role),
  invitedBy: Type.Optional(orNull(Type.String(), "Who made the invitation.", "Ana Macuácua")),
  review: Type.Optional(Review),
});
