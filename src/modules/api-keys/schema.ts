import { Type } from "@sinclair/typebox";
import { checkName, nullable, text, uuid } from "../../platform/http/request-schemas.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

export const KeyCreate = bodyObject("ApiKeyCreate", {
  name: text({ minLength: 1, maxLength: 100, description: "The purpose of the key.", examples: ["shop"] }, checkName),
  domainId: Type.Optional(
    nullable(
      uuid("Restricts the key to one domain: it sends that domain's emails and reads them. null: the whole workspace."),
    ),
  ),
});

const Members = {
  id: identifier("The id of the key; not the key itself."),
  name: Type.String({ description: "Its purpose.", examples: ["shop"] }),
  domainId: orNull(identifier(), "The domain that it is restricted to; null: it is valid for the whole workspace."),
};
const Times = {
  createdAt: dateTime("When it was created."),
  lastUsedAt: orNull(dateTime(), "When it was last used, to the minute; null: never."),
};

/** A key as it is made: the only time that `key` is shown. */
export const CreatedKey = namedObject("CreatedApiKey", {
  ...Members,
  ...Times,
  key: Type.String({
    pattern: "^svc_[A-Za-z0-9_-]{43}$",
    description: "Save it: it is not shown again.",
    examples: ["svc_Zm9vYmFyQkFaMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG0"],
  }),
});

/** A key as lists show it: `prefix` identifies it, the key itself is not kept. */
export const KeyInList = namedObject("ApiKey", {
  ...Members,
  prefix: Type.String({ description: "The first 8 characters after `svc_`.", examples: ["Zm9vYmFy"] }),
  ...Times,
});

/** Of a message. */
export const SentBy = orNull(
  namedObject("SentBy", {
    kind: oneOf(["api_key", "user"] as const, "A program with an API key, or a person."),
    id: orNull(identifier(), "Of the key or the person; null: it is gone."),
    name: orNull(
      Type.String(),
      "The key's name and first characters, or the person's address; null: it is gone.",
      "shop (svc_Zm9vYmFy…)",
    ),
  }),
  "Who sent it; null: pombo itself.",
);
