import { Type } from "@sinclair/typebox";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";

const Kind = oneOf(["email", "webhook", "sms"], "How it is told.");
const To = Type.String({
  description: "An address or a number; of a webhook only its host, since who knows its address may write there.",
  examples: ["me@example.org"],
});
const Level = oneOf(["warning", "problem"], "problem: messages do not reach their recipients.");

const Receiver = Type.Object({
  kind: Kind,
  to: To,
  least: Level,
  waiting: Type.Integer({ description: "What it is yet to be told." }),
  failure: orNull(Type.String(), "Why the last call was not taken; of a webhook."),
});

const LastingTrouble = Type.Object({
  id: Type.String({ description: "The same as long as it lasts.", examples: ["ready.dns"] }),
  level: Level,
  what: Type.String({ description: "What is wrong.", examples: ["DNS does not answer: no mail can be sent."] }),
  step: orNull(Type.String(), "What to do; null: what is wrong says it."),
  since: dateTime("Since when it is wrong."),
});

export const AlertStatus = namedObject("AlertStatus", {
  receivers: Type.Array(Receiver, { description: "Who is told: [[alerts]] in the configuration." }),
  troubles: Type.Array(LastingTrouble, { description: "What was told and lasts." }),
  heartbeat: Type.Object(
    {
      url: orNull(Type.String(), "The host that is asked every minute; null: none.", "watch.example.net"),
      isBeating: Type.Boolean({ description: "There is no problem, so that it is asked." }),
      failure: orNull(Type.String(), "Why the last time failed."),
    },
    { description: "[alerts_heartbeat] in the configuration." },
  ),
});

export const AlertTest = namedObject("AlertTest", {
  isDone: Type.Boolean({ description: "Nothing changes any more." }),
  results: Type.Array(
    Type.Object({
      kind: Kind,
      to: To,
      outcome: oneOf(["waiting", "sent", "failed"], "sent: the receiver's server, or the provider, has taken it."),
      detail: orNull(Type.String(), "Why it failed, or still waits."),
      id: orNull(Type.String(), "Of the email or SMS, for pombo trace."),
    }),
    { description: "What became of each message." },
  ),
});

export const AlertSecrets = namedObject("AlertSecrets", {
  webhooks: Type.Array(
    Type.Object({ to: To, secret: Type.String({ description: "Calls are signed with it.", examples: ["whsec_…"] }) }),
  ),
});
