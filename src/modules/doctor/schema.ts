import { Type } from "@sinclair/typebox";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { text } from "../../platform/http/request-schemas.ts";
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
