import { Type } from "@sinclair/typebox";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";

const Time = dateTime();
const MaybeText = orNull(Type.String());

const Certificate = Type.Object({
  names: Type.Array(Type.String(), { description: "Names that it is for.", examples: [["mail.example.net"]] }),
  issuer: Type.String({ description: "Who issued it.", examples: ["Let's Encrypt E7"] }),
  validFrom: dateTime("From when it is valid."),
  validUntil: dateTime("Until when it is valid."),
  isSelfMade: Type.Boolean({ description: "Shown until there is another; clients refuse it." }),
  isPublic: Type.Boolean({ description: "Browsers trust its authority." }),
});

const FailedRenewal = Type.Object({
  at: Time,
  type: Type.String({ description: "The authority's problem type.", examples: ["dns"] }),
  detail: Type.String({ description: "In the authority's words." }),
  name: MaybeText,
  advice: Type.String({ description: "What to do." }),
  findings: Type.Array(Type.String(), { description: "What pombo saw when it looked itself." }),
  attempts: Type.Integer({ description: "Failures in a row." }),
});

export const TlsStatus = namedObject("TlsStatus", {
  source: oneOf(["authority", "files", "none"], "Where the certificate comes from; none: it is self-made."),
  directory: orNull(Type.String(), "The authority's address.", "https://acme-v02.api.letsencrypt.org/directory"),
  names: Type.Array(Type.String(), { description: "Names that it is to have.", examples: [["mail.example.net"]] }),
  certificate: orNull(Certificate, "The one that is served.", {
    names: ["mail.example.net"],
    issuer: "Let's Encrypt E7",
    validFrom: "2026-11-21T12:00:00.000Z",
    validUntil: "2027-02-19T12:00:00.000Z",
    isSelfMade: false,
    isPublic: true,
  }),
  isRenewing: Type.Boolean({ description: "One is being ordered now." }),
  renewsAt: orNull(Time, "When the next one is ordered; null: no authority is asked.", "2027-01-20T12:00:00.000Z"),
  failure: orNull(FailedRenewal, "Why the last attempt failed; null: it did not."),
});
