import { Type } from "@sinclair/typebox";
import { lineFault, nullable, text, uuid } from "../http/rules.ts";

export const KeyCreate = Type.Object(
  {
    name: text({ minLength: 1, maxLength: 100, description: "What the key is for.", examples: ["shop"] }, lineFault),
    domainId: Type.Optional(
      nullable(
        uuid(
          "Restricts the key to one domain: it sends that domain's emails and reads them. null: the whole workspace.",
        ),
      ),
    ),
  },
  { additionalProperties: false },
);

const nullableTime = Type.Union([Type.String({ format: "date-time" }), Type.Null()]);

/** A key as it is made: the only time that `key` is shown. */
export const CreatedKey = Type.Object({
  id: Type.String({ format: "uuid" }),
  name: Type.String(),
  domainId: Type.Union([Type.String({ format: "uuid" }), Type.Null()]),
  createdAt: Type.String({ format: "date-time" }),
  lastUsedAt: nullableTime,
  key: Type.String({ pattern: "^svc_[A-Za-z0-9_-]{43}$", description: "Keep it: it is not shown again." }),
});

/** A key as lists show it: `prefix` is what tells it from others, the key itself is not kept. */
export const KeyInList = Type.Object({
  id: Type.String({ format: "uuid" }),
  name: Type.String(),
  domainId: Type.Union([Type.String({ format: "uuid" }), Type.Null()]),
  prefix: Type.String({ description: "The first 8 characters after `svc_`.", examples: ["Zm9vYmFy"] }),
  createdAt: Type.String({ format: "date-time" }),
  lastUsedAt: nullableTime,
});

export const DeletedKey = Type.Object({ id: Type.String({ format: "uuid" }), deleted: Type.Boolean() });
