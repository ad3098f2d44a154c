import { Type } from "@sinclair/typebox";
import { checkName, nullable, text, uuid } from "../../platform/http/request-schemas.ts";
import { named } from "../../platform/http/openapi.ts";

export const KeyCreate = named(
  "ApiKeyCreate",
  Type.Object(
    {
      name: text({ minLength: 1, maxLength: 100, description: "What the key is for.", examples: ["shop"] }, checkName),
      domainId: Type.Optional(
        nullable(
          uuid(
            "Restricts the key to one domain: it sends that domain's emails and reads them. null: the whole workspace.",
          ),
        ),
      ),
    },
    { additionalProperties: false },
  ),
);

const Members = {
  id: Type.String({ format: "uuid", description: "The key's id; the key itself is another text." }),
  name: Type.String({ description: "What it is for.", examples: ["shop"] }),
  domainId: Type.Union([Type.String({ format: "uuid" }), Type.Null()], {
    description: "The domain that it is restricted to; null: it is for the whole workspace.",
  }),
};
const Times = {
  createdAt: Type.String({ format: "date-time", description: "When it was made." }),
  lastUsedAt: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
    description: "When it was last used, to the minute; null: never.",
  }),
};

/** A key as it is made: the only time that `key` is shown. */
export const CreatedKey = named(
  "CreatedApiKey",
  Type.Object({
    ...Members,
    ...Times,
    key: Type.String({
      pattern: "^svc_[A-Za-z0-9_-]{43}$",
      description: "Keep it: it is not shown again.",
      examples: ["svc_Zm9vYmFyQkFaMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG0"],
    }),
  }),
);

/** A key as lists show it: `prefix` is what tells it from others, the key itself is not kept. */
export const KeyInList = named(
  "ApiKey",
  Type.Object({
    ...Members,
    prefix: Type.String({ description: "The first 8 characters after `svc_`.", examples: ["Zm9vYmFy"] }),
    ...Times,
  }),
);
