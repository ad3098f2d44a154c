import { Type } from "@sinclair/typebox";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { named, namedObject } from "../../platform/http/openapi.ts";
import { text } from "../../platform/http/request-schemas.ts";
import { SPEAKERS } from "../../protocols/smtp/session/transcript.ts";
import { findIds, FINDING_IDS } from "./catalog.ts";
import { LEVELS } from "./finding.ts";

const ShownFinding = namedObject("Finding", {
  id: oneOf(FINDING_IDS, "What was looked at.", "ptr"),
  level: oneOf(LEVELS, "unknown: it could not be looked at, which is not as good as ok."),
  subject: orNull(Type.String(), "The domain, address or server that it is about; null: the instance.", "203.0.113.7"),
  seen: Type.String({
    description: "What was seen, in one sentence.",
    examples: ["203.0.113.7 has no PTR record: Gmail, Yahoo and Outlook refuse or defer mail from such an address."],
  }),
  step: orNull(Type.String(), "What to do next, to be pasted; null: nothing.", "Only your hoster can set it: …"),
});

export const DoctorReport = namedObject("DoctorReport", {
  at: orNull(dateTime(), "When the last run began; null: none yet.", "2026-11-28T12:00:00.000Z"),
  tookMs: orNull(Type.Integer(), "How long it took.", 1_240),
  findings: Type.Array(ShownFinding, { description: "The worst first." }),
});

export const DoctorQuery = Type.Object({
  domain: Type.Optional(
    text({ maxLength: 253, description: "Of the sending domains only this one; default: all that are verified." }),
  ),
  only: Type.Optional(
    text({ maxLength: 1_000, description: "Ids of findings or names of groups, with commas between." }, (value) => {
      const stranger = value.split(",").find((word) => findIds(word) === null);
      return stranger === undefined ? null : `must not name ${JSON.stringify(stranger)}, which is no id and no group`;
    }),
  ),
  rdap: Type.Optional(
    oneOf(["true", "false"], "With true, the registries are asked how old the domains are, by RDAP over HTTPS."),
  ),
});

export const TestMailRequest = named(
  "SendTestMail",
  Type.Object(
    {
      to: text({
        minLength: 3,
        maxLength: 254,
        description: "An address elsewhere, whose mail you can read.",
        examples: ["me@example.org"],
      }),
      domain: Type.Optional(
        text({
          maxLength: 253,
          description: "The sending domain; default: the only one there is, else the host name of the instance.",
          examples: ["example.com"],
        }),
      ),
    },
    { additionalProperties: false, examples: [{ to: "me@example.org", domain: "example.com" }] },
  ),
);

export const TestMail = namedObject("TestMail", {
  id: Type.String({ description: "Of the email, for traces.", examples: ["01980c62-9b7e-7c3a-8f21-6f0f4ad1b0c5"] }),
  from: Type.String({ description: "The address that it comes from.", examples: ["pombo@example.com"] }),
  to: Type.String({ description: "The address that it goes to.", examples: ["me@example.org"] }),
  status: oneOf(
    ["waiting", "delivered", "failed"],
    "delivered: the receiver's server, or the relay, has taken it.",
    "waiting",
  ),
  reason: orNull(Type.String(), "Why it failed.", "The server refused it."),
  lines: Type.Array(
    Type.Object({
      attempt: Type.Integer({ description: "Which attempt it is of.", examples: [1] }),
      ms: orNull(Type.Integer(), "Since the attempt began.", 120),
      by: oneOf(SPEAKERS, "Who said it.", "server"),
      text: Type.String({ description: "What was said.", examples: ["220 mx.example.org ESMTP"] }),
    }),
    { description: "What was said until now." },
  ),
  replyTo: orNull(
    Type.String(),
    "Where a reply is to go; null: the instance takes no mail.",
    "postmaster@mail.example.net",
  ),
  reply: orNull(
    Type.Object({
      results: Type.Array(
        Type.Object({
          method: oneOf(["spf", "dkim", "dmarc"], "What was checked.", "spf"),
          result: Type.String({ description: "What the receiver found.", examples: ["pass"] }),
          words: Type.String({ description: "What it means, and what to do.", examples: ["SPF passed."] }),
        }),
        { description: "What its quoted Authentication-Results say; empty: it quotes none." },
      ),
    }),
    "A reply from the address; null: none has come.",
    { results: [{ method: "spf", result: "pass", words: "SPF passed." }] },
  ),
});
