import { Type } from "@sinclair/typebox";
import { dateTime, orNull } from "../../../platform/http/answer-schemas.ts";
import { bodyObject, namedObject } from "../../../platform/http/openapi.ts";
import { text } from "../../../platform/http/request-schemas.ts";
import { MAX_HTML } from "../api/schema.ts";

/** The body of POST /workspace/preview. */
export const HtmlPreview = bodyObject(
  "HtmlPreview",
  { html: text({ minLength: 1, maxLength: MAX_HTML, description: "The HTML part of an email that is not sent yet." }) },
  { examples: [{ html: "<h1>Obrigado!</h1><p>O seu recibo vem a caminho.</p>" }] },
);

export const PreviewTicket = namedObject("PreviewTicket", {
  path: Type.String({
    description: "Shows the html once, in a frame without scripts and without the network.",
    examples: ["/dashboard/preview/3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
  }),
  expiresAt: dateTime("It shows nothing from then on."),
  links: Type.Array(
    namedObject("PreviewLink", {
      text: Type.String({ description: "What its reader sees; empty for an image.", examples: ["O seu recibo"] }),
      url: Type.String({ description: "Where it leads.", examples: ["https://loja.example.com/recibo/4711"] }),
      host: orNull(Type.String(), "The host of that; null: none, as for mailto:.", "loja.example.com"),
    }),
    { description: "The http, https, mailto and tel links of the html in order, up to 100." },
  ),
  moreLinks: Type.Integer({ minimum: 0, description: "Links beyond these.", examples: [0] }),
  remote: Type.Array(
    namedObject("PreviewRemote", {
      host: Type.String({ description: "Where they are.", examples: ["track.example.com"] }),
      count: Type.Integer({ minimum: 1, description: "How many of them.", examples: [3] }),
    }),
    {
      description: "Images, styles and fonts that the html would load from elsewhere, by host. The preview loads none.",
    },
  ),
});
