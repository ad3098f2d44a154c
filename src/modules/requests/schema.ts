import { Type } from "@sinclair/typebox";
import { dateTime, identifier, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { choice, text, uuid } from "../../platform/http/request-schemas.ts";
import { time } from "../../platform/http/times.ts";

export const STATUS_CLASSES = ["2xx", "4xx", "5xx", "failed"] as const;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_PATH = 200;

export const RequestQuery = Type.Object({
  ...CursorQuery.properties,
  status: Type.Optional(choice(STATUS_CLASSES, "How they were answered; `failed`: 4xx and 5xx.")),
  keyId: Type.Optional(uuid("Only those with this API key.")),
  method: Type.Optional(choice(METHODS, "Only those with this method.")),
  path: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_PATH,
        pattern: "^/",
        description: "The beginning of the path.",
        examples: ["/api/v1/emails"],
      },
      (value) => (value.startsWith("/") ? null : "must begin with /"),
    ),
  ),
  id: Type.Optional(uuid("The `X-Request-Id` of an answer.")),
  since: Type.Optional(time("Not before this time.")),
  until: Type.Optional(time("Before this time.")),
});

export const LoggedRequest = namedObject("LoggedRequest", {
  id: identifier("The `X-Request-Id` of its answer."),
  at: dateTime("When it came."),
  key: orNull(
    namedObject("LoggedRequestKey", {
      id: identifier("The id of the key; not the key itself."),
      name: Type.String({ description: "Its purpose.", examples: ["shop"] }),
      prefix: Type.String({ description: "The first 8 characters after `svc_`.", examples: ["Zm9vYmFy"] }),
    }),
    "The API key that it came with; null: that was deleted.",
  ),
  method: Type.String({ examples: ["POST"], description: "A HEAD is shown as GET." }),
  path: Type.String({
    description: "With `*` for an address in it; of the query only the names.",
    examples: ["/api/v1/emails"],
  }),
  status: Type.Integer({ description: "Of the answer.", examples: [422] }),
  ms: Type.Integer({ minimum: 0, description: "How long pombo took, in milliseconds.", examples: [4] }),
  error: orNull(
    namedObject("LoggedRequestError", {
      code: Type.String({ description: "For programs.", examples: ["VALIDATION_ERROR"] }),
      message: Type.String({
        description: "For people, without addresses and numbers.",
        examples: ["to must be an email address"],
      }),
      field: orNull(Type.String(), "The member or parameter with the error.", "to"),
      hint: orNull(Type.String(), "What to do."),
    }),
    "The first error of the answer; null: it succeeded.",
  ),
});
