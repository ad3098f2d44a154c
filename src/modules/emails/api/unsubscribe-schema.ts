// The member `unsubscribe` of an email: a list that is hosted here, or addresses of the sender's own.

import { Type } from "@sinclair/typebox";
import { named, namedObject } from "../../../platform/http/openapi.ts";
import { type FieldError, objectWith, text } from "../../../platform/http/request-schemas.ts";
import { parseAddress } from "../../../protocols/mime/address.ts";
import { UNSUBSCRIBE_URL } from "../content/unsubscribe.ts";
import { listName } from "../../suppressions/schema.ts";

const MAX_URL = 500;
const MAX_ADDRESS = 255;
/** It stands between < and > in a header field (RFC 2369 §2). */
const URL_TEXT = /^https:\/\/[!-;=?-~]+$/i;

function urlFault(value: string): string | null {
  if (!URL_TEXT.test(value)) return "must be an https URL in ASCII, without spaces, < and >";
  const url = URL.parse(value);
  if (url === null) return "must be a valid https URL";
  return url.username === "" && url.password === "" ? null : "must not hold a user name or password";
}

function mailtoFault(value: string): string | null {
  const parsed = parseAddress(value);
  if (parsed.kind === "fault")
    return `is not a usable address: ${parsed.message.charAt(0).toLowerCase()}${parsed.message.slice(1)}`;
  return /[^\0-\x7f]/.test(parsed.mailbox.address) ? "must be ASCII before the @" : null;
}

const Members = Type.Object(
  {
    list: Type.Optional(listName("A list whose page is hosted here: it holds for this list of the workspace only.")),
    url: Type.Optional(
      text(
        {
          minLength: 1,
          maxLength: MAX_URL,
          format: "uri",
          description: "A page of your own, which takes the one-click POST of RFC 8058.",
          examples: ["https://example.com/unsubscribe?id=8f1c"],
        },
        urlFault,
      ),
    ),
    mailto: Type.Optional(
      text(
        {
          minLength: 1,
          maxLength: MAX_ADDRESS,
          format: "email",
          description: "Beside `url`: an address of your own that takes the same by mail.",
          examples: ["unsubscribe@example.com"],
        },
        mailtoFault,
      ),
    ),
  },
  { additionalProperties: false },
);

export const UnsubscribeMember = named(
  "UnsubscribeSend",
  objectWith(
    Members,
    ({ list, url, mailto }): FieldError | null => {
      if (list !== undefined && url !== undefined)
        return { path: ["url"], message: "cannot be combined with list", hint: "Its page is here or yours." };
      if (list === undefined && url === undefined) return { path: ["list"], message: "or url is required" };
      if (mailto !== undefined && url === undefined)
        return { path: ["mailto"], message: "is only for url", hint: "A list has an address here." };
      return null;
    },
    {
      description:
        "How its recipient unsubscribes: `list` or `url`. The email gets List-Unsubscribe and List-Unsubscribe-Post, and " +
        "`{{unsubscribe_url}}` in html and text becomes the address. Later emails of a list to who unsubscribed are refused with RECIPIENT_SUPPRESSED.",
      examples: [{ list: "newsletter" }, { url: "https://example.com/unsubscribe?id=8f1c" }],
    },
  ),
);

/** Header fields of the sender's own that would stand there twice. Called with what came. */
export function findFieldFaults(value: { headers?: unknown; unsubscribe?: unknown }): FieldError[] {
  const { headers, unsubscribe } = value;
  if (unsubscribe === undefined || typeof headers !== "object" || headers === null) return [];
  const names = Object.keys(headers).filter((name) => /^list-unsubscribe/i.test(name));
  return names.map((name) => ({ path: ["headers", name], message: "is written by the service from unsubscribe" }));
}

/** Each is replaced by up to MAX_URL characters. */
const MAX_PLACEHOLDERS = 100;

/** Called with what came: other types are faults of their own. */
export function findPlaceholderFaults(value: { html?: unknown; text?: unknown; unsubscribe?: unknown }): FieldError[] {
  if (value.unsubscribe === undefined) return [];
  return (["html", "text"] as const).flatMap((name) => {
    const part = value[name];
    const count = typeof part === "string" ? part.split(UNSUBSCRIBE_URL).length - 1 : 0;
    if (count <= MAX_PLACEHOLDERS) return [];
    return [{ path: [name], message: `must hold ${UNSUBSCRIBE_URL} at most ${MAX_PLACEHOLDERS} times` }];
  });
}

/** As it was given. */
export const UnsubscribeShown = namedObject("Unsubscribe", {
  list: Type.Optional(Type.String({ description: "The list whose page is hosted here.", examples: ["newsletter"] })),
  url: Type.Optional(
    Type.String({ description: "The sender's own page.", examples: ["https://example.com/unsubscribe"] }),
  ),
  mailto: Type.Optional(
    Type.String({ description: "The sender's own address.", examples: ["unsubscribe@example.com"] }),
  ),
});
